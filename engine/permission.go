package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/command"
	"holdfast/engine/permit"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// ruling are the permission rules of a Turn, merged once.
type ruling struct {
	layers rule.Layers
	set    chat.RuleSet
}

// decide finds out whether a Call runs, is refused or waits for a person. prior is the Call as it was outstanding, nil for a new one: what
// a person allowed runs if it is still what they were shown, and is asked about anew if it is not.
func (r *run) decide(p *planned, prior *chat.OutstandingCall) error {
	if p.refused != nil {
		return nil
	}
	agreed := prior != nil && prior.Decision == decisionAllow && (prior.Asked != nil || prior.Command != "")
	c, targets, refusal, err := r.question(p)
	if err != nil {
		return err
	}
	if refusal != "" {
		return r.deny(p, refusal)
	}
	set := r.rulesFor(p)
	d := permit.Decide(set, c)
	if hasDefault(p.def) {
		d = r.t.extra.place.rules.layers.Floor(c, d)
	}
	p.leave, p.folds = chat.Leave{Targets: targetNames(targets)}, c.FoldsCase
	switch {
	case d.Effect == chat.PermitDeny:
		if err := r.noteDenial(p); err != nil {
			return err
		}
		return r.deny(p, r.denial(d))
	case d.Effect == chat.PermitAllow || p.def.Client:
		return r.decideSetup(p, agreed)
	}
	if _, err := r.asksSetup(p); err != nil {
		return err
	}
	p.asked = r.asking(p, c, d, set, targets)
	if !agreed || prior.Asked == nil {
		return r.ask(p)
	}
	if p.asked.Shown != prior.Asked.Shown {
		p.asked.Again = changedSince(prior.Asked, p.asked)
		return r.ask(p)
	}
	p.asked, p.leave.Agreed, p.approved = prior.Asked, agreedOf(targets), true
	return nil
}

// decideSetup looks whether a Call would run a setup that a person has to agree to.
func (r *run) decideSetup(p *planned, agreed bool) error {
	if agreed {
		return nil
	}
	asks, err := r.asksSetup(p)
	if err != nil || !asks {
		return err
	}
	p.asked = &chat.Asked{Why: "Its template runs this command once in it, before anything else. A person decides about that."}
	return r.ask(p)
}

// ask makes the Call wait for a person; where nobody can be asked it is denied.
func (r *run) ask(p *planned) error {
	if r.t.chat.Unattended {
		return r.deny(p, "denied: a person would have to agree to this call ("+strings.TrimSuffix(p.asked.Why, ".")+"), and nobody can be asked in this chat")
	}
	p.ask = true
	return nil
}

func (r *run) deny(p *planned, text string) error {
	f := failedResult(p.call, text, r.e.now().UTC())
	p.refused = &f
	return nil
}

// noteDenial writes into the audit that a rule denied a Call.
func (r *run) noteDenial(p *planned) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	sum := sha256.Sum256(p.call.Args)
	a := chat.Audit{At: r.e.now().UTC(), UserID: r.t.chat.OwnerID, Action: chat.AuditToolDenied, Object: string(r.id),
		Facts: map[string]string{"tool": p.call.Name, "call": p.call.ID, "arguments_sha256": hex.EncodeToString(sum[:])}}
	return r.fenced(ctx, func(tx *kv.Tx) error { return tx.AppendAudit(a) })
}

// denial tells the model which rule it was; it may go on.
func (r *run) denial(d permit.Decision) string {
	if d.Rule == nil {
		return "denied: " + d.Why + ". Nothing was done."
	}
	return "denied by a rule of " + r.t.extra.place.rules.layers.From(d.At) + ": " + d.Rule.String() + ". Nothing was done."
}

// rulesFor are the Turn's rules as they count for a Call. In plan mode nothing that was allowed before lets a command change things.
func (r *run) rulesFor(p *planned) chat.RuleSet {
	t := &r.t
	set := t.extra.place.rules.set
	if !hasDefault(p.def) {
		set.Default = ""
	}
	if t.plansUnconfined(p.def) {
		set.Default = ""
		set.Rules = slices.DeleteFunc(slices.Clone(set.Rules), func(u chat.Rule) bool { return u.Effect == chat.PermitAllow })
	}
	return set
}

// hasDefault says whether a default is about a Tool: asking a person, or starting a sub-agent, is no such effect.
func hasDefault(d chat.ToolDef) bool { return d.Workspace || d.NeedsApproval || permit.Foreign(d.Name) }

// question is the Call as rules see it, and where its paths lead. A refusal is about what no rule lets anybody reach.
func (r *run) question(p *planned) (c permit.Call, targets []chat.Target, refusal string, err error) {
	t := &r.t
	c = permit.Call{Tool: p.def.Name}
	c.Standard, c.Reason = permit.Standard(p.def, t.where())
	if t.plansUnconfined(p.def) {
		c.Standard, c.Reason = chat.PermitAsk, "in plan mode nothing should change, and a command can"
	}
	names := r.names(p, &c)
	if len(names) == 0 || t.workspace == nil || p.def.Effect == chat.ClassRead && !permit.HasPaths(t.extra.place.rules.set) {
		return c, nil, "", nil
	}
	found, err := targetsOf(r.ctx, t.workspace, names)
	if err != nil {
		return c, nil, "the call was not started, because where its paths lead could not be found out: " + why(err), nil
	}
	c.FoldsCase, targets = found.FoldsCase, []chat.Target{}
	for _, target := range found.List {
		switch {
		case target.Refused:
			return c, nil, "denied: " + target.Path + " belongs to the appliance or its agent and is never reached. Nothing was done.", nil
		case target.Outside && c.Line == nil:
			// Files are never reached outside, and the Tool says so better.
			continue
		case target.Protected && p.def.Effect != chat.ClassRead:
			c.Protected = cmp.Or(c.Protected, rule.Protected(target.Path))
		case target.Shared && p.def.Effect == chat.ClassChecked:
			c.Protected = cmp.Or(c.Protected, target.Path+" has other names too, perhaps outside of the workspace, so a person is always asked")
		}
		targets = append(targets, target)
		if c.Line != nil {
			c.Targets = append(c.Targets, target.Path)
		} else {
			c.Paths = append(c.Paths, target.Path)
		}
	}
	return c, targets, "", nil
}

