package files

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a new file of the directory that has no name yet, so that nothing of it stays when the process is killed. nil where the file system
// has no such files.
func openUnnamed(dir *os.Root, mode fs.FileMode) *os.File {
	d, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "")
}

// linkUnnamed gives such a file its name. It fails where there is no /proc.
func linkUnnamed(file *os.File, dir *os.Root, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(file.Fd())), int(d.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	return errors.Join(err, d.Close())
}

// lookedThrough bounds how many names of a directory are looked at.
const lookedThrough = 20_000

// removeLeft removes temporary names of ours that nobody touched since oldest, given in Unix seconds, and says whether the directory is worth another look.
// What cannot be looked at or removed is left: no write fails for it.
func removeLeft(dir *os.Root, oldest int64) (again bool) {
	d, err := dir.Open(".")
	if err != nil {
		return false
	}
	defer d.Close()
	names, err := d.Readdirnames(lookedThrough)
	if err != nil {
		return false
	}
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(stat.Uid) != os.Geteuid() {
			continue
		}
		// Not when it was modified: the second name of an old file is newer than its bytes.
		if int64(stat.Ctim.Sec) > oldest || dir.Remove(name) != nil {
			again = true
		}
	}
	return again
}
