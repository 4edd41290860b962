package wctx

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

var (
	errNotDir = syscall.ENOTDIR
	errMoved  = errors.New("it changed while it was read")
)

// disk is the file system below an open root. Tests bend it.
type disk struct {
	lstat func(r *os.Root, name string) (fs.FileInfo, error)
	open  func(r *os.Root, name string) (*os.File, error)
}

func realDisk() disk {
	return disk{
		lstat: func(r *os.Root, name string) (fs.FileInfo, error) { return r.Lstat(name) },
		// What was put in a regular file's place must not hold us up.
		open: func(r *os.Root, name string) (*os.File, error) { return r.OpenFile(name, os.O_RDONLY|nonblock, 0) },
	}
}

// place is an open directory that nothing leads out of.
type place struct {
	disk disk
	root *os.Root
	// dir is the real path of the directory, alias the one it was reached by.
	dir, alias string
	// denied are directories of our own that are never read.
	denied []string
}

// openPlace opens the directory at path. It is reached through the directory within, unless that is "": what is put in its place after
// the check cannot lead out.
func openPlace(d disk, path, within string, denied []string) (*place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, cmp.Or(err, error(errNotDir))
	}
	p := &place{disk: d, dir: real, alias: path, denied: denied}
	if p.denies(".") {
		return nil, errDenied
	}
	if within == "" {
		p.root, err = os.OpenRoot(real)
		return p, err
	}
	rel, ok := below(within, real)
	if !ok {
		return nil, errOutside
	}
	top, err := os.OpenRoot(within)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	p.root, err = top.OpenRoot(rel)
	return p, err
}

// child opens a directory of the place as a place of its own.
func (p *place) child(name string) (*place, error) {
	root, err := p.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &place{disk: p.disk, root: root, dir: p.abs(name), alias: filepath.Join(p.alias, name), denied: p.denied}, nil
}

func (p *place) close() { p.root.Close() }

func (p *place) abs(name string) string { return filepath.Join(p.dir, name) }

func (p *place) lstat(name string) (fs.FileInfo, error) { return p.disk.lstat(p.root, name) }

// follow resolves a name of the place, all links on the way.
func (p *place) follow(name string) (found, error) {
	out, err := follower{lstat: p.lstat, readlink: p.root.Readlink, inside: p.inside}.follow(name)
	if err == nil && p.denies(out.name) {
		return out, errDenied
	}
	return out, err
}

func (p *place) inside(target string) (string, bool) {
	if !slices.Contains(parts(target), "..") {
		target = filepath.Clean(target)
	}
	if rel, ok := below(p.dir, target); ok {
		return rel, true
	}
	return below(p.alias, target)
}

func (p *place) denies(name string) bool {
	at := p.abs(name)
	return slices.ContainsFunc(p.denied, func(dir string) bool {
		_, in := below(dir, at)
		return in
	})
}

// has says what stands in dir under exactly this base name; nil for nothing.
func (p *place) has(dir, base string) (fs.FileInfo, error) {
	info, err := p.lstat(filepath.Join(dir, base))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	other, err := p.lstat(filepath.Join(dir, swapCase(base)))
	if err != nil || !os.SameFile(info, other) {
		return info, nil
	}
	// The file system takes names for one that differ in case; only a listing tells the real one.
	entries, err := p.list(dir, -1)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base }) {
		return nil, nil
	}
	return info, nil
}

// list gives entries of a directory by name, at most max of them unless that is negative.
func (p *place) list(dir string, max int) ([]fs.DirEntry, error) {
	file, err := p.disk.open(p.root, dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(max)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); up != r {
			return up
		}
		return unicode.ToLower(r)
	}, s)
}

// reason is an error of the system without the path, which is said elsewhere.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return clip(err.Error(), 200)
}
