package wctx

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Why a link is not followed.
var (
	errOutside = errors.New("the link leads outside")
	errLoop    = errors.New("the link leads round in a circle")
)

// follower resolves a path step by step, so that every link on the way is seen.
type follower struct {
	lstat    func(name string) (fs.FileInfo, error)
	readlink func(name string) (string, error)
	// inside gives the path of an absolute target from where the follower begins; false when it leads out.
	inside func(target string) (string, bool)
}

// found is where a path leads: a name without links, and what is there. info is nil where nothing is.
type found struct {
	name string
	info fs.FileInfo
	// linked: a link was followed on the way.
	linked bool
}

// follow resolves a path. A name that is missing is no error: the rest of the path is appended to what exists.
func (f follower) follow(path string) (found, error) {
	todo, links := parts(path), 0
	out := found{name: "."}
	var done []string
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			if len(done) == 0 {
				return out, errOutside
			}
			done = done[:len(done)-1]
			continue
		}
		at := filepath.Join(append(done[:len(done):len(done)], part)...)
		info, err := f.lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			done = append(done, part)
			continue
		}
		if err != nil {
			return out, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(todo) > 0 && !info.IsDir() {
				// Nothing can be below a file.
				done, todo = append(append(done, part), todo...), nil
				continue
			}
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks {
			return out, errLoop
		}
		out.linked = true
		target, err := f.readlink(at)
		if err != nil {
			return out, err
		}
		if filepath.IsAbs(target) {
			rel, ok := f.inside(target)
			if !ok {
				return out, errOutside
			}
			target, done = rel, nil
		}
		todo = append(parts(target), todo...)
	}
	return f.arrived(out, done)
}

func (f follower) arrived(out found, done []string) (found, error) {
	if len(done) > 0 {
		out.name = filepath.Join(done...)
	}
	info, err := f.lstat(out.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		return out, nil
	case err != nil:
		return out, err
	case info.Mode()&fs.ModeSymlink != 0:
		return out, errMoved
	}
	out.info = info
	return out, nil
}

// parts splits a path, its empty and "." parts left out.
func parts(path string) []string {
	var out []string
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

// below gives the path of a clean name from a clean directory, whole parts compared.
func below(dir, name string) (string, bool) {
	if name == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	rel, ok := strings.CutPrefix(name, dir)
	return rel, ok
}
