package wctx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// reach says which paths may be Sources.
type reach struct {
	home string
	// configured gives the allowed roots, none for the default; it is asked at every check.
	configured func() []string
	// homely: the default holds the directories of the home.
	homely bool
	denied []string
}

// identity makes a path clean and absolute, its links as they are.
func (r reach) identity(path string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", chat.Invalid("path", fmt.Sprintf(format, args...))
	}
	path = strings.TrimSpace(path)
	switch {
	case path == "":
		return refuse("give a path")
	case len(path) > chat.MaxResourceSource:
		return refuse("it is longer than %d bytes", chat.MaxResourceSource)
	case strings.ContainsRune(path, 0) || !utf8.ValidString(path):
		return refuse("it is not a text that can be a path")
	case path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) && filepath.Separator == '\\':
		if r.home == "" {
			return refuse("the home directory is not known; give the whole path")
		}
		path = filepath.Join(r.home, path[1:])
	case path[0] == '~':
		return refuse("the homes of other people are not known here; give the whole path")
	}
	if !filepath.IsAbs(path) {
		return refuse("%q is not an absolute path", path)
	}
	return filepath.Clean(path), nil
}

// allowed checks where a path leads and gives the real allowed root that it lies in.
func (r reach) allowed(identity, dir string) (within string, err error) {
	real, err := realPath(identity)
	if err != nil {
		return "", chat.Invalid("path", fmt.Sprintf("%q cannot be followed: %s", identity, reason(err)))
	}
	for _, own := range r.denied {
		if _, in := below(own, real); in {
			return "", chat.Invalid("path", fmt.Sprintf("%q lies in a directory of the appliance's own", identity))
		}
	}
	for _, top := range r.tops(dir) {
		if _, in := below(top, real); in {
			return top, nil
		}
	}
	return "", chat.Invalid("path", fmt.Sprintf("%q does not lie in a directory that may be read for context", identity))
}

// tops gives the real allowed roots that there are just now.
func (r reach) tops(dir string) []string {
	list := []string{dir}
	if r.homely && r.home != "" {
		list = []string{r.home, filepath.Join(r.home, ".holdfast"), filepath.Join(r.home, ".claude"), dir}
	}
	if r.configured != nil {
		if own := r.configured(); len(own) > 0 {
			list = own
		}
	}
	var out []string
	for _, path := range list {
		// What is configured and no path, or not there, allows nothing.
		id, err := r.identity(path)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(id)
		if err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// realPath resolves the links of a path as far as it exists; the rest is appended.
func realPath(path string) (string, error) {
	volume := filepath.VolumeName(path)
	top := volume + string(filepath.Separator)
	f := follower{
		lstat: func(name string) (fs.FileInfo, error) {
			info, err := os.Lstat(filepath.Join(top, name))
			if errors.Is(err, errNotDir) {
				return nil, fs.ErrNotExist
			}
			return info, err
		},
		readlink: func(name string) (string, error) { return os.Readlink(filepath.Join(top, name)) },
		inside: func(target string) (string, bool) {
			return target[len(filepath.VolumeName(target)):], filepath.VolumeName(target) == volume
		},
	}
	to, err := f.follow(path[len(volume):])
	if errors.Is(err, errOutside) {
		// Above the top of the file system is the top itself; a path that says so is not worth following.
		return "", errors.New("a link leads above the top")
	}
	return filepath.Join(top, to.name), err
}
