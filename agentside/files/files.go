package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/engine/chat"
)

// Sizes in bytes.
const (
	maxRaw     = 64 << 20
	maxContent = 10 << 20
)

// Options say where Files act.
type Options struct {
	// Dir is the Workspace's directory: absolute and real.
	Dir string
	// Temp holds the temporary directories of Chats; files in it are readable by exact path. "" is none.
	Temp string
	// Refused are directories of the appliance that are never read nor written.
	Refused []string
	// Gate is shared by all Files whose directories may overlap.
	Gate *Gate
	// Now is the clock of the search limit; nil is time.Now.
	Now func() time.Time
	// Changed is told of each write, edit and removal that was done, and must not wait; may be nil.
	Changed func()
}

// Files are the files of one Workspace.
type Files struct {
	dir     string
	temp    string
	refused []string
	gate    *Gate
	now     func() time.Time
	changed func()
	// foldsCase: names that differ only in case are one file.
	foldsCase bool
	looked    looked
	rename    func(dir *os.Root, from, to string) error
}

var _ chat.Files = (*Files)(nil)

// New gives the Files below o.Dir.
func New(o Options) *Files {
	f := &Files{dir: filepath.Clean(o.Dir), refused: o.Refused, gate: o.Gate, now: o.Now, changed: o.Changed,
		rename: func(dir *os.Root, from, to string) error { return dir.Rename(from, to) }}
	if o.Temp != "" {
		f.temp = filepath.Clean(o.Temp)
	}
	if f.gate == nil {
		f.gate = NewGate()
	}
	if f.now == nil {
		f.now = time.Now
	}
	if f.changed == nil {
		f.changed = func() {}
	}
	f.foldsCase = foldsCase(f.dir)
	return f
}

// Raw gives a regular file whole. A max of 0 or less, or over 64 MiB, is 64 MiB.
func (f *Files) Raw(ctx context.Context, path string, max int64) (chat.RawFile, error) {
	if max <= 0 || max > maxRaw {
		max = maxRaw
	}
	p, err := f.locate(path)
	if err != nil {
		return chat.RawFile{}, err
	}
	defer p.close()
	data, err := p.read(ctx, max)
	if err != nil {
		return chat.RawFile{}, err
	}
	return chat.RawFile{Path: p.name(), Bytes: data, Hash: hashOf(data)}, nil
}

// open opens the place's regular file for reading. It never blocks: what is not a regular file is refused before opening, and
// again after, when something else was put there in between.
func (p *place) open() (*os.File, os.FileInfo, error) {
	if err := p.wantRegular(p.info); err != nil {
		return nil, nil, err
	}
	file, err := p.root.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, osRefusal(p.shown, "read", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, osRefusal(p.shown, "read", err)
	}
	err = p.wantRegular(info)
	if err == nil && p.ours(info) {
		err = outside(p.shown)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// ours: the file is one of the appliance's own under another name. What cannot be compared is taken for one.
func (p *place) ours(info os.FileInfo) bool {
	if !manyNames(info) {
		return false
	}
	for _, dir := range p.refused {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return true
		}
		for _, e := range entries {
			own, err := os.Lstat(filepath.Join(dir, e.Name()))
			if err == nil && os.SameFile(own, info) {
				return true
			}
		}
	}
	return false
}

func (p *place) wantRegular(info os.FileInfo) error {
	switch {
	case info == nil:
		return refuse("not_found", p.shown, "There is no file %s.", p.shown)
	case info.IsDir():
		return refuse("is_directory", p.shown, "%s is a directory, not a file.", p.shown)
	case !info.Mode().IsRegular():
		return refuse("not_regular", p.shown, "%s is not a regular file but %s; it was not opened.", p.shown, kindOf(info.Mode()))
	}
	return nil
}

// read gives the whole file, too_large when it has more than max bytes.
func (p *place) read(ctx context.Context, max int64) ([]byte, error) {
	file, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > max {
		return nil, tooLarge(p.shown, info.Size(), max)
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		if ctx.Err() != nil {
			return nil, interrupted(p.shown)
		}
		// A piece at a time, so that an interrupt is seen between the pieces of a large file.
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := file.Read(data[len(data):min(cap(data), len(data)+1<<20)])
		data = data[:len(data)+n]
		if int64(len(data)) > max {
			return nil, tooLarge(p.shown, int64(len(data)), max)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, osRefusal(p.shown, "read", err)
		}
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func kindOf(mode os.FileMode) string {
	switch {
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	case mode&os.ModeSymlink != 0:
		return "a link"
	}
	return "something else"
}
