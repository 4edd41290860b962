package agent

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// Room holds the Agents of one store.
type Room struct {
	store *kv.Store
	now   func() time.Time
	// links tell how Agents are; address is where they reach this appliance. Both are set before the first command.
	links   chat.AgentLinks
	address Address
	feed    feed
}

// Address is where Agents reach the appliance. An empty URL is nowhere: it was started without a listener for them.
type Address struct {
	URL string
	// Pin is the SHA-256 of the key that they meet there, as --pin takes it.
	Pin string
}

// New gives the Room over store. A nil now is time.Now.
func New(store *kv.Store, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	return &Room{store: store, now: now}
}

// Link says what tells of the Agents' links, and where Agents reach this appliance.
//
//guard:none main wires it before anybody asks
func (r *Room) Link(links chat.AgentLinks, at Address) { r.links, r.address = links, at }

// ListInput asks for all Agents.
type ListInput struct{}

// Entry is an Agent with its Workspace and how it is now.
type Entry struct {
	Agent chat.AgentRecord
	State chat.AgentState
	// Workspace is the name of the one that it serves.
	Workspace string
	// Own: that Workspace is the asker's, who may renew the Agent.
	Own bool
	// Made is how many others were made beside it.
	Made int
	// Renewal is until when a token is good with which an Agent takes this one's place; zero is none.
	Renewal time.Time
}

// Standing is the Entry's state in a word: online, offline, twice or version.
func (e Entry) Standing() string {
	switch {
	case e.State.Trouble != "":
		return string(e.State.Trouble)
	case e.State.Online:
		return "online"
	}
	return "offline"
}

// Waiting is a Workspace that has no Agent. ExpiresAt is until when its token is good; zero says that it has none.
type Waiting struct {
	WorkspaceID chat.WorkspaceID
	Workspace   string
	ExpiresAt   time.Time
	// Own: it is the asker's, who may make a token for it.
	Own bool
}

// ListOutput has the Agents by the name of their Workspace, and the Workspaces without one.
type ListOutput struct {
	Agents  []Entry
	Waiting []Waiting
	Address Address
}

// List gives all Agents.
func (r *Room) List(ctx context.Context, p chat.Principal, _ ListInput) (ListOutput, error) {
	var out ListOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = ListOutput{Agents: []Entry{}, Waiting: []Waiting{}, Address: r.address}
		all, err := tx.Agents()
		if err != nil {
			return err
		}
		until, err := r.enrolments(tx)
		if err != nil {
			return err
		}
		list, err := tx.Workspaces()
		spaces := map[chat.WorkspaceID]*chat.WorkspaceRecord{}
		for _, w := range list {
			spaces[w.ID] = w
		}
		made := map[chat.AgentID]int{}
		for _, w := range list {
			if w.MadeBeside() {
				made[w.AgentID]++
			}
		}
		served := map[chat.WorkspaceID]bool{}
		for _, a := range all {
			served[a.WorkspaceID] = true
			e := Entry{Agent: *a, Renewal: until[a.WorkspaceID], Made: made[a.ID]}
			if w := spaces[a.WorkspaceID]; w != nil {
				e.Workspace, e.Own = w.Name, w.OwnerID == p.UserID
			}
			out.Agents = append(out.Agents, e)
		}
		for _, w := range list {
			if w.Kind == chat.WorkspaceAgent && !w.MadeBeside() && !served[w.ID] {
				out.Waiting = append(out.Waiting, Waiting{WorkspaceID: w.ID, Workspace: w.Name, Own: w.OwnerID == p.UserID, ExpiresAt: until[w.ID]})
			}
		}
		return err
	})
	for i := range out.Agents {
		if r.links != nil {
			out.Agents[i].State = r.links.State(out.Agents[i].Agent.ID)
		}
	}
	slices.SortStableFunc(out.Agents, func(a, b Entry) int { return compare(a.Workspace, b.Workspace) })
	slices.SortStableFunc(out.Waiting, func(a, b Waiting) int { return compare(a.Workspace, b.Workspace) })
	return out, err
}

// enrolments are the ends of the tokens that are still good, by the Workspace that they are for.
func (r *Room) enrolments(tx *kv.Tx) (map[chat.WorkspaceID]time.Time, error) {
	all, err := tx.Enrolments()
	out, now := map[chat.WorkspaceID]time.Time{}, r.now()
	for _, e := range all {
		if now.Before(e.ExpiresAt) {
			out[e.WorkspaceID] = e.ExpiresAt
		}
	}
	return out, err
}

// RevokeInput names an Agent.
type RevokeInput struct{ ID chat.AgentID }

// Revoked is the empty answer of Revoke.
type Revoked struct{}

// Revoke makes an Agent unknown and closes its link at once. Its Workspace stays, without an Agent.
func (r *Room) Revoke(ctx context.Context, _ chat.Principal, in RevokeInput) (Revoked, error) {
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		a, found, err := tx.Agent(in.ID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("agent")
		}
		return forget(tx, a)
	})
	if err == nil && r.links != nil {
		r.links.Revoke(in.ID)
	}
	return Revoked{}, r.touched(err)
}

// forget removes an Agent from the store and from its Workspaces.
func forget(tx *kv.Tx, a *chat.AgentRecord) error {
	if _, err := tx.DeleteAgent(a.ID); err != nil {
		return err
	}
	if err := workspace.Follow(tx, a.ID, ""); err != nil {
		return err
	}
	w, found, err := tx.Workspace(a.WorkspaceID)
	if err != nil || !found || w.AgentID != a.ID {
		return err
	}
	w.AgentID = ""
	return tx.PutWorkspace(w)
}

// Record gives an Agent for the link.
//
//guard:none the link asks who calls
func (r *Room) Record(ctx context.Context, id chat.AgentID) (chat.AgentRecord, error) {
	var out chat.AgentRecord
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		a, found, err := tx.Agent(id)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("agent")
		}
		out = *a
		return nil
	})
	return out, err
}

// Of gives the Workspace with its Agent, for the link; one of another kind or that is gone is found false.
//
//guard:none the link asks whom a Workspace belongs to
func (r *Room) Of(ctx context.Context, id chat.WorkspaceID) (rec chat.WorkspaceRecord, found bool, err error) {
	err = r.store.View(ctx, func(tx *kv.Tx) error {
		w, there, err := tx.Workspace(id)
		if err == nil && there && w.Kind == chat.WorkspaceAgent {
			rec, found = *w, true
		}
		return err
	})
	return rec, found, err
}

// Seen records that an Agent was heard of, and how it presented itself when that is not nil.
//
//guard:none the link tells what it hears
func (r *Room) Seen(ctx context.Context, id chat.AgentID, greeting *chat.AgentGreeting) error {
	return r.touched(r.store.Update(ctx, func(tx *kv.Tx) error {
		a, found, err := tx.Agent(id)
		if err != nil || !found {
			return err
		}
		a.SeenAt = r.now().UTC()
		if greeting != nil {
			a.Greeting = *greeting
		}
		return tx.PutAgent(a)
	}))
}
