package kv

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// fileSystem gives the bytes of the file system that holds dir, and how many of them an ordinary process may still write.
func fileSystem(dir string) (total, free int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var forUs, all, unused uint64
	if err := windows.GetDiskFreeSpaceEx(name, &forUs, &all, &unused); err != nil {
		return 0, 0, fmt.Errorf("kv: look at the file system of %s: %w", dir, err)
	}
	return int64(all), int64(forUs), nil
}
