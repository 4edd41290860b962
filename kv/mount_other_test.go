//go:build !linux

package kv

import "errors"

func mountSmall(string, int) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
