package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what is read of files that git does not know.
const (
	maxUntracked     = 8 << 20
	maxUntrackedFile = 1 << 20
	binaryLook       = 8000
)

// reader reads untracked files of one repository, as long as there is room.
type reader struct {
	root *os.Root
	room int64
	// skipped counts the files that were not read.
	skipped int
}

func newReader(dir string) (*reader, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &reader{root: root, room: maxUntracked}, nil
}

func (r *reader) close() error { return r.root.Close() }

// content is a file as git would compare it.
type content struct {
	data []byte
	// lines is how many it has; the last one may lack its line break.
	lines  int
	binary bool
	// whole is false for a file that is too large or cannot be read.
	whole bool
}

// read gives a file's content; ok is false for what is no file any more. A link is what it leads to, as text.
func (r *reader) read(path string) (c content, ok bool) {
	name := filepath.FromSlash(path)
	info, err := r.root.Lstat(name)
	if err != nil {
		return c, !errors.Is(err, fs.ErrNotExist)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(name)
		return text([]byte(target)), err == nil
	case !info.Mode().IsRegular():
		return c, false
	case info.Size() > min(maxUntrackedFile, r.room):
		r.skipped++
		return c, true
	}
	data, err := r.bytes(name)
	if err != nil {
		r.skipped++
		return c, true
	}
	r.room -= int64(len(data))
	return text(data), true
}

func (r *reader) bytes(name string) ([]byte, error) {
	file, err := r.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file any more")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxUntrackedFile+1))
	if err == nil && len(data) > maxUntrackedFile {
		err = errors.New("it has grown")
	}
	return data, err
}

func text(data []byte) content {
	c := content{data: data, whole: true, binary: bytes.IndexByte(data[:min(len(data), binaryLook)], 0) >= 0}
	if c.binary {
		return c
	}
	c.lines = bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		c.lines++
	}
	return c
}

// diff is the content as a difference from nothing, at most max bytes.
func (c content) diff(path string, max int) (diff string, cut bool) {
	if len(c.data) == 0 || c.binary {
		return "", false
	}
	var out strings.Builder
	out.WriteString(heads("", path))
	fmt.Fprintf(&out, "@@ -0,0 +1,%d @@\n", c.lines)
	for line := range bytes.Lines(c.data) {
		if out.Len()+len(line)+1 > max {
			return out.String(), true
		}
		out.WriteByte('+')
		out.Write(line)
	}
	if c.data[len(c.data)-1] != '\n' {
		out.WriteString("\n\\ No newline at end of file\n")
	}
	return out.String(), false
}
