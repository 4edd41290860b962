package server

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// mark is what the system tells of a file. The time of its last change of any kind cannot be set by who changes it.
type mark struct {
	dev, ino   uint64
	size       int64
	sec, nanos int64
}

// markOf is not sure of a file that changed a moment ago: a second change may have the same time.
func markOf(info fs.FileInfo) (m mark, sure bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return mark{}, false
	}
	m = mark{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, sec: int64(st.Ctim.Sec), nanos: int64(st.Ctim.Nsec)}
	return m, time.Since(time.Unix(m.sec, m.nanos)) > 2*time.Second
}

// openPlain opens without waiting for who writes a pipe.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
