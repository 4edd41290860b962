package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
)

// maxProgram is the size to which a file is compared; a larger one is not started.
const maxProgram = 512 << 20

// program is what an entry resolves to on this machine, now.
type program struct {
	// path is the file that is started, dir where.
	path, dir string
	// files are the program, and the files of the Workspace that arguments name.
	files []chat.ServerFile
}

// resolve finds the files that would run.
func (p *Provider) resolve(e *entry) (program, error) {
	if e.transport != Stdio {
		return program{}, nil
	}
	dir, err := e.inside(p.o.Dir)
	if err != nil {
		return program{}, err
	}
	path, err := p.look(e, dir)
	if err != nil {
		return program{}, err
	}
	out := program{path: path, dir: dir}
	files := []string{path}
	for _, arg := range e.args {
		if file, ok := p.named(arg, dir); ok && file != path {
			files = append(files, file)
		}
	}
	for _, file := range files {
		hash, err := p.sums.of(file)
		if err != nil {
			return program{}, fmt.Errorf("%s cannot be read: %v", filepath.Base(file), reason(err))
		}
		out.files = append(out.files, chat.ServerFile{Path: file, Hash: hash})
	}
	return out, nil
}

// look finds the program as the entry's own environment would.
func (p *Provider) look(e *entry, dir string) (string, error) {
	if strings.ContainsRune(e.command, '/') {
		path := e.command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return executable(path)
	}
	search, ok := e.env["PATH"]
	if ok {
		expanded, err := expand(map[string]string{"PATH": search}, p.lookup)
		if err != nil {
			return "", err
		}
		search = expanded["PATH"]
	} else {
		search, _ = p.lookup("PATH")
	}
	for _, at := range filepath.SplitList(search) {
		if !filepath.IsAbs(at) {
			continue
		}
		if path, err := executable(filepath.Join(at, e.command)); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no such command")
}

func executable(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", errors.New("no such command")
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", errors.New("the command is not a program")
	}
	return real, nil
}

// named gives the file of the Workspace that an argument names.
func (p *Provider) named(arg, dir string) (string, bool) {
	if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		arg = value
	}
	if arg == "" || strings.HasPrefix(arg, "-") {
		return "", false
	}
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(dir, arg)
	}
	real, err := filepath.EvalSymlinks(arg)
	if err != nil || !strings.HasPrefix(real, strings.TrimSuffix(p.o.Dir, "/")+"/") {
		return "", false
	}
	info, err := os.Stat(real)
	return real, err == nil && info.Mode().IsRegular()
}

// sums are the hashes of files that have not changed since, by all that the system tells of them.
type sums struct {
	lock  chan struct{}
	known map[string]sum
}

type sum struct {
	mark mark
	hash chat.Hash
}

func newSums() *sums { return &sums{lock: make(chan struct{}, 1), known: map[string]sum{}} }

// of gives the hash of a file's bytes.
func (s *sums) of(path string) (chat.Hash, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	file, err := openPlain(path)
	if err != nil {
		return chat.Hash{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return chat.Hash{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxProgram {
		return chat.Hash{}, errors.New("it is no plain file, or too large")
	}
	now, sure := markOf(info)
	if old, ok := s.known[path]; ok && sure && old.mark == now {
		return old.hash, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, maxProgram)); err != nil {
		return chat.Hash{}, err
	}
	out := chat.Hash(h.Sum(nil))
	if sure {
		s.known[path] = sum{now, out}
	}
	return out, nil
}

func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
