package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// editor is edit_files. Its Detail is a chat.ChangeDetail, files in the order of the Call, each once.
type editor struct{ o Options }

var (
	_ chat.Tool    = editor{}
	_ chat.Planner = editor{}
)

func (editor) Def() chat.ToolDef {
	return chat.ToolDef{
		Name: "edit_files",
		Description: "Change files by exact search and replace. All edits succeed or none. search must occur once unless " +
			"replace_all.",
		Short:     "Change files by search and replace. search must occur once.",
		Effect:    chat.ClassChecked,
		Writes:    true,
		Workspace: true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"files":{"type":"array","items":{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},` +
			`"edits":{"type":"array","items":{"type":"object","properties":{` +
			`"search":{"type":"string","description":"text in the file, without line numbers"},` +
			`"replace":{"type":"string","description":"text to put there"},` +
			`"replace_all":{"type":"boolean","description":"replace every occurrence"}},` +
			`"required":["search","replace"]}}},` +
			`"required":["path","edits"]}}},` +
			`"required":["files"]}`),
	}
}

// requested parses the arguments; refusal is the answer where they are out of bounds.
func (e editor) requested(env chat.Env, args json.RawMessage) (files []chat.FileEdits, refusal *chat.Result) {
	refuse := func(format string, a ...any) ([]chat.FileEdits, *chat.Result) {
		r := answer.Failure(format, a...)
		return nil, &r
	}
	if env.Workspace == nil {
		return refuse(answer.NoWorkspace)
	}
	var in struct {
		Files []struct {
			Path  string
			Edits []struct {
				Search, Replace string
				All             bool `json:"replace_all"`
			}
		}
	}
	if err := parse(args, &in); err != nil {
		return refuse("%v", err)
	}
	edits := 0
	for _, f := range in.Files {
		fe := chat.FileEdits{Path: f.Path}
		for _, t := range f.Edits {
			fe.Edits = append(fe.Edits, chat.TextEdit{Search: t.Search, Replace: t.Replace, All: t.All})
		}
		if len(fe.Edits) == 0 {
			return refuse("No edits are given for %s. Give at least one search and replace.", f.Path)
		}
		edits += len(fe.Edits)
		files = append(files, fe)
	}
	if len(files) == 0 {
		return refuse("No files are given. Give at least one path with its edits.")
	}
	if len(files) > e.o.EditFiles || edits > e.o.Edits {
		return refuse("These are %d files and %d edits; at most %d files and %d edits can be changed at once. Nothing was changed; "+
			"make several calls.", len(files), edits, e.o.EditFiles, e.o.Edits)
	}
	return files, nil
}

// Plan keeps the bytes of all files as they are now. It gives no change where Run would refuse.
func (e editor) Plan(ctx context.Context, env chat.Env, args json.RawMessage) []chat.FileChange {
	files, refusal := e.requested(env, args)
	if refusal != nil {
		return nil
	}
	would, err := env.Workspace.Files().Edit(ctx, chat.EditRequest{Files: files, DryRun: true})
	if err != nil {
		return nil
	}
	changes := make([]chat.FileChange, len(would))
	for i, w := range would {
		if standingOf(env.Reads, w.Path, w.BeforeHash) == stale {
			return nil
		}
		changes[i] = chat.FileChange{Path: w.Path, Existed: true, Before: append([]byte{}, w.Before...), BeforeHash: w.BeforeHash,
			AfterHash: w.Hash}
	}
	return changes
}

func (e editor) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	files, refusal := e.requested(env, args)
	if refusal != nil {
		return *refusal
	}
	// A search that misses because the file is not what the model believes must say so, and not that the search is wrong.
	hashes, problems := staleFiles(ctx, env, e.o, files)
	if len(problems) > 0 {
		return answer.Failure("%s Nothing was changed.", strings.Join(problems, " "))
	}
	for i := range files {
		files[i].IfMatch = hashes[i]
	}
	did, err := env.Workspace.Files().Edit(ctx, chat.EditRequest{Files: files})
	var fe *chat.FileError
	if errors.As(err, &fe) && fe.Kind == "changed" {
		return answer.Failure("%s Nothing was changed.", changedSince(fe.Path))
	}
	if errors.As(err, &fe) && ctx.Err() == nil {
		return answer.Failure("%s Nothing was changed.", fe.Message)
	}
	if err != nil {
		return refused(ctx, err)
	}
	lines := make([]string, len(did))
	detail := chat.ChangeDetail{Files: make([]chat.ChangedFile, len(did))}
	for i, d := range did {
		env.Reads.Note(d.Path, d.Hash)
		detail.Files[i] = changed(d.Path, d.Diff, d.Level, false)
		lines[i] = editLine(detail.Files[i])
	}
	cutDiffs(detail.Files, e.o.DiffBytes)
	text, _ := fitLines(lines, "", env.MaxText, func(left int) string { return fmt.Sprintf("[%d more files changed]", left) })
	return answer.Of(output{text}, detail)
}

// editLine tells the model what became of one file.
func editLine(c chat.ChangedFile) string {
	line := fmt.Sprintf("%s: %d lines added, %d removed", c.Path, c.Added, c.Removed)
	if c.Added == 0 && c.Removed == 0 {
		line = c.Path + ": unchanged, the replacement is what was there"
	}
	switch c.Level {
	case 1:
		line += " (the search matched with trailing blanks ignored)"
	case 2:
		line += " (the search matched with indentation ignored)"
	}
	return line
}
