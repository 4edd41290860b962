package engine

import (
	"context"
	"path"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// guideNames are the instruction files of a directory, the first that is there counts before the others.
var guideNames = []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"}

// fileTools touch the directories that their arguments name.
var fileTools = map[string]bool{"read_file": true, "write_file": true, "edit_files": true, "list_files": true, "search_files": true}

// maxGuideFile is how much of an instruction file below the Workspace's directory is looked at.
const maxGuideFile = 1 << 20

// guide adds, behind a Step, what the Turn should know of its Workspace since: instructions of directories that Tools have touched, and a
// context that a person has pinned meanwhile.
func (r *run) guide(plan []planned, results []*chat.Part) error {
	if r.t.workspace == nil {
		return nil
	}
	if err := r.tellContext(); err != nil {
		return err
	}
	for i := range plan {
		if !fileTools[plan[i].def.Name] || results[i] == nil || results[i].IsError {
			continue
		}
		for _, name := range pathsOf(plan[i].call.Args) {
			if err := r.guideTo(r.t.relative(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// guideTo adds the instructions of the directories from the Workspace's down to a file's, each once.
func (r *run) guideTo(file string) error {
	if file == "." || strings.HasPrefix(file, "../") || file == ".." || path.IsAbs(file) {
		return nil
	}
	if r.t.extra.guided.seen == nil {
		r.t.extra.guided.seen = map[string]bool{}
	}
	var dirs []string
	// The last name may be a directory itself: list and search take those.
	for dir := file; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if !r.t.extra.guided.seen[dir] {
			dirs = append(dirs, dir)
		}
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		r.t.extra.guided.seen[dir] = true
		for _, name := range guideNames {
			if err := r.guideBy(path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// guideBy adds one instruction file, if it is there, within the Workspace, and not in the prompt already.
func (r *run) guideBy(file string) error {
	t := &r.t
	raw, err := t.workspace.Files().Raw(r.ctx, file, maxGuideFile)
	if r.interrupted() {
		return context.Cause(r.ctx)
	}
	if err != nil {
		// A file that is not there is the rule; one that cannot be read, the model meets when it reads it.
		return nil
	}
	if path.Base(raw.Path) != path.Base(file) && !slices.Contains(guideNames, path.Base(raw.Path)) {
		// A name in other letters, or a link to what is no instruction file.
		return nil
	}
	in := r.promptInput()
	if r.hasGuide(in, raw.Path) {
		return nil
	}
	part := prompt.NestedGuide(raw.Path, raw.Bytes, prompt.GuideRoom(in))
	if part.Content == "" {
		return nil
	}
	t.notes = append(t.notes, chat.Message{Role: chat.RoleUser, Visibility: chat.VisibleModel, ContentVersion: 1, Content: []chat.Part{part}})
	return nil
}

// hasGuide says whether the prompt has an instruction file, by its path below the Workspace's directory.
func (r *run) hasGuide(in prompt.Input, file string) bool {
	for _, p := range prompt.Nested(in.Messages) {
		if p.Path == file {
			return true
		}
	}
	if in.Snapshot == nil {
		return false
	}
	for _, res := range in.Snapshot.Resources {
		if res.Kind == chat.ResourceInstructionFile && res.Status == chat.ResourceOK && r.t.relative(res.Source) == file {
			return true
		}
	}
	return false
}

// tellContext tells the model once of a context that a person pinned during the Turn: the new instructions, and what else has changed. The
// next Turn has it in its system text.
func (r *run) tellContext() error {
	t := &r.t
	next := t.chat.NextContext
	if next == nil || t.extra.guided.told == next.Address || t.chat.Context != nil && t.chat.Context.Address == next.Address {
		return nil
	}
	t.extra.guided.told = next.Address
	if toldOf(t.history, next) {
		return nil
	}
	var now *chat.SnapshotRecord
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
		now, _, err = tx.Snapshot(t.record.ID, next.Address, true)
		return err
	})
	if err != nil || now == nil {
		return err
	}
	text := prompt.ContextNews(t.extra.guided.snapshot, &now.Snapshot, t.record.Directory, t.window)
	if text == "" {
		return nil
	}
	t.notes = append(t.notes, chat.Message{Role: chat.RoleSystem, Visibility: chat.VisibleModel, ContentVersion: 1,
		Content: []chat.Part{{Type: chat.PartText, Name: prompt.KindContext, Title: next.Address.String(), Text: text}}})
	return nil
}

// toldOf says whether the history tells of a pinned context already: a Turn that was interrupted by a card goes on in another run.
func toldOf(history []*chat.Message, pin *chat.ContextPin) bool {
	return slices.ContainsFunc(history, func(m *chat.Message) bool {
		return slices.ContainsFunc(m.Content, func(p chat.Part) bool { return p.Name == prompt.KindContext && p.Title == pin.Address.String() })
	})
}
