package workspace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// MakeInput makes a Workspace from a Template. An empty Name is the Template's. Branch is where a clone or worktree begins.
type MakeInput struct {
	TemplateID chat.TemplateID
	Name       string
	Branch     string
	// ForModel: a model asks, so the Template must allow that. Setup, unless nil, is the script that somebody agreed to.
	ForModel bool    `json:"-"`
	Setup    *string `json:"-"`
	// ChatID is the Chat that it is for.
	ChatID chat.ID `json:"-"`
}

// BuildOptions say how a Workspace is built. Log gets what happens, in pieces. Setup, unless nil, is the script for another try of one whose
// setup failed; else the same one runs again.
type BuildOptions struct {
	Setup *string
	Log   func(string)
}

// ForModels gives the Templates that the models of a person may use, by name.
func ForModels(tx *kv.Tx, p chat.Principal) ([]chat.Template, error) {
	all, err := Templates(tx)
	return slices.DeleteFunc(all, func(t chat.Template) bool { return !t.AllowAgents || !usable(t, p) }), err
}

// SetupOf gives the script that making a Workspace from a Template would run, or another try of the one that is there, and whether a person
// has to agree to it: an admin does not trust what stands there, and the machine cannot hold it to the Workspace.
//
//guard:none the engine asks for the owner of a Chat, in the transaction that reads it
func (r *Room) SetupOf(tx *kv.Tx, p chat.Principal, id chat.WorkspaceID, template chat.TemplateID) (script string, asks bool, err error) {
	if id != "" {
		w, found, err := tx.Workspace(id)
		if err != nil || !found || w.Standing() != chat.WorkspaceSetupFailed {
			return "", false, err
		}
		script, err = renewed(tx, w)
		return script, script != "" && !w.Trusted && !r.holds(*w, setupProfile(w.Profile(), script)), err
	}
	t, err := find(tx, template)
	if err != nil || t == nil || !t.AllowAgents || !usable(*t, p) {
		return "", false, err
	}
	script = Script(*t)
	return script, script != "" && t.Policy != chat.PolicyTrusted && !r.holds(placeOf(*t), setupProfile(chat.Profile(t.Sandbox), script)), nil
}

// placeOf is a Workspace as the Template would make it.
func placeOf(t chat.Template) chat.WorkspaceRecord {
	if chat.TargetBeside(t.Target) {
		return chat.WorkspaceRecord{Kind: chat.WorkspaceAgent, AgentID: chat.AgentID(t.Target)}
	}
	return chat.WorkspaceRecord{Kind: chat.WorkspaceLocal}
}

// holds says whether the machine where a Workspace is holds a command with the profile to it.
func (r *Room) holds(w chat.WorkspaceRecord, p chat.Profile) bool {
	meter, can := r.places.(chat.SandboxMeter)
	if !can {
		return false
	}
	held, _ := meter.Sandbox(r.ctx, chat.WorkspaceRecord{Kind: w.Kind, AgentID: w.AgentID, Sandbox: p})
	return held.Full()
}

// renewed is the setup of a Workspace as its Template has it now; without the Template it is the one it had.
func renewed(tx *kv.Tx, w *chat.WorkspaceRecord) (string, error) {
	t, err := find(tx, w.Made.TemplateID)
	if err != nil || t == nil {
		return w.Made.Setup, err
	}
	return Script(*t), nil
}

// Make makes a Workspace of the caller and begins to set it up; see its state for how that goes.
func (r *Room) Make(ctx context.Context, p chat.Principal, in MakeInput) (chat.WorkspaceRecord, error) {
	var out chat.WorkspaceRecord
	err := r.store.Update(ctx, func(tx *kv.Tx) (err error) {
		out, err = r.Reserve(tx, p, in)
		return err
	})
	if err != nil {
		return out, err
	}
	r.feed.touch()
	r.inBackground(out.ID, nil)
	return out, nil
}

