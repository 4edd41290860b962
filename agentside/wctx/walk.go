package wctx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
)

// maxChildren is how many child projects are read.
const maxChildren = 64

// rank orders the directories of a root by how much it matters that they are watched.
type rank int

const (
	rankRoot rank = iota
	rankContainer
	rankTarget
	rankChild
	rankGit
)

// candidate is a recognised name that is there, not opened yet.
type candidate struct {
	kind  chat.ResourceKind
	place *place
	// named is the path from the place as it is named, at the same path with the links of its directory resolved.
	named, at string
	// fault is why the way to it could not be followed.
	fault error
	child bool
}

// walk visits the fixed locations of roots. Resolver and watcher see the same ones.
type walk struct {
	ctx    context.Context
	disk   disk
	names  names
	denied []string
	// entries is how many entries of one directory are looked at.
	entries int
	// file takes what is recognised, dir the real path of a directory that matters, problem what could not be read.
	file    func(candidate)
	dir     func(rank, string)
	problem func(string)
	// git: child projects that hold only a repository matter too.
	git bool
}

// root visits one root. Its only errors are those of the context.
func (w *walk) root(r root) error {
	info, err := os.Stat(r.path)
	switch {
	case err == nil && info.IsDir():
		return w.directory(r)
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir):
		w.unread(r.path, err)
		w.above(r.path)
	case w.names.kind(filepath.Base(r.path)) != "":
		w.single(r)
	case err != nil:
		w.above(r.path)
	}
	return nil
}

func (w *walk) unread(path string, err error) {
	w.problem(shownPath(path) + " cannot be read: " + reason(err))
}

// above watches the deepest directory that exists over a path that does not.
func (w *walk) above(path string) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			w.dir(rankRoot, at)
			return
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

// single visits a root that is a file, in the directory where it is named: a link there leads no further.
func (w *walk) single(r root) {
	p, err := openPlace(w.disk, filepath.Dir(r.path), r.within, w.denied)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		w.above(r.path)
		return
	}
	if err != nil {
		w.unread(r.path, err)
		return
	}
	defer p.close()
	w.dir(rankRoot, p.dir)
	w.probe(p, ".", ".", filepath.Base(r.path), false)
}

func (w *walk) directory(r root) error {
	p, err := openPlace(w.disk, r.path, r.within, w.denied)
	if err != nil {
		w.unread(r.path, err)
		return nil
	}
	defer p.close()
	w.dir(rankRoot, p.dir)
	for _, name := range w.names.instructions {
		w.probe(p, ".", ".", name, false)
	}
	w.probe(p, ".", ".", mcpConfigName, false)
	seen := map[string]bool{}
	if r.container || filepath.Base(r.path) == "skills" || filepath.Base(p.dir) == "skills" {
		if err := w.skills(p, ".", seen); err != nil {
			return err
		}
	}
	for _, c := range containers {
		if err := w.skills(p, c, seen); err != nil {
			return err
		}
	}
	if r.children {
		return w.children(p)
	}
	return nil
}

// probe looks for a recognised name in a directory and says whether there is one.
func (w *walk) probe(p *place, named, at, base string, child bool) bool {
	info, err := p.has(at, base)
	if err != nil {
		w.unread(p.abs(named), err)
		return false
	}
	// A plain directory of that name is just a directory.
	if info == nil || info.IsDir() {
		return false
	}
	w.file(candidate{kind: w.names.kind(base), place: p, named: path.Join(named, base), at: filepath.Join(at, base), child: child})
	return true
}

// skills visits the skills of a container. Two names of one directory are one container.
func (w *walk) skills(p *place, container string, seen map[string]bool) error {
	to, err := p.follow(container)
	if err != nil {
		w.problem("the skills in " + shownPath(p.abs(container)) + " are not read: " + reason(err))
		return nil
	}
	if to.info == nil || !to.info.IsDir() {
		return w.beforeContainer(p, container)
	}
	if seen[to.name] {
		return nil
	}
	seen[to.name] = true
	w.dir(rankContainer, p.abs(to.name))
	entries, err := p.list(to.name, w.entries+1)
	if err != nil && !errors.Is(err, io.EOF) {
		w.unread(p.abs(container), err)
	}
	if len(entries) > w.entries {
		w.problem(fmt.Sprintf("%s has more than %d entries, the rest is not looked at", shownPath(p.abs(container)), w.entries))
		entries = entries[:w.entries]
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.skill(p, container, to.name, e)
	}
	return nil
}

// beforeContainer watches the directory in which a container that is missing would be made.
func (w *walk) beforeContainer(p *place, container string) error {
	up := path.Dir(container)
	if up == "." {
		return nil
	}
	// Why it cannot be followed was said of the container.
	if to, err := p.follow(up); err == nil && to.info != nil && to.info.IsDir() {
		w.dir(rankContainer, p.abs(to.name))
	}
	return nil
}

func (w *walk) skill(p *place, container, real string, e fs.DirEntry) {
	named, at := path.Join(container, e.Name()), filepath.Join(real, e.Name())
	switch {
	case e.IsDir():
	case e.Type()&fs.ModeSymlink != 0:
		to, err := p.follow(at)
		if err == nil && to.info == nil {
			err = errDangling
		}
		if err != nil {
			w.file(candidate{kind: chat.ResourceSkill, place: p, named: path.Join(named, w.names.skill), at: at, fault: err})
			return
		}
		if !to.info.IsDir() {
			return
		}
		at = to.name
	default:
		return
	}
	w.dir(rankContainer, p.abs(at))
	w.probe(p, named, at, w.names.skill, false)
}

// children visits the directories right below the working directory, by name.
func (w *walk) children(p *place) error {
	entries, err := p.list(".", w.entries+1)
	if err != nil && !errors.Is(err, io.EOF) {
		w.unread(p.dir, err)
	}
	if len(entries) > w.entries {
		w.problem(fmt.Sprintf("%s has more than %d entries, the rest is not looked at", shownPath(p.dir), w.entries))
		entries = entries[:w.entries]
	}
	holding := 0
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if w.child(p, e.Name()) {
			holding++
		}
		if holding == maxChildren {
			return nil
		}
	}
	return nil
}

// child visits a child project and says whether it holds an instruction file.
func (w *walk) child(p *place, name string) bool {
	c, err := p.child(name)
	if err != nil {
		// It has gone or is closed to us; what nobody named is no trouble.
		return false
	}
	defer c.close()
	some := false
	for _, base := range w.names.instructions {
		info, err := c.has(".", base)
		if err != nil {
			break
		}
		if info == nil || info.IsDir() {
			continue
		}
		some = true
		w.file(candidate{kind: chat.ResourceInstructionFile, place: c, named: base, at: base, child: true})
	}
	if some {
		w.dir(rankChild, c.dir)
		return true
	}
	if !w.git {
		return false
	}
	if _, err := c.lstat(".git"); err == nil {
		w.dir(rankGit, c.dir)
	}
	return false
}
