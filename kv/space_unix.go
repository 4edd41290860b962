//go:build linux || darwin || freebsd

package kv

import (
	"fmt"
	"syscall"
)

// fileSystem gives the bytes of the file system that holds dir, and how many of them an ordinary process may still write.
func fileSystem(dir string) (total, free int64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("kv: look at the file system of %s: %w", dir, err)
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
}