// Reserve stores the record of a new Workspace that is still to be built.
//
//guard:none it is part of the transaction of Make, and of the one in which the engine binds a Chat to it
func (r *Room) Reserve(tx *kv.Tx, p chat.Principal, in MakeInput) (chat.WorkspaceRecord, error) {
	t, err := find(tx, in.TemplateID)
	if err != nil {
		return chat.WorkspaceRecord{}, err
	}
	if t == nil || !usable(*t, p) || in.ForModel && !t.AllowAgents {
		return chat.WorkspaceRecord{}, chat.NotFound("template")
	}
	if in.Setup != nil && *in.Setup != Script(*t) {
		return chat.WorkspaceRecord{}, changedTemplate()
	}
	name, branch := strings.TrimSpace(in.Name), strings.TrimSpace(in.Branch)
	if name == "" {
		name = t.Name
	}
	if err := checkName(name); err != nil {
		return chat.WorkspaceRecord{}, err
	}
	if branch != "" && !validBranch(branch) {
		return chat.WorkspaceRecord{}, chat.Invalid("branch", "the name of a branch, such as main or fix/login")
	}
	if name, err = freeName(tx, p.UserID, name); err != nil {
		return chat.WorkspaceRecord{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return chat.WorkspaceRecord{}, err
	}
	now := r.now().UTC()
	w := chat.WorkspaceRecord{ID: chat.WorkspaceID(id.String()), OwnerID: p.UserID, Name: name, Kind: chat.WorkspaceLocal, CreatedAt: now, UsedAt: now,
		Trusted: t.Policy == chat.PolicyTrusted, Sandbox: chat.Profile(t.Sandbox), State: chat.WorkspaceCreating, Made: chat.Making{TemplateID: t.ID, Kind: t.Kind, Source: t.Source,
			ChatID: in.ChatID, Parent: t.Directory, Branch: branch, Setup: Script(*t), SetupTimeoutMS: t.SetupTimeoutMS, Variables: t.Variables}}
	if chat.TargetBeside(t.Target) {
		w.Kind, w.AgentID = chat.WorkspaceAgent, chat.AgentID(t.Target)
		if why, err := cannotMake(tx, w.AgentID); err != nil || why != "" {
			return w, orRefuse(err, why)
		}
	}
	if err := tx.PutWorkspace(&w); err != nil {
		return w, err
	}
	return w, tx.PutWorkspaceRules(w.ID, rule.Kept(t.Permissions))
}

// orRefuse is a failure, or why nothing can be made.
func orRefuse(err error, why string) error {
	if err != nil {
		return err
	}
	return &chat.Error{Kind: chat.KindWrongState, Message: "The template cannot be used now.", Detail: why}
}

// cannotMake is why nothing can be made beside an Agent, "" when it can: whether it is there is found out by making.
func cannotMake(tx *kv.Tx, id chat.AgentID) (string, error) {
	a, found, err := tx.Agent(id)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "Its agent was revoked; choose another target.", nil
	case a.Greeting.Version == "":
		return "Its agent has not come yet.", nil
	case !slices.Contains(a.Greeting.Capabilities, chat.CapabilityPlaces):
		return "Its agent does not let workspaces be made: start it with --make-in and a directory for them. One of an older release has to be replaced first.", nil
	}
	return "", nil
}

func changedTemplate() error {
	return &chat.Error{Kind: chat.KindWrongState, Message: "The template was changed after this was asked.", Detail: "Ask again; nothing was made."}
}

// withNetwork begins a script that may reach the network: who agrees to the script agrees to that.
const withNetwork = "# This setup may use the network.\n"

// setupProfile is how the setup of a Workspace with a profile is confined. What later commands only read, it has to write first.
func setupProfile(p chat.Profile, script string) chat.Profile {
	switch {
	case p == chat.ProfileOff:
		return p
	case strings.HasPrefix(script, withNetwork):
		return chat.ProfileNetwork
	case p == chat.ProfileReadOnly:
		return chat.ProfileWorkspace
	}
	return p
}

// Script is the whole of what a Template's setup runs, its variables first; "" for none.
func Script(t chat.Template) string {
	if t.Setup == "" {
		return ""
	}
	var b strings.Builder
	if t.SetupNetwork {
		b.WriteString(withNetwork)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(t.Variables[name], "'", `'\''`))
	}
	return b.String() + t.Setup
}

// freeName gives the name, or with -2 and so on behind it where the owner has one of that name.
func freeName(tx *kv.Tx, owner chat.UserID, name string) (string, error) {
	all, err := tx.Workspaces()
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, w := range all {
		if w.OwnerID == owner {
			taken[strings.ToLower(w.Name)] = true
		}
	}
	free := name
	for n := 2; taken[strings.ToLower(free)]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		runes := []rune(name)
		free = string(runes[:min(len(runes), maxName-len(suffix))]) + suffix
	}
	return free, nil
}

