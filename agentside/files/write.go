package files

import (
	"context"
	"strings"

	"holdfast/engine/chat"
)

// Write creates or replaces a file of at most 10 MiB, or removes it. The same content again writes nothing.
func (f *Files) Write(ctx context.Context, req chat.WriteRequest) (chat.Written, error) {
	if req.Remove && (req.IfMatch == "" || len(req.Content) > 0) {
		return chat.Written{}, refuse("invalid", req.Path, "Removing %s needs the hash of what is there, and no content.", req.Path)
	}
	if len(req.Content) > maxContent {
		return chat.Written{}, tooLarge(req.Path, int64(len(req.Content)), maxContent)
	}
	p, leave, err := f.enter(ctx, req.Path)
	if err != nil {
		return chat.Written{}, err
	}
	defer leave()
	defer p.close()
	if err := f.writable(p, req.Leave); err != nil {
		return chat.Written{}, err
	}
	old, err := p.found(ctx)
	if err != nil {
		return chat.Written{}, err
	}
	if req.Remove && old.info == nil {
		return chat.Written{}, refuse("not_found", p.shown, "There is no file %s.", p.shown)
	}
	if req.IfMatch != "" && req.IfMatch != old.hash {
		return chat.Written{}, changed(p.shown)
	}
	if req.Remove {
		return f.remove(p, old, req.DryRun)
	}
	answer := chat.Written{Path: p.name(), Created: old.info == nil, BeforeHash: old.hash, Hash: hashOf(req.Content),
		Diff: unified(p.shown, old.data, req.Content)}
	if req.DryRun || answer.Hash == old.hash {
		return answer, nil
	}
	if err := f.replace(ctx, []change{{place: p, old: old, data: req.Content}}); err != nil {
		return chat.Written{}, err
	}
	return answer, nil
}

// remove deletes a file that is as it was found. The directories it lies in stay, and so do links to it.
func (f *Files) remove(p *place, old before, dryRun bool) (chat.Written, error) {
	answer := chat.Written{Path: p.name(), BeforeHash: old.hash, Diff: unified(p.shown, old.data, nil)}
	if dryRun {
		return answer, nil
	}
	s, err := beside(p, old)
	if err != nil {
		return chat.Written{}, err
	}
	defer s.dir.Close()
	if err := s.unchanged(); err != nil {
		return chat.Written{}, err
	}
	if err := s.dir.Remove(s.base); err != nil {
		return chat.Written{}, osRefusal(p.shown, "remove", err)
	}
	f.changed()
	return answer, nil
}

// enter locates a path and waits for its turn; whoever had the turn may have changed where the path leads.
func (f *Files) enter(ctx context.Context, path string) (*place, func(), error) {
	first, err := f.locate(path)
	if err != nil {
		return nil, nil, err
	}
	first.close()
	leave, err := f.gate.enter(ctx, first.abs())
	if err != nil {
		return nil, nil, interrupted(path)
	}
	p, err := f.locate(path)
	if err != nil {
		leave()
		return nil, nil, err
	}
	if p.abs() != first.abs() {
		p.close()
		leave()
		return nil, nil, changed(path)
	}
	return p, leave, nil
}

// writable refuses places that must not be written, whether there is something or not, and those that nobody decided about.
func (f *Files) writable(p *place, l chat.Leave) error {
	if p.temp {
		return refuse("permission", p.shown, "%s can be read but not written.", p.shown)
	}
	if err := f.permitted(p, l); err != nil {
		return err
	}
	if p.rel == "." || p.info == nil && strings.HasSuffix(p.shown, "/") {
		return refuse("is_directory", p.shown, "%s is a directory, not a file.", p.shown)
	}
	if p.info == nil {
		return nil
	}
	if err := p.wantRegular(p.info); err != nil {
		return err
	}
	// A rename would replace it all the same; the mark is somebody's wish.
	if p.info.Mode().Perm()&0o222 == 0 {
		return refuse("permission", p.shown, "%s is marked read-only and was left alone.", p.shown)
	}
	return nil
}

// change is a new content for a place.
type change struct {
	place *place
	old   before
	data  []byte
}

// replace puts all changes in place or none: first every temporary file, then every rename; a rename that fails puts back those
// that were done.
func (f *Files) replace(ctx context.Context, changes []change) (err error) {
	var all []*staged
	defer func() {
		for _, s := range all {
			if endErr := s.end(); endErr != nil && err == nil {
				err = refuse("invalid", s.place.shown, "%s was written, but a temporary file beside it could not be removed: %s.",
					s.place.shown, cause(endErr))
			}
		}
	}()
	for _, c := range changes {
		if ctx.Err() != nil {
			return interrupted(c.place.shown)
		}
		s, err := stage(c.place, c.old, c.data)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	for _, s := range all {
		f.looked.sweep(s, f.now())
	}
	if len(all) > 1 {
		for _, s := range all {
			s.keep()
		}
	}
	for i, s := range all {
		if err := s.commit(f.rename); err != nil {
			return putBack(all[:i], err)
		}
	}
	if len(all) > 0 {
		f.changed()
	}
	return nil
}

func putBack(done []*staged, why error) error {
	for _, s := range done {
		if err := s.restore(); err != nil {
			return refuse("invalid", s.place.shown, "%s Putting back %s failed too (%s): look at it before going on.",
				why.Error(), s.place.shown, cause(err))
		}
	}
	return why
}
