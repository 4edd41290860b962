//go:build !unix

package wctx

const nonblock = 0
