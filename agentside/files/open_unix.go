//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// keepOwner gives a replacement the owner of the file it replaces. Only root can, and only then does it matter: everybody
// else's replacement is their own.
func keepOwner(file *os.File, old fs.FileInfo) error {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return file.Chown(int(stat.Uid), int(stat.Gid))
}

// manyNames: the file has more than one name, so that where it was found does not say whose it is.
func manyNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
