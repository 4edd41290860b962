//go:build !linux

package cli

import (
	"errors"
	"os"
)

// isTerminal takes any character device but the null device for a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// hideTyping is not known here.
func hideTyping(*os.File) (restore func() error, err error) {
	return nil, errors.New("hiding what is typed is not supported on this system")
}
