package kv

import (
	"fmt"
	"syscall"
)

func mountSmall(dir string, bytes int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes))
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
