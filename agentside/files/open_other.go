//go:build !unix

package files

import (
	"io/fs"
	"os"
)

const nonblock = 0

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func manyNames(fs.FileInfo) bool { return false }
