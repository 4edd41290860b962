package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// before is a file as it was found before a change.
type before struct {
	info fs.FileInfo
	data []byte
	hash string
}

// found reads what is at the place now; nothing gives a zero before.
func (p *place) found(ctx context.Context) (before, error) {
	if p.info == nil {
		return before{}, nil
	}
	data, err := p.read(ctx, maxRaw)
	if err != nil {
		return before{}, err
	}
	return before{info: p.info, data: data, hash: hashOf(data)}, nil
}

// staged is a new content that lies beside its place: without a name until just before it takes its place, or under a temporary one where the file system
// has no files without.
type staged struct {
	place *place
	old   before
	dir   *os.Root
	base  string
	temp  string
	data  []byte
	// unnamed is the content while it has no name, else nil.
	unnamed *os.File
	// kept is a second name of the old file, for putting it back without needing space.
	kept string
	done bool
}

// beside opens the directory of a place, which must be the one that was judged.
func beside(p *place, old before) (*staged, error) {
	dir, err := p.root.OpenRoot(filepath.Dir(p.rel))
	if err != nil {
		return nil, osRefusal(p.shown, "open the directory of", err)
	}
	s := &staged{place: p, old: old, dir: dir, base: filepath.Base(p.rel), temp: tempName()}
	if err := s.stillThere(); err != nil {
		dir.Close()
		return nil, err
	}
	return s, nil
}

// stage writes data beside the place. Whatever fails, no temporary file stays.
func stage(p *place, old before, data []byte) (_ *staged, err error) {
	if err := p.root.MkdirAll(filepath.Dir(p.rel), 0o755); err != nil {
		return nil, osRefusal(p.shown, "make the directory of", err)
	}
	s, err := beside(p, old)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.dir.Close()
		}
	}()
	s.data = data
	if s.unnamed = openUnnamed(s.dir, s.mode()); s.unnamed == nil {
		return s, s.writeNamed()
	}
	if err := fill(s.unnamed, data, old.info); err != nil {
		return nil, osRefusal(p.shown, "write", errors.Join(err, s.unnamed.Close()))
	}
	return s, nil
}

// mode is that of the temporary file: nobody may read it before it has the old file's.
func (s *staged) mode() fs.FileMode {
	if s.old.info != nil {
		return 0o600
	}
	return 0o644
}

// writeNamed writes the content under the temporary name.
func (s *staged) writeNamed() error {
	file, err := s.dir.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblock, s.mode())
	if err != nil {
		return osRefusal(s.place.shown, "write", err)
	}
	err = fill(file, s.data, s.old.info)
	if err = errors.Join(err, file.Close()); err != nil {
		return osRefusal(s.place.shown, "write", errors.Join(err, s.dir.Remove(s.temp)))
	}
	return nil
}

// name gives the content its temporary name, from which it can be renamed.
func (s *staged) name() error {
	if s.unnamed == nil {
		return nil
	}
	file := s.unnamed
	s.unnamed = nil
	linked := linkUnnamed(file, s.dir, s.temp)
	if err := file.Close(); err != nil {
		return osRefusal(s.place.shown, "write", err)
	}
	if linked != nil {
		// Not every machine can give it one.
		return s.writeNamed()
	}
	return nil
}

func fill(file *os.File, data []byte, old fs.FileInfo) error {
	if _, err := file.Write(data); err != nil {
		return err
	}
	if old != nil {
		// The owner first: changing it takes mode bits away.
		if err := keepOwner(file, old); err != nil {
			return err
		}
		if err := file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	return file.Sync()
}

// stillThere makes sure that the directory that was opened is the one that was judged: a part of its path may have become a
// link in between.
func (s *staged) stillThere() error {
	p := s.place
	again := &place{root: p.root, dir: p.dir, shown: p.shown}
	if err := again.follow(filepath.Dir(p.rel)); err != nil {
		return err
	}
	opened, err := s.dir.Stat(".")
	if err != nil {
		return osRefusal(p.shown, "write", err)
	}
	if again.rel != filepath.Dir(p.rel) || !os.SameFile(again.info, opened) {
		return changed(p.shown)
	}
	return nil
}

// unchanged: the place still holds what was found there.
func (s *staged) unchanged() error {
	now, err := s.dir.Lstat(s.base)
	if errors.Is(err, fs.ErrNotExist) {
		if s.old.info == nil {
			return nil
		}
		return changed(s.place.shown)
	}
	if err != nil {
		return osRefusal(s.place.shown, "write", err)
	}
	old := s.old.info
	if old == nil || !os.SameFile(old, now) || old.Size() != now.Size() || !old.ModTime().Equal(now.ModTime()) {
		return changed(s.place.shown)
	}
	return nil
}

// keep gives the old file a second name. A file system without hard links has none, then putting back writes the bytes anew.
func (s *staged) keep() {
	if s.old.info == nil {
		return
	}
	name := tempName()
	if s.dir.Link(s.base, name) == nil {
		s.kept = name
	}
}

func (s *staged) commit(rename func(dir *os.Root, from, to string) error) error {
	if err := s.unchanged(); err != nil {
		return err
	}
	if err := s.name(); err != nil {
		return err
	}
	if err := rename(s.dir, s.temp, s.base); err != nil {
		return osRefusal(s.place.shown, "replace", err)
	}
	s.done = true
	return nil
}

// restore puts back what a commit replaced.
func (s *staged) restore() error {
	if !s.done {
		return nil
	}
	s.done = false
	if s.old.info == nil {
		return s.dir.Remove(s.base)
	}
	if s.kept != "" {
		name := s.kept
		s.kept = ""
		return s.dir.Rename(name, s.base)
	}
	back, err := stage(s.place, s.old, s.old.data)
	if err != nil {
		return err
	}
	defer back.dir.Close()
	if err := back.name(); err != nil {
		return err
	}
	return back.dir.Rename(back.temp, back.base)
}

// end removes the temporary names that are left and closes the directory.
func (s *staged) end() error {
	var errs []error
	if s.unnamed != nil {
		errs = append(errs, s.unnamed.Close())
	}
	if !s.done {
		errs = append(errs, ignoreMissing(s.dir.Remove(s.temp)))
	}
	if s.kept != "" {
		errs = append(errs, ignoreMissing(s.dir.Remove(s.kept)))
	}
	return errors.Join(append(errs, s.dir.Close())...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
