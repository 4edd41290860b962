//go:build !linux

package kv

import "os"

func syncData(f *os.File) error { return f.Sync() }
