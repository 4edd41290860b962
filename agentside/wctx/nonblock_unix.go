//go:build unix

package wctx

import "syscall"

const nonblock = syscall.O_NONBLOCK
