package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// searcher is search_files. Its Detail is a chat.SearchDetail.
type searcher struct{ o Options }

var _ chat.Tool = searcher{}

func (searcher) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "search_files",
		Description: "Search file contents by regular expression, or file names by glob.",
		Effect:      chat.ClassRead,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"regular expression (RE2) for content, glob for name"},` +
			`"path":{"type":"string","description":"where to search, default the workspace"},` +
			`"kind":{"type":"string","enum":["content","name"]},` +
			`"ignore_case":{"type":"boolean"},` +
			`"context":{"type":"integer","description":"lines around each match, 0 to 5"}},` +
			`"required":["pattern","kind"]}`),
	}
}

func (s searcher) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	var in struct {
		Pattern, Path, Kind string
		IgnoreCase          bool `json:"ignore_case"`
		Context             int
	}
	if err := parse(args, &in); err != nil {
		return answer.Failure("%v", err)
	}
	if in.Pattern == "" {
		return answer.Failure("The pattern is empty. Give a regular expression, or a glob for kind name.")
	}
	where := in.Path
	if where == "" {
		where = "."
	}
	found, err := env.Workspace.Files().Find(ctx, chat.FindQuery{Kind: chat.FindKind(in.Kind), Path: where, Pattern: in.Pattern,
		IgnoreCase: in.IgnoreCase, Context: min(max(in.Context, 0), 5), Limit: s.o.Matches})
	if err != nil {
		return refused(ctx, err)
	}
	detail := chat.SearchDetail{Pattern: in.Pattern, Kind: in.Kind, Path: in.Path, Incomplete: found.Incomplete}
	lines := matchLines(found.Matches)
	if in.Kind == string(chat.FindName) {
		lines = entryLines(found.Entries)
	}
	if len(lines) == 0 {
		lines = []string{"nothing found"}
	}
	text, shown := fitLines(lines, incomplete(found), env.MaxText, func(left int) string {
		return fmt.Sprintf("[%d more lines left out; give path or a narrower pattern]", left)
	})
	count(&detail, found, shown)
	return answer.Of(output{text}, detail)
}

// count fills in how many matches there are and how many of them stand in the first lines that are shown.
func count(d *chat.SearchDetail, found chat.Found, shown int) {
	if d.Kind == string(chat.FindName) {
		d.Matches, d.Files = len(found.Entries), len(found.Entries)
		d.Shown = min(shown, len(found.Entries))
		return
	}
	files := map[string]bool{}
	line := 0
	for i, m := range found.Matches {
		if i > 0 && gap(found.Matches[i-1], m) {
			line++
		}
		line++
		if m.Context {
			continue
		}
		d.Matches++
		files[m.Path] = true
		if line <= shown {
			d.Shown++
		}
	}
	d.Files = len(files)
}

// matchLines writes matches as "path:line: text" and the lines around them as "path-line- text", groups apart by "--".
func matchLines(matches []chat.LineMatch) []string {
	var lines []string
	for i, m := range matches {
		if i > 0 && gap(matches[i-1], m) {
			lines = append(lines, "--")
		}
		mark := ":"
		if m.Context {
			mark = "-"
		}
		lines = append(lines, m.Path+mark+strconv.Itoa(m.Line)+mark+" "+m.Text)
	}
	return lines
}

// gap says that lines are missing between a and b where at least one of them is only context.
func gap(a, b chat.LineMatch) bool {
	return (a.Context || b.Context) && (a.Path != b.Path || b.Line != a.Line+1)
}
