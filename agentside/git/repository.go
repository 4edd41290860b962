package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is looked for and read.
const (
	maxRepositories = 64
	maxChildren     = 20_000
	maxSmall        = 1 << 20
)

// repository is a directory with a .git, and where that leads.
type repository struct {
	// name is relative to the Workspace, "." for its directory; dir is its real absolute path.
	name, dir string
	// git is the directory of this work tree, common that of all work trees: the same but in linked ones.
	git, common string
	// inside: all of it lies in the Workspace, so that whoever writes there decides what it says.
	inside bool
	// refused says why it is not looked at, nil when it is.
	refused error
}

// find gives the repositories at a real directory and at its children, and what was left out.
func find(dir string) (all []repository, left string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	names, err := children(root)
	if err != nil {
		return nil, "", err
	}
	for _, name := range append([]string{"."}, names...) {
		info, err := root.Lstat(filepath.Join(name, ".git"))
		if err != nil {
			continue
		}
		if len(all) == maxRepositories {
			return all, fmt.Sprintf("Only the first %d repositories are looked at.", maxRepositories), nil
		}
		r := repository{name: filepath.ToSlash(name), dir: filepath.Join(dir, name)}
		r.refused = r.follow(dir, info)
		all = append(all, r)
	}
	return all, "", nil
}

// children are the directories in a root, in name order; links are none.
func children(root *os.Root) ([]string, error) {
	top, err := root.OpenFile(".", os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	entries, err := top.ReadDir(maxChildren)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

var (
	errOutside  = errors.New("its .git leads to a place outside the workspace that does not name this directory as its own")
	errBroken   = errors.New("its .git is not one that git made")
	errBorrowed = errors.New("its objects are borrowed from another repository")
)

// follow finds out where a .git leads. Outside of the Workspace it may only lead to a repository that names this directory as one
// of its work trees: else whoever writes here could read any repository of the machine.
func (r *repository) follow(workspace string, info fs.FileInfo) error {
	r.git = filepath.Join(r.dir, ".git")
	if !info.IsDir() {
		target, err := r.target(info)
		if err != nil {
			return err
		}
		r.git = target
	}
	r.common = r.git
	if text, err := readSmall(r.git, "commondir"); err == nil {
		real, err := realFrom(r.git, strings.TrimSpace(text))
		if err != nil {
			return errBroken
		}
		r.common = real
	}
	in, commonIn := within(workspace, r.git), within(workspace, r.common)
	r.inside = in && commonIn
	if r.inside {
		return nil
	}
	if in || !r.claimed() {
		return errOutside
	}
	return nil
}

// target reads a .git that is a file, or a link.
func (r *repository) target(info fs.FileInfo) (string, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		real, err := filepath.EvalSymlinks(r.git)
		if err != nil {
			return "", errBroken
		}
		return real, nil
	}
	text, err := readSmall(r.dir, ".git")
	if err != nil {
		return "", errBroken
	}
	to, ok := strings.CutPrefix(text, "gitdir:")
	if !ok {
		return "", errBroken
	}
	real, err := realFrom(r.dir, strings.TrimSpace(to))
	if err != nil {
		return "", errBroken
	}
	return real, nil
}

// claimed: the directory behind .git names this one as its work tree, as that of a linked work tree does in "gitdir" and that of a
// submodule in its configuration; and what it shares is its own repository's.
func (r *repository) claimed() bool {
	if text, err := readSmall(r.git, "gitdir"); err == nil {
		real, err := realFrom(r.git, strings.TrimSpace(text))
		return err == nil && real == filepath.Join(r.dir, ".git") && filepath.Dir(filepath.Dir(r.git)) == r.common
	}
	text, err := readSmall(r.git, "config")
	if err != nil || r.common != r.git {
		return false
	}
	for _, m := range workTree().FindAllStringSubmatch(text, -1) {
		if real, err := realFrom(r.git, strings.Trim(m[1], `"`)); err == nil && real == r.dir {
			return true
		}
	}
	return false
}

var workTree = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?mi)^\s*worktree\s*=\s*(\S.*?)\s*$`) })

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

func realFrom(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// readSmall reads a regular file, at most 1 MiB, by a name below dir; links in the name are not followed out of dir.
func readSmall(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errBroken
	}
	file, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errBroken
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSmall+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxSmall {
		return "", errBroken
	}
	return string(data), nil
}