// names are the paths that a Call names: those of its arguments, or the files that its command writes.
func (r *run) names(p *planned, c *permit.Call) []string {
	switch {
	case p.def.Name == toolExecute:
		var in struct{ Command, Workdir string }
		// Arguments that do not fit were refused before.
		_ = json.Unmarshal(p.call.Args, &in)
		line := command.Parse(in.Command)
		c.Line = &line
		var names []string
		for _, w := range line.Writes {
			if !filepath.IsAbs(w) {
				w = filepath.Join(in.Workdir, w)
			}
			names = append(names, w)
		}
		return names
	case !p.def.Workspace || permit.Foreign(p.def.Name):
		return nil
	case p.def.Effect == chat.ClassRead && (p.def.Name == toolList || p.def.Name == toolSearch):
		if names := pathsOf(p.call.Args); len(names) > 0 && names[0] != "" {
			return names
		}
		return []string{"."}
	}
	return pathsOf(p.call.Args)
}

// targetsOf asks the Workspace where names lead. One that cannot say is taken by the names, none of them protected.
func targetsOf(ctx context.Context, w chat.Workspace, names []string) (chat.Targets, error) {
	if t, can := w.Files().(chat.Targeter); can {
		return t.Targets(ctx, names)
	}
	return chat.Targets{}, &chat.Error{Kind: chat.KindUnavailable, Message: "The workspace does not say where paths lead."}
}

// why is what a Workspace says of a failure.
func why(err error) string {
	var f *chat.FileError
	if errors.As(err, &f) {
		return f.Message
	}
	return told(err)
}

// targetNames gives the real paths, nil where none was looked at.
func targetNames(targets []chat.Target) []string {
	if targets == nil {
		return nil
	}
	out := []string{}
	for _, t := range targets {
		out = append(out, t.Path)
	}
	return out
}

// agreedOf are the places that a person agreed to although they ask always.
func agreedOf(targets []chat.Target) []string {
	var out []string
	for _, t := range targets {
		if t.Protected || t.Shared {
			out = append(out, t.Path)
		}
	}
	return out
}

// asking is what the card of a Call shows.
func (r *run) asking(p *planned, c permit.Call, d permit.Decision, set chat.RuleSet, targets []chat.Target) *chat.Asked {
	t := &r.t
	a := &chat.Asked{Why: sentenceOf(d.Why), Targets: targets}
	if d.Rule != nil {
		u := *d.Rule
		a.Rule, a.Why = &u, "A rule of "+t.extra.place.rules.layers.From(d.At)+" says so: "+u.String()+"."
	}
	if p.def.Name == toolExecute {
		var in struct{ Workdir string }
		_ = json.Unmarshal(p.call.Args, &in)
		if a.Directory = in.Workdir; t.record != nil && !filepath.IsAbs(in.Workdir) {
			a.Directory = filepath.Join(t.record.Directory, in.Workdir)
		}
		box := t.where().Sandbox
		if t.extra.mode == chat.ModePlan {
			box = t.sandbox(chat.ProfileReadOnly)
		}
		a.Sandbox = &box
	}
	if !t.plansUnconfined(p.def) {
		a.Offer = permit.Offer(set, c)
		a.Always = len(a.Offer) > 0 && t.record != nil
	}
	a.Files = r.preview(p, targets)
	sum, err := json.Marshal([]any{p.call.Name, p.call.Args, a.Directory, a.Targets, a.Files, a.Sandbox})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	hash := sha256.Sum256(sum)
	a.Shown = hex.EncodeToString(hash[:8])
	cutChanges(a.Files)
	return a
}

// changedSince says what is not as it was when a person allowed it.
func changedSince(was, is *chat.Asked) string {
	switch {
	case !slices.Equal(was.Targets, is.Targets):
		return "It leads to another file than when it was allowed."
	case !slices.Equal(was.Files, is.Files):
		return "The file has changed since it was allowed, so the change would be another one."
	case was.Sandbox != nil && is.Sandbox != nil && (was.Sandbox.Level != is.Sandbox.Level || was.Sandbox.Profile != is.Sandbox.Profile):
		return "What confines the command has changed since it was allowed."
	}
	return "It has changed since it was allowed."
}

func sentenceOf(why string) string {
	if why == "" {
		return ""
	}
	return strings.ToUpper(why[:1]) + strings.TrimSuffix(why[1:], ".") + "."
}

// where is what is known of the Turn's place.
func (t *turn) where() permit.Where {
	return permit.Where{Trusted: t.record != nil && t.record.Trusted, Sandbox: t.sandbox(chat.ProfileDefault)}
}

// sandbox is what would confine a command with this profile.
func (t *turn) sandbox(p chat.Profile) chat.Sandbox {
	if w, can := t.workspace.(chat.Sandboxed); can {
		return w.Sandbox(p)
	}
	return chat.NoSandbox()
}

// plansUnconfined: in plan mode this Tool could change something, because no sandbox keeps it from that.
func (t *turn) plansUnconfined(d chat.ToolDef) bool {
	return t.extra.mode == chat.ModePlan && (d.Name == toolExecute || d.Name == toolOutput) && !t.sandbox(chat.ProfileReadOnly).Full()
}
