package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// standIn is a directory of our own that takes the place of a .git for one look.
type standIn struct {
	program *Program
	repo    repository
	dir     string
	// sha256: the repository counts with longer hashes.
	sha256 bool
}

var headText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(ref: (refs/[^\s\x00-\x1f]+)|[0-9a-f]{40}|[0-9a-f]{64})\n?$`)
})

// stand makes the stand-in of a repository; end removes it. Its error is a sentence about the repository.
func (p *Program) stand(ctx context.Context, r repository) (*standIn, error) {
	head, err := readSmall(r.git, "HEAD")
	found := headText().FindStringSubmatch(head)
	if err != nil || found == nil {
		return nil, errBroken
	}
	if err := r.ownObjects(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.temp, "git-")
	if err != nil {
		return nil, fmt.Errorf("make room for git: %w", err)
	}
	s := &standIn{program: p, repo: r, dir: dir}
	if err := s.fill(ctx, head, strings.TrimPrefix(found[2], "refs/heads/")); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func (s *standIn) end() error { return os.RemoveAll(s.dir) }

// fill writes what is ours and links what is the repository's.
func (s *standIn) fill(ctx context.Context, head, branch string) error {
	all, err := s.settings(ctx)
	if err != nil {
		return err
	}
	for _, set := range all {
		s.sha256 = s.sha256 || set.section == "extensions" && set.name == "objectformat" && set.value == "sha256"
	}
	if err := s.write("HEAD", strings.TrimSuffix(head, "\n")+"\n"); err != nil {
		return err
	}
	if err := s.write("config", configOf(all, branch)); err != nil {
		return err
	}
	if info, err := os.Lstat(filepath.Join(s.repo.git, "index")); err == nil && !info.Mode().IsRegular() {
		return errBroken
	}
	for _, name := range []string{"objects", "refs", "packed-refs", "reftable"} {
		if err := s.link(s.repo.common, name); err != nil {
			return err
		}
	}
	shared, err := filepath.Glob(filepath.Join(escapeGlob(s.repo.git), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, file := range shared {
		if err := s.link(s.repo.git, filepath.Base(file)); err != nil {
			return err
		}
	}
	for name, from := range map[string]string{"shallow": s.repo.common, "info/exclude": s.repo.common, "info/sparse-checkout": s.repo.git} {
		text, err := readSmall(from, name)
		if err != nil {
			continue
		}
		if err := s.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s *standIn) write(name, text string) error {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// link leads to a name of the repository when it is there. A link there would lead who knows where.
func (s *standIn) link(from, name string) error {
	info, err := os.Lstat(filepath.Join(from, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return errBroken
	}
	return os.Symlink(filepath.Join(from, name), filepath.Join(s.dir, name))
}

// ownObjects refuses objects that whoever writes in the Workspace may have borrowed from elsewhere.
func (r repository) ownObjects() error {
	if !r.inside {
		return nil
	}
	for _, name := range []string{"objects", "objects/pack", "objects/info"} {
		info, err := os.Lstat(filepath.Join(r.common, filepath.FromSlash(name)))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return errBorrowed
		}
	}
	text, err := readSmall(r.common, filepath.Join("objects", "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(text) == "" {
		return nil
	}
	return errBorrowed
}

// settings reads the repository's configuration without acting on it: as text, without what it includes.
func (s *standIn) settings(ctx context.Context) ([]setting, error) {
	text, err := readSmall(s.repo.common, "config")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errBroken
	}
	var out strings.Builder
	// In a directory without a repository, named as one: git must not look for another one, whose configuration it would follow.
	env := []string{"GIT_DIR=" + filepath.Join(s.dir, "none")}
	err = s.program.run(ctx, place{dir: s.dir}, env, []string{"config", "--file", "-", "--no-includes", "--list", "-z"}, strings.NewReader(text),
		func(r io.Reader) error { return readAll(&out, r, 4*maxSmall) })
	if err != nil {
		return nil, err
	}
	return parseSettings(out.String()), nil
}

// git runs a command of git in the repository's files.
func (s *standIn) git(ctx context.Context, read func(io.Reader) error, args ...string) error {
	env := []string{"GIT_DIR=" + s.dir, "GIT_WORK_TREE=" + s.repo.dir, "GIT_INDEX_FILE=" + filepath.Join(s.repo.git, "index")}
	return s.program.run(ctx, s.place(), env, append([]string{"--no-pager"}, args...), nil, read)
}

// output is git with its output as a string; cut says that there was more than max bytes.
func (s *standIn) output(ctx context.Context, max int64, args ...string) (text string, cut bool, err error) {
	var out strings.Builder
	err = s.git(ctx, func(r io.Reader) error {
		err := readAll(&out, r, max)
		cut = errors.Is(err, errEnough)
		return err
	}, args...)
	return out.String(), cut, err
}

// readAll reads at most max bytes, and ends with errEnough when there are more.
func readAll(to io.Writer, from io.Reader, max int64) error {
	n, err := io.Copy(to, io.LimitReader(from, max))
	if err != nil || n < max {
		return err
	}
	if _, err := io.ReadFull(from, make([]byte, 1)); err != nil {
		return nil
	}
	return errEnough
}

// emptyTree is what a repository without a commit is compared with.
func (s *standIn) emptyTree() string {
	if s.sha256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}
