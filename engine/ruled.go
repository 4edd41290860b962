package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/permit"
)

const (
	toolList   = "list_files"
	toolSearch = "search_files"
	toolRead   = "read_file"
)

// ruledPlace is a Workspace whose files are held against the rules where they are opened: what a path led to when the Call was decided
// about need not be what it leads to when it runs.
type ruledPlace struct {
	chat.Workspace
	files ruledFiles
}

// Files gives them.
func (w ruledPlace) Files() chat.Files { return w.files }

// ruledFiles are the files of a Workspace as one Call may reach them.
type ruledFiles struct {
	chat.Files
	set  chat.RuleSet
	tool string
	// leave is what was decided about. approved: a person has agreed to the Call.
	leave    chat.Leave
	approved bool
	folds    bool
	// rules: a rule has a path, so that it matters which one it is.
	rules bool
	// seen collects the changes that dry runs find; nil for nobody.
	seen *[]chat.ChangedFile
}

var _ chat.Files = ruledFiles{}

// ruled is the Turn's Workspace for one Call; nil where there is none.
func (r *run) ruled(p *planned, seen *[]chat.ChangedFile) chat.Workspace {
	if r.t.workspace == nil {
		return nil
	}
	set := r.rulesFor(p)
	return ruledPlace{Workspace: r.t.workspace, files: ruledFiles{Files: r.t.workspace.Files(), set: set, tool: p.def.Name, leave: p.leave,
		approved: p.approved, folds: p.folds, rules: permit.HasPaths(set), seen: seen}}
}

// hides says whether a real path is none of the Call's business, by which rule.
func (f ruledFiles) hides(name string, tools ...string) *chat.Rule {
	if !f.rules {
		return nil
	}
	for _, tool := range tools {
		d := permit.Decide(f.set, permit.Call{Tool: tool, Paths: []string{name}, FoldsCase: f.folds, Standard: chat.PermitAllow})
		asks := d.Effect == chat.PermitAsk && d.Rule != nil && d.Rule.Path != "" && !f.approved && !slices.Contains(f.leave.Targets, name)
		if d.Rule != nil && (d.Effect == chat.PermitDeny || asks) {
			return d.Rule
		}
	}
	return nil
}

func hidden(path string, r *chat.Rule) error {
	return &chat.FileError{Kind: "denied", Path: path, Message: path + " is kept from this tool by a rule: " + r.String() + "."}
}

// Raw gives a file that no rule hides.
func (f ruledFiles) Raw(ctx context.Context, path string, max int64) (chat.RawFile, error) {
	out, err := f.Files.Raw(ctx, path, max)
	if err != nil {
		return out, err
	}
	if r := f.hides(out.Path, f.tool); r != nil {
		return chat.RawFile{}, hidden(out.Path, r)
	}
	return out, nil
}

// Lines gives lines of a file that no rule hides.
func (f ruledFiles) Lines(ctx context.Context, q chat.LinesQuery) (chat.Lines, error) {
	out, err := f.Files.Lines(ctx, q)
	if err != nil {
		return out, err
	}
	if r := f.hides(out.Path, f.tool); r != nil {
		return chat.Lines{}, hidden(out.Path, r)
	}
	return out, nil
}

// Write changes only what was decided about.
func (f ruledFiles) Write(ctx context.Context, req chat.WriteRequest) (chat.Written, error) {
	req.Leave = f.leave
	out, err := f.Files.Write(ctx, req)
	if err == nil && req.DryRun && f.seen != nil {
		*f.seen = append(*f.seen, changeOf(out.Path, out.Diff, 0, out.Created))
	}
	return out, err
}

// Edit changes only what was decided about.
func (f ruledFiles) Edit(ctx context.Context, req chat.EditRequest) ([]chat.Edited, error) {
	req.Leave = f.leave
	out, err := f.Files.Edit(ctx, req)
	if err == nil && req.DryRun && f.seen != nil {
		for _, e := range out {
			*f.seen = append(*f.seen, changeOf(e.Path, e.Diff, e.Level, false))
		}
	}
	return out, err
}

// Find leaves out what a rule hides, and says so.
func (f ruledFiles) Find(ctx context.Context, q chat.FindQuery) (chat.Found, error) {
	out, err := f.Files.Find(ctx, q)
	if err != nil {
		return out, err
	}
	tools := []string{f.tool}
	if q.Kind == chat.FindContent {
		// A search shows what a file says, as reading it does.
		tools = append(tools, toolRead)
	}
	left := 0
	out.Entries = slices.DeleteFunc(out.Entries, func(e chat.FileEntry) bool {
		hide := f.hides(e.Path, tools...) != nil
		if hide {
			left++
		}
		return hide
	})
	for i := range out.Entries {
		if e := &out.Entries[i]; e.Target != "" && f.hides(path.Join(path.Dir(e.Path), e.Target), tools...) != nil {
			e.Target = ""
		}
	}
	left += f.dropMatches(&out, tools)
	if left > 0 {
		said := fmt.Sprintf("%d left out by permission rules", left)
		out.Incomplete = strings.TrimPrefix(out.Incomplete+"; "+said, "; ")
	}
	return out, nil
}

// dropMatches leaves out the lines of files that a rule hides, and gives how many files that were.
func (f ruledFiles) dropMatches(out *chat.Found, tools []string) int {
	hides := map[string]bool{}
	out.Matches = slices.DeleteFunc(out.Matches, func(m chat.LineMatch) bool {
		hide, known := hides[m.Path]
		if !known {
			hide = f.hides(m.Path, tools...) != nil
			hides[m.Path] = hide
		}
		return hide
	})
	left := 0
	for _, hide := range hides {
		if hide {
			left++
		}
	}
	return left
}

// preview is the change that a Call would make, as its Tool plans it.
func (r *run) preview(p *planned, targets []chat.Target) []chat.ChangedFile {
	planner, plans := p.tool.(chat.Planner)
	if !plans || r.t.workspace == nil {
		return nil
	}
	var seen []chat.ChangedFile
	would := *p
	would.leave.Agreed, would.approved = agreedOf(targets), true
	env := chat.Env{ChatID: r.id, CallID: p.call.ID, Window: r.t.window, Mode: r.t.extra.mode, Workspace: r.ruled(&would, &seen), Reads: r.t.reads,
		Output: func(string) {}, Restart: func() {}, Started: func(string) error { return nil }}
	planner.Plan(r.ctx, env, p.call.Args)
	return seen
}

// changeOf counts the lines of a diff; its two header lines are none.
func changeOf(path, diff string, level int, created bool) chat.ChangedFile {
	c := chat.ChangedFile{Path: path, Diff: diff, Level: level, Created: created}
	_, hunks, _ := strings.Cut("\n"+diff, "\n@@")
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			c.Added++
		case '-':
			c.Removed++
		}
	}
	return c
}

// maxPreview bounds the diffs that a card keeps, in bytes.
const maxPreview = 32 << 10

// cutChanges shortens diffs at whole lines.
func cutChanges(files []chat.ChangedFile) {
	for i := range files {
		if room := maxPreview / len(files); len(files[i].Diff) > room {
			head := files[i].Diff[:room]
			files[i].Diff, files[i].DiffCut = head[:strings.LastIndexByte(head, '\n')+1], true
		}
	}
}
