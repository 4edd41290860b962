package fs

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// lister is list_files. Its Detail is a chat.ListDetail.
type lister struct{ o Options }

var _ chat.Tool = lister{}

func (lister) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "list_files",
		Description: "List files and directories.",
		Effect:      chat.ClassRead,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"directory, default the workspace"},` +
			`"depth":{"type":"integer","description":"levels down, 1 to 5, default 2"},` +
			`"glob":{"type":"string","description":"only names like this, such as *.go or src/**"}},` +
			`"required":[]}`),
	}
}

func (l lister) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	var in struct {
		Path, Glob string
		Depth      int
	}
	if err := parse(args, &in); err != nil {
		return answer.Failure("%v", err)
	}
	if in.Path == "" {
		in.Path = "."
	}
	depth := 2
	if in.Depth != 0 {
		depth = min(max(in.Depth, 1), 5)
	}
	found, err := env.Workspace.Files().Find(ctx, chat.FindQuery{Kind: chat.FindList, Path: in.Path, Glob: in.Glob, Depth: depth,
		Limit: l.o.Entries})
	if err != nil {
		return refused(ctx, err)
	}
	text, shown := fitLines(entryLines(found.Entries), incomplete(found), env.MaxText, func(left int) string {
		return fmt.Sprintf("[%d more entries left out; give path, depth or glob]", left)
	})
	switch {
	case text == "" && in.Glob != "":
		text = "nothing found"
	case text == "":
		text = "the directory is empty"
	}
	return answer.Of(output{text}, chat.ListDetail{Path: in.Path, Entries: len(found.Entries), Shown: shown})
}

// entryLines writes one entry per line: directories end in a slash, links show where they lead.
func entryLines(entries []chat.FileEntry) []string {
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = e.Path
		switch {
		case e.Type == "dir":
			lines[i] += "/"
		case e.Type == "link" && e.Target != "":
			lines[i] += " -> " + e.Target
		}
	}
	return lines
}

// incomplete is the line that says what a listing or search left out, "" when nothing.
func incomplete(found chat.Found) string {
	if found.Incomplete == "" {
		return ""
	}
	return "[incomplete: " + found.Incomplete + "]"
}
