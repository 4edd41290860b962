package snapshot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// View is what a person sees of a Workspace's context, or of what a Chat has pinned of it.
type View struct {
	Workspace chat.WorkspaceRecord
	// Newest is without Payloads; nil before the first Snapshot.
	Newest *chat.SnapshotRecord
	// Pinned is the Chat's, nil for a Workspace's own View and before the first Turn. Next: it counts from the next Turn on.
	Pinned *chat.ContextPin
	Next   bool
	Items  []Item
	// Changes are what the newest has that the pinned one has not, and the other way round.
	Changes []Change
	// Window is the Chat's in tokens, or the default model's; 0 when no model is known. Used is what of it instructions and skills take,
	// in bytes at three a token.
	Window int
	Used   int64
	// Skills is the list of skills as a request has it.
	Skills prompt.SkillList
	// Warnings are those of the Chat's last Turn, Hidden the Tools that it left out of its requests.
	Warnings []string
	Hidden   *chat.HiddenTools
	Live
}

// Live is how the Workspace itself answers.
type Live struct {
	// Away says why it does not answer; "" when it does.
	Away string
	// Ready and Settled are as in its live Snapshot.
	Ready, Settled bool
	Sources        []string
	// Servers are the MCP servers that its files name; nil where it runs none. NoServers says why those that are named cannot be run or
	// listed, "" for nothing.
	Servers   []chat.Server
	NoServers string
}

// Item is a Resource as a View shows it, without Payload.
type Item struct {
	chat.Resource
	// Change is what became of it since the Chat pinned its Snapshot; "" for nothing.
	Change ChangeKind
	// InPrompt is what of it stands in a request, in bytes; LeftOut what had no room. Hidden is what was removed before.
	InPrompt, LeftOut int64
	Hidden            prompt.Hidden
}

// ChangeKind says how a Resource differs from what is pinned.
type ChangeKind string

const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Edited  ChangeKind = "changed"
)

// Change is one difference between two Snapshots.
type Change struct {
	Kind     ChangeKind
	Resource chat.Resource
}

// PlaceInput names a Workspace.
type PlaceInput struct{ ID chat.WorkspaceID }

// Place shows the newest context of a Workspace.
func (r *Room) Place(ctx context.Context, _ chat.Principal, in PlaceInput) (View, error) {
	var out View
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		out = View{Window: r.o.Window(tx, "")}
		return out.read(tx, &r.views, in.ID, nil)
	})
	if err != nil {
		return View{}, err
	}
	out.Live = r.ask(ctx, in.ID)
	return out, nil
}

// ChatInput names a Chat.
type ChatInput struct{ ID chat.ID }

// Chat shows the context that a Chat has pinned, and what has changed since; a Chat without a Workspace has an empty View.
func (r *Room) Chat(ctx context.Context, _ chat.Principal, in ChatInput) (View, error) {
	var out View
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		c, found, err := tx.Chat(in.ID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("chat")
		}
		out = View{Window: r.o.Window(tx, c.ModelConfigID), Pinned: c.Pinned(), Next: c.NextContext != nil, Warnings: c.Turn.Warnings, Hidden: c.Turn.Hidden}
		if c.WorkspaceID == "" {
			return nil
		}
		return out.read(tx, &r.views, c.WorkspaceID, c.Pinned())
	})
	if err != nil || out.Workspace.ID == "" {
		return out, err
	}
	out.Live = r.ask(ctx, out.Workspace.ID)
	return out, nil
}

// read fills in what the store has. A Workspace that is gone leaves the View without one.
func (v *View) read(tx *kv.Tx, kept *readViews, id chat.WorkspaceID, pin *chat.ContextPin) error {
	w, found, err := tx.Workspace(id)
	if err != nil || !found {
		return err
	}
	v.Workspace = *w
	newest, found, err := tx.NewestSnapshot(id)
	if err != nil || !found {
		return err
	}
	key := readKey{workspace: id, newest: newest.Address, used: newest.Address, directory: w.Directory, window: v.Window}
	if pin != nil {
		key.used = pin.Address
	}
	read := kept.get(key)
	if read == nil {
		if read, err = v.decode(tx, key); err != nil || read == nil {
			return err
		}
		kept.put(key, read)
	}
	v.show(read)
	v.Newest.At = newest.At
	return nil
}

// decode reads the Snapshots of a View; nil when the newest is gone.
func (v *View) decode(tx *kv.Tx, key readKey) (*readView, error) {
	newest, found, err := tx.Snapshot(key.workspace, key.newest, true)
	if err != nil || !found {
		return nil, err
	}
	// What is read is read into a View of its own.
	own := View{Workspace: v.Workspace, Window: v.Window, Newest: newest}
	used := newest
	if key.used != key.newest {
		pinned, found, err := tx.Snapshot(key.workspace, key.used, true)
		if err != nil {
			return nil, err
		}
		if found {
			used = pinned
			own.Changes = changes(pinned.Snapshot.Resources, newest.Snapshot.Resources)
		}
	}
	own.fill(&used.Snapshot)
	return &readView{newest: *own.Newest, items: own.Items, changes: own.Changes, used: own.Used, skills: own.Skills}, nil
}

