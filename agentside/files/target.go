package files

import (
	"context"
	"path/filepath"
	"slices"

	"holdfast/engine/chat"
)

var _ chat.Targeter = (*Files)(nil)

// Targets gives where paths lead.
func (f *Files) Targets(ctx context.Context, paths []string) (chat.Targets, error) {
	out := chat.Targets{FoldsCase: f.foldsCase}
	for _, path := range paths {
		if ctx.Err() != nil {
			return chat.Targets{}, interrupted(path)
		}
		out.List = append(out.List, f.target(path))
	}
	return out, nil
}

func (f *Files) target(path string) chat.Target {
	p, err := f.locate(path)
	if err != nil {
		return f.beyond(path)
	}
	defer p.close()
	return chat.Target{Path: p.name(), Protected: f.isGuarded(p), Shared: p.info != nil && p.info.Mode().IsRegular() && manyNames(p.info)}
}

// beyond is where a path leads that is not in the Workspace, as far as it exists.
func (f *Files) beyond(path string) chat.Target {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(f.dir, abs)
	}
	t := chat.Target{Path: filepath.ToSlash(realPrefix(abs)), Outside: true}
	for _, dir := range f.refused {
		if _, in := inside(dir, realPrefix(abs)); in {
			t.Refused = true
		}
	}
	return t
}

// permitted holds a change against what was decided about it.
func (f *Files) permitted(p *place, l chat.Leave) error {
	if l.Targets != nil && !slices.Contains(l.Targets, p.name()) {
		return refuse("denied", p.shown, "%s leads to %s, which is not what was decided about. Nothing was changed; call it again.", p.shown, p.name())
	}
	if slices.Contains(l.Agreed, p.name()) {
		return nil
	}
	if f.isGuarded(p) {
		return protected(p)
	}
	return nil
}
