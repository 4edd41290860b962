package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
)

const (
	maxEditFiles = 20
	maxEdits     = 100
)

// editing is one file on its way through Edit.
type editing struct {
	req   chat.FileEdits
	place *place
	old   before
	after []byte
	level int
}

// Edit applies searches and replacements to at most 20 files with 100 edits in all, none of them when one fails. Edits of one
// path that is named twice are merged in order.
func (f *Files) Edit(ctx context.Context, req chat.EditRequest) ([]chat.Edited, error) {
	all, err := f.merge(req.Files)
	if err != nil {
		return nil, err
	}
	leave, err := f.enterAll(ctx, all)
	defer closeAll(all)
	if err != nil {
		return nil, err
	}
	defer leave()
	var failures []*chat.FileError
	for _, e := range all {
		if failure := f.compute(ctx, e, req.Leave); failure != nil {
			failures = append(failures, failure)
		}
	}
	if len(failures) > 0 {
		return nil, joined(failures)
	}
	if !req.DryRun {
		if err := f.replace(ctx, changesOf(all)); err != nil {
			return nil, err
		}
	}
	var answer []chat.Edited
	for _, e := range all {
		answer = append(answer, chat.Edited{Path: e.place.name(), BeforeHash: e.old.hash, Hash: hashOf(e.after), Level: e.level,
			Diff: unified(e.req.Path, e.old.data, e.after), Before: e.old.data})
	}
	return answer, nil
}

func (f *Files) merge(files []chat.FileEdits) ([]*editing, error) {
	if len(files) == 0 || len(files) > maxEditFiles {
		return nil, refuse("invalid", "", "An edit needs 1 to %d files; this one has %d.", maxEditFiles, len(files))
	}
	var all []*editing
	byPath := map[string]*editing{}
	edits := 0
	for _, file := range files {
		edits += len(file.Edits)
		if len(file.Edits) == 0 {
			return nil, refuse("invalid", file.Path, "There are no edits for %s.", file.Path)
		}
		key := f.plain(file.Path)
		first := byPath[key]
		if first == nil {
			byPath[key] = &editing{req: chat.FileEdits{Path: file.Path, IfMatch: file.IfMatch, Edits: append([]chat.TextEdit(nil), file.Edits...)}}
			all = append(all, byPath[key])
			continue
		}
		if first.req.IfMatch != "" && file.IfMatch != "" && first.req.IfMatch != file.IfMatch {
			return nil, refuse("invalid", file.Path, "%s is named twice with different hashes to match.", file.Path)
		}
		first.req.IfMatch = max(first.req.IfMatch, file.IfMatch)
		first.req.Edits = append(first.req.Edits, file.Edits...)
	}
	if edits > maxEdits {
		return nil, refuse("invalid", "", "There are %d edits; at most %d can be made at once.", edits, maxEdits)
	}
	return all, nil
}

// plain is a path as written, relative to the Workspace and without idle dots; "..", which links can bend, stays.
func (f *Files) plain(path string) string {
	if rel, ok := inside(f.dir, path); ok {
		path = rel
	}
	if strings.Contains(path, "..") {
		return path
	}
	return filepath.Clean(path)
}

// enterAll locates all files and waits for their turns. On an error nothing is held, but places may be open.
func (f *Files) enterAll(ctx context.Context, all []*editing) (leave func(), err error) {
	var reals []string
	var failures []*chat.FileError
	for _, e := range all {
		p, err := f.locate(e.req.Path)
		if err != nil {
			failures = append(failures, asRefusal(e.req.Path, err))
			continue
		}
		reals = append(reals, p.abs())
		p.close()
	}
	if len(failures) > 0 {
		return nil, joined(failures)
	}
	leave, err = f.gate.enter(ctx, reals...)
	if err != nil {
		return nil, interrupted(all[0].req.Path)
	}
	for i, e := range all {
		p, err := f.locate(e.req.Path)
		if err == nil {
			e.place = p
		}
		if err == nil && p.abs() != reals[i] {
			err = changed(e.req.Path)
		}
		for _, other := range all[:i] {
			if err == nil && sameFile(other.place, p) {
				err = refuse("invalid", e.req.Path, "%s and %s are the same file. Give all its edits under one name.", other.req.Path, e.req.Path)
			}
		}
		if err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

func sameFile(a, b *place) bool {
	return a.abs() == b.abs() || a.info != nil && b.info != nil && os.SameFile(a.info, b.info)
}

func closeAll(all []*editing) {
	for _, e := range all {
		if e.place != nil {
			e.place.close()
		}
	}
}

// compute makes a file's new content in memory.
func (f *Files) compute(ctx context.Context, e *editing, l chat.Leave) *chat.FileError {
	path := e.req.Path
	if err := f.writable(e.place, l); err != nil {
		return asRefusal(path, err)
	}
	if err := e.place.wantRegular(e.place.info); err != nil {
		return asRefusal(path, err)
	}
	old, err := e.place.found(ctx)
	if err != nil {
		return asRefusal(path, err)
	}
	if len(old.data) > maxContent {
		return tooLarge(path, int64(len(old.data)), maxContent)
	}
	if !isText(old.data) {
		return binary(path, old.data, int64(len(old.data)))
	}
	if e.req.IfMatch != "" && e.req.IfMatch != old.hash {
		return changed(path)
	}
	e.old = old
	text := string(old.data)
	for i, edit := range e.req.Edits {
		if ctx.Err() != nil {
			return interrupted(path)
		}
		after, level, miss := apply(text, edit)
		if miss != nil {
			return miss.refusal(path, i, len(e.req.Edits))
		}
		text, e.level = after, max(e.level, level)
	}
	e.after = []byte(text)
	return nil
}

func changesOf(all []*editing) []change {
	var changes []change
	for _, e := range all {
		if string(e.after) != string(e.old.data) {
			changes = append(changes, change{place: e.place, old: e.old, data: e.after})
		}
	}
	return changes
}

// joined is one refusal for several files: all sentences, and the kind that weighs most.
func joined(failures []*chat.FileError) *chat.FileError {
	first := failures[0]
	var texts []string
	for _, failure := range failures {
		texts = append(texts, failure.Message)
		if weight(failure.Kind) > weight(first.Kind) {
			first = failure
		}
	}
	return &chat.FileError{Kind: first.Kind, Path: first.Path, Message: strings.Join(texts, "\n")}
}

func weight(kind string) int {
	switch kind {
	case "not_found":
		return 3
	case "outside_workspace", "permission", "protected", "denied":
		return 2
	case "changed":
		return 1
	}
	return 0
}

func asRefusal(path string, err error) *chat.FileError {
	return osRefusal(path, "use", err)
}
