package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const maxLinks = 40

// place is where a path leads: a name inside one root with every link resolved.
type place struct {
	root *os.Root
	// dir is the root's absolute path, rel the name in it ("." for the root itself).
	dir string
	rel string
	// shown is the path as the caller wrote it.
	shown string
	// info is of the resolved name, nil when there is nothing. It is never a link.
	info fs.FileInfo
	// links are the names in the root of the links that were followed.
	links []string
	temp  bool
	// refused are directories that nothing is looked for in.
	refused []string
}

func (p *place) close() { p.root.Close() }

func (p *place) abs() string { return filepath.Join(p.dir, p.rel) }

// name is how answers call the place: relative to the Workspace with slashes, absolute below the temporary root.
func (p *place) name() string {
	if p.temp {
		return p.abs()
	}
	return filepath.ToSlash(p.rel)
}

// locate resolves a path. The caller closes the place.
func (f *Files) locate(path string) (*place, error) {
	if strings.ContainsRune(path, 0) || len(path) > 4096 {
		return nil, refuse("invalid", "", "The path is not valid: it is too long or holds a NUL byte.")
	}
	p := &place{dir: f.dir, rel: path, shown: path}
	if path == "" {
		p.rel, p.shown = ".", "."
	}
	if filepath.IsAbs(path) {
		dir, rel, ok := f.insideAny(path)
		if !ok {
			return nil, outside(path)
		}
		p.dir, p.rel, p.temp = dir, rel, dir != f.dir
	}
	root, err := openRoot(p.dir)
	if err != nil {
		return nil, refuse("not_found", p.shown, "The directory of the workspace is not there any more.")
	}
	p.root = root
	if !p.temp {
		p.refused = f.refused
	}
	if err := p.follow(p.rel); err != nil {
		root.Close()
		return nil, err
	}
	return p, nil
}

func (p *place) refuses(name string) bool {
	abs := filepath.Join(p.dir, name)
	for _, dir := range p.refused {
		if _, in := inside(dir, abs); in {
			return true
		}
	}
	return false
}

// insideAny finds the root an absolute path lies in, and its name there.
func (f *Files) insideAny(path string) (dir, rel string, ok bool) {
	for _, candidate := range []string{path, realPrefix(path)} {
		if rel, ok := inside(f.dir, candidate); ok {
			return f.dir, rel, true
		}
		if f.temp == "" {
			continue
		}
		if rel, ok := inside(f.temp, candidate); ok {
			return f.temp, rel, true
		}
	}
	return "", "", false
}

// inside gives path relative to dir, by whole components: /a-b is not inside /a. Dots in path are kept: behind a link they mean
// something else than they seem to.
func inside(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	rel, ok := strings.CutPrefix(path, dir)
	return rel, ok
}

// realPrefix resolves the links of the longest part of an absolute path that exists: a person may know the Workspace by a link
// to it. Nothing is opened.
func realPrefix(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// openRoot opens a directory that is not a link itself. It is opened anew for each operation, so that a directory that was
// removed and made again is the new one.
func openRoot(dir string) (*os.Root, error) {
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		root.Close()
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return root, nil
}

// follow resolves a name component by component. os.Root alone would do for reading, but it refuses absolute links that point
// inside, and the real name is needed to judge a path.
func (p *place) follow(name string) error {
	todo := parts(name)
	var done []string
	p.info = nil
	missing := false
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if len(done) == 0 {
				return outside(p.shown)
			}
			done, p.info = done[:len(done)-1], nil
			continue
		}
		at := filepath.Join(append(done[:len(done):len(done)], part)...)
		if p.refuses(at) {
			return outside(p.shown)
		}
		if missing {
			done = append(done, part)
			continue
		}
		info, err := p.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			missing, p.info = true, nil
			done = append(done, part)
			continue
		}
		if err != nil {
			return osRefusal(p.shown, "look at", err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done, p.info = append(done, part), info
			continue
		}
		if len(p.links) == maxLinks {
			return osRefusal(p.shown, "follow", syscall.ELOOP)
		}
		p.links = append(p.links, at)
		target, err := p.root.Readlink(at)
		if err != nil {
			return osRefusal(p.shown, "follow", err)
		}
		if filepath.IsAbs(target) {
			rel, ok := inside(p.dir, target)
			if !ok {
				return outside(p.shown)
			}
			target, done = rel, nil
		}
		todo = append(parts(target), todo...)
	}
	p.rel = "."
	if len(done) > 0 {
		p.rel = filepath.Join(done...)
	}
	if p.info != nil || missing {
		return nil
	}
	info, err := p.root.Lstat(p.rel)
	if err != nil {
		return osRefusal(p.shown, "look at", err)
	}
	p.info = info
	return nil
}

func parts(name string) []string {
	return strings.Split(filepath.ToSlash(name), "/")
}
