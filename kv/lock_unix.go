//go:build unix && !solaris && !aix

package kv

import (
	"errors"
	"os"
	"syscall"
)

// lockHeader is where the text of the lock file begins.
const lockHeader = 0

func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
