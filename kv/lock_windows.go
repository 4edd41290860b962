package kv

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHeader leaves the locked byte out of the text: Windows lets nobody else read locked bytes.
const lockHeader = 1

func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}
