//go:build !linux

package files

import (
	"errors"
	"io/fs"
	"os"
)

func openUnnamed(*os.Root, fs.FileMode) *os.File { return nil }

func linkUnnamed(*os.File, *os.Root, string) error { return errors.ErrUnsupported }

func removeLeft(*os.Root, int64) (again bool) { return false }