// validBranch takes what git takes, and less: no sign that means something elsewhere.
func validBranch(s string) bool {
	if len(s) > 200 || strings.Contains(s, "..") || strings.Contains(s, "//") || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r == '_' || r == '.' || r == '/' || r == '+' || r == '#' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127)
	})
}

// Build makes the directory of a Workspace and sets it up, and tries that again where it failed. It waits for whoever does so already.
// Failing is no error: the record says so.
//
//guard:none the engine builds what a Chat was bound to; Make and Start build behind their policies
func (r *Room) Build(ctx context.Context, id chat.WorkspaceID, o BuildOptions) (chat.WorkspaceRecord, error) {
	unlock, err := r.locks.lock(ctx, id)
	if err != nil {
		return chat.WorkspaceRecord{}, err
	}
	defer unlock()
	w, err := r.read(ctx, id)
	if err != nil {
		return w, err
	}
	switch w.Standing() {
	case chat.WorkspaceSetupFailed:
		if w, err = r.change(ctx, id, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
			w.Made.Log = ""
			if o.Setup != nil {
				w.Made.Setup = *o.Setup
			}
			return w.Move(chat.WorkspaceRetry)
		}); err != nil {
			return w, err
		}
	case chat.WorkspaceCreating:
	default:
		return w, nil
	}
	said := &ending{log: o.Log, touch: r.feed.touch}
	silent := r.feed.speak(id, said)
	defer silent()
	r.feed.touch()
	failed := r.build(ctx, w, said)
	// Who asked may be gone; what came of it must be written down.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return r.change(ctx, id, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
		w.UsedAt = r.now().UTC()
		event := chat.WorkspaceReady
		if failed != nil {
			event = chat.WorkspaceFailed
			said.add(failure(failed))
		}
		w.Made.Log = said.end()
		return w.Move(event)
	})
}

// build is Build without its states.
func (r *Room) build(ctx context.Context, w chat.WorkspaceRecord, said *ending) error {
	if w.Directory == "" {
		maker, ok := r.places.(chat.Maker)
		if !ok {
			return chat.Invalid("target", "workspaces cannot be made here")
		}
		made, err := maker.Make(ctx, w, said.add)
		if err != nil {
			return err
		}
		if w, err = r.change(context.WithoutCancel(ctx), w.ID, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
			w.Directory, w.Made.Branch = made.Directory, made.Branch
			return nil
		}); err != nil {
			return err
		}
	}
	if w.Made.Setup == "" {
		return nil
	}
	w, err := r.change(ctx, w.ID, func(_ *kv.Tx, w *chat.WorkspaceRecord) error { return w.Move(chat.WorkspaceMade) })
	if err != nil {
		return err
	}
	return r.setup(ctx, w, said)
}

// Settle waits while somebody makes or sets up a Workspace, starts or stops it.
//
//guard:none the engine waits for what a Chat's record names
func (r *Room) Settle(ctx context.Context, id chat.WorkspaceID) error {
	unlock, err := r.locks.lock(ctx, id)
	if err == nil {
		unlock()
	}
	return err
}

// inBackground builds a Workspace while nobody waits for it; setup is as in BuildOptions.
func (r *Room) inBackground(id chat.WorkspaceID, setup *string) {
	r.joined.Go(func() {
		if _, err := r.Build(r.ctx, id, BuildOptions{Setup: setup, Log: func(string) {}}); err != nil && r.ctx.Err() == nil {
			r.log.Error("a workspace could not be built", chat.LogWorkspace, id, chat.LogError, err)
		}
	})
}

// failure is what is said of an error at the end of the log.
func failure(err error) string {
	text := firstDetail(err)
	if e, ok := err.(*chat.Error); ok && e.Detail != "" && len(e.Validations) == 0 {
		text += " " + e.Detail
	}
	return "\n" + text + "\n"
}

// setupTimeout is how long the setup of a Workspace may take.
func setupTimeout(w chat.WorkspaceRecord) time.Duration {
	if w.Made.SetupTimeoutMS > 0 {
		return time.Duration(w.Made.SetupTimeoutMS) * time.Millisecond
	}
	return chat.SetupTimeout
}