// fill lists the Resources, with what of them stands in a request that uses a Snapshot.
func (v *View) fill(used *chat.Snapshot) {
	changed := map[string]ChangeKind{}
	all := slices.Clone(v.Newest.Snapshot.Resources)
	for _, c := range v.Changes {
		changed[c.Resource.ID()] = c.Kind
		if c.Kind == Removed {
			all = append(all, c.Resource)
		}
	}
	guides := map[string]prompt.Guide{}
	for _, g := range prompt.Guides(used, v.Workspace.Directory, v.Window) {
		guides[g.Path] = g
		v.Used += int64(len(g.Text))
	}
	v.Skills = prompt.Skills(used, v.Window)
	v.Used += int64(len(v.Skills.Text))
	for _, r := range all {
		it := Item{Resource: r, Change: changed[r.ID()]}
		if g, in := guides[r.Source]; in && r.Kind == chat.ResourceInstructionFile {
			it.InPrompt, it.LeftOut, it.Hidden = int64(len(g.Text)), g.LeftOut, g.Hidden
		}
		if r.Kind == chat.ResourceSkill && slices.Contains(v.Skills.LeftOut, r.Name) {
			it.LeftOut = r.SizeBytes
		}
		it.Payload = nil
		v.Items = append(v.Items, it)
	}
	for i := range v.Newest.Snapshot.Resources {
		v.Newest.Snapshot.Resources[i].Payload = nil
	}
	slices.SortStableFunc(v.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)), cmp.Compare(a.Source, b.Source))
	})
}

// kindOrder is the order of kinds in lists; unknown ones come last.
func kindOrder(k chat.ResourceKind) int {
	order := []chat.ResourceKind{chat.ResourceInstructionFile, chat.ResourceSkill, chat.ResourceMCPConfig, chat.ResourceMCPServer,
		chat.ResourcePlugin, chat.ResourceHook, chat.ResourceSubagent, chat.ResourceCommand}
	if at := slices.Index(order, k); at >= 0 {
		return at
	}
	return len(order)
}

// changes compares two sets of Resources as the mark of Chats does: by status and content. Servers are looked up live.
func changes(was, now []chat.Resource) []Change {
	var out []Change
	old := map[string]chat.Resource{}
	for _, r := range was {
		old[r.ID()] = r
	}
	bare := func(r chat.Resource) chat.Resource {
		r.Payload = nil
		return r
	}
	for _, r := range now {
		before, known := old[r.ID()]
		delete(old, r.ID())
		switch {
		case r.Kind == chat.ResourceMCPConfig || r.Kind == chat.ResourceMCPServer:
		case !known:
			out = append(out, Change{Added, bare(r)})
		case before.Status != r.Status || before.ContentHash != r.ContentHash:
			out = append(out, Change{Edited, bare(r)})
		}
	}
	for _, r := range was {
		if _, gone := old[r.ID()]; gone && r.Kind != chat.ResourceMCPConfig && r.Kind != chat.ResourceMCPServer {
			out = append(out, Change{Removed, bare(r)})
		}
	}
	return out
}

// askTime is how long a View waits for a Workspace to answer.
const askTime = 2 * time.Second

// ask looks how the Workspace itself answers. What it says of why it does not is for a person.
func (r *Room) ask(ctx context.Context, id chat.WorkspaceID) Live {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	live, err := r.live(ctx, id)
	if err != nil {
		return Live{Away: sentence(err)}
	}
	s := live.Snapshot()
	out := Live{Ready: s.Ready, Settled: s.MCPSettled}
	if out.Sources, err = live.Sources(ctx); err != nil {
		out.Away = sentence(err)
	}
	servers, err := r.servers(ctx, id)
	if err != nil || servers == nil {
		return out
	}
	// What was known before is shown where the list takes long.
	if out.Servers, err = servers.List(ctx); err != nil && len(out.Servers) == 0 && names(s.Resources) {
		out.NoServers = sentence(err)
	}
	return out
}

// names says whether a file of the Workspace may name MCP servers.
func names(all []chat.Resource) bool {
	return slices.ContainsFunc(all, func(r chat.Resource) bool { return r.Kind == chat.ResourceMCPConfig })
}

func sentence(err error) string {
	var known *chat.Error
	if errors.As(err, &known) {
		return strings.TrimSpace(known.Message + " " + known.Detail)
	}
	return "The workspace does not answer."
}
