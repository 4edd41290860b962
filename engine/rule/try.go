package rule

import (
	"context"
	"path"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/command"
	"holdfast/engine/permit"
	"holdfast/kv"
)

// Sample is a Call to try: a command for execute, or a path for any other Tool.
type Sample struct {
	Tool string
	Text string
}

// Tried is what would become of it: by Rule, which is the Number-th (from 1) of From, or as Why says. Target is where a path leads.
type Tried struct {
	Effect chat.Permission
	Rule   string
	From   string
	Why    string
	Target string
}

// TrySiteInput tries a Call under a set that need not be stored.
type TrySiteInput struct {
	chat.RuleSet
	Sample
}

// TrySite says what would become of a Call somewhere without rules of its own, in a Workspace that is neither trusted nor confined.
func (r *Room) TrySite(_ context.Context, _ chat.Principal, in TrySiteInput) (Tried, error) {
	if err := check(in.RuleSet); err != nil {
		return Tried{}, err
	}
	return try(Layers{Site: in.RuleSet}, in.Sample, nil, nil)
}

// TryWorkspaceInput tries a Call under a Workspace's set that need not be stored.
type TryWorkspaceInput struct {
	ID chat.WorkspaceID
	chat.RuleSet
	Sample
}

// TryWorkspace says what would become of a Call in a Workspace.
func (r *Room) TryWorkspace(ctx context.Context, _ chat.Principal, in TryWorkspaceInput) (Tried, error) {
	if err := check(in.RuleSet); err != nil {
		return Tried{}, err
	}
	var l Layers
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		l, err = Read(tx, in.ID, "")
		return err
	})
	if err != nil {
		return Tried{}, err
	}
	l.Workspace = in.RuleSet
	return r.tryIn(ctx, l, in.Sample, in.ID)
}

// TryChatInput tries a Call under a Chat's set that need not be stored.
type TryChatInput struct {
	ChatID chat.ID
	chat.RuleSet
	Sample
}

// TryChat says what would become of a Call in a Chat.
func (r *Room) TryChat(ctx context.Context, _ chat.Principal, in TryChatInput) (Tried, error) {
	if err := check(in.RuleSet); err != nil {
		return Tried{}, err
	}
	var l Layers
	var space chat.WorkspaceID
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		space = c.WorkspaceID
		l, err = Read(tx, space, c.RootID)
		return err
	})
	if err != nil {
		return Tried{}, err
	}
	l.Chat = in.RuleSet
	return r.tryIn(ctx, l, in.Sample, space)
}

func (r *Room) tryIn(ctx context.Context, l Layers, s Sample, id chat.WorkspaceID) (Tried, error) {
	if id == "" || r.open == nil {
		return try(l, s, nil, nil)
	}
	var rec *chat.WorkspaceRecord
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		rec, _, err = tx.Workspace(id)
		return err
	})
	if err != nil || rec == nil {
		return Tried{}, err
	}
	w, err := r.open(ctx, id)
	if err != nil {
		return Tried{}, err
	}
	targets := func(paths []string) (chat.Targets, error) {
		if t, can := w.Files().(chat.Targeter); can {
			return t.Targets(ctx, paths)
		}
		return lexical(paths), nil
	}
	where := &permit.Where{Trusted: rec.Trusted, Sandbox: chat.NoSandbox()}
	if box, can := w.(chat.Sandboxed); can {
		where.Sandbox = box.Sandbox(chat.ProfileDefault)
	}
	return try(l, s, where, targets)
}

// try decides about a sample; without a place, names are taken as they are written.
func try(l Layers, s Sample, where *permit.Where, targets func([]string) (chat.Targets, error)) (Tried, error) {
	s.Text, s.Tool = strings.TrimSpace(s.Text), strings.TrimSpace(s.Tool)
	if !toolName().MatchString(s.Tool) || s.Tool == "*" {
		return Tried{}, chat.Invalid("tool", "name one tool")
	}
	if s.Text == "" && s.Tool == "execute" {
		return Tried{}, chat.Invalid("text", "write a command to try")
	}
	if where == nil {
		where = &permit.Where{Sandbox: chat.NoSandbox()}
	}
	if targets == nil {
		targets = func(paths []string) (chat.Targets, error) { return lexical(paths), nil }
	}
	tool := strings.TrimPrefix(s.Tool, "mcp:")
	c := permit.Call{Tool: tool}
	c.Standard, c.Reason = permit.Standard(defOf(tool), *where)
	out := Tried{}
	if err := fill(&c, &out, s, targets); err != nil {
		return Tried{}, err
	}
	if out.Effect != "" {
		return out, nil
	}
	d := l.Floor(c, permit.Decide(l.Merged(), c))
	out.Effect, out.Why, out.From = d.Effect, d.Why, l.From(d.At)
	if d.Rule != nil {
		out.Rule = d.Rule.String()
	}
	return out, nil
}

// fill gives the Call what it acts on.
func fill(c *permit.Call, out *Tried, s Sample, targets func([]string) (chat.Targets, error)) error {
	names := []string{s.Text}
	if s.Tool == "execute" {
		line := command.Parse(s.Text)
		c.Line, names = &line, line.Writes
	} else if s.Text == "" || permit.Foreign(c.Tool) {
		return nil
	}
	found, err := targets(names)
	if err != nil {
		return err
	}
	c.FoldsCase = found.FoldsCase
	for _, t := range found.List {
		switch {
		case t.Refused:
			out.Effect, out.Why = chat.PermitDeny, "it belongs to the appliance"
		case t.Outside && c.Line == nil:
			out.Effect, out.Why = chat.PermitDeny, "it is not in the workspace, and files outside are never reached"
		case t.Protected && defOf(c.Tool).Effect != chat.ClassRead:
			c.Protected = Protected(t.Path)
		}
		if c.Line != nil {
			c.Targets = append(c.Targets, t.Path)
			continue
		}
		c.Paths, out.Target = append(c.Paths, t.Path), t.Path
	}
	return nil
}

// Protected is why a person is always asked about a change of a path.
func Protected(name string) string {
	return name + " decides what runs or what models are told, so a person is always asked"
}

// lexical takes names as they are written.
func lexical(paths []string) chat.Targets {
	var out chat.Targets
	for _, p := range paths {
		clean := path.Clean(p)
		out.List = append(out.List, chat.Target{Path: clean, Outside: path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../")})
	}
	return out
}

// defOf is what is known of a Tool by its name alone.
func defOf(tool string) chat.ToolDef {
	d := chat.ToolDef{Name: tool, Effect: chat.ClassRead}
	switch {
	case tool == "execute":
		d.Effect, d.NeedsApproval = chat.ClassEffect, true
	case tool == "write_file" || tool == "edit_files":
		d.Effect = chat.ClassChecked
	case permit.Foreign(tool):
		d.Effect, d.NeedsApproval = chat.ClassEffect, true
	}
	return d
}
