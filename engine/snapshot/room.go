package snapshot

import (
	"context"
	"log/slog"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Options are what a Room is made of.
type Options struct {
	Store *kv.Store
	// Open gives the live Workspace of an id.
	Open func(context.Context, chat.WorkspaceID) (chat.Workspace, error)
	// Window is how many tokens a request to a Model config may have, the default one's where the id is empty or gone; 0 without one.
	Window func(*kv.Tx, chat.ModelConfigID) int
	// Changed is told of files that have changed; may be nil.
	Changed func(chat.WorkspaceID)
	// Moved is told of Sources and answers about servers, which need not make another Snapshot; may be nil.
	Moved func(chat.WorkspaceID)
	Log   *slog.Logger
	Now   func() time.Time
}

// Room holds the context of the Workspaces of one store. Its methods may be called from any goroutine.
type Room struct {
	o     Options
	chats Newest
	views readViews
}

// Newest runs a write that may make another Snapshot the newest of a Workspace, and marks the Chats that are then out of date.
type Newest func(ctx context.Context, id chat.WorkspaceID, write func(*kv.Tx) (*chat.NewestSnapshot, error)) error

var _ chat.AgentSink = (*Room)(nil)

// New gives the Room.
func New(o Options) *Room {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(chat.WorkspaceID) {}
	}
	if o.Moved == nil {
		o.Moved = func(chat.WorkspaceID) {}
	}
	return &Room{o: o}
}

// OwnChats hands in who marks the Chats.
//
//guard:none wiring
func (r *Room) OwnChats(newest Newest) { r.chats = newest }

// Changed says that files of a Workspace have changed.
//
//guard:none what comes from beside the files
func (r *Room) Changed(id chat.WorkspaceID) { r.o.Changed(id) }

// Push takes the newest Snapshot of a Workspace; the contract is that of chat.AgentSink.
//
//guard:none what comes from beside the files
func (r *Room) Push(ctx context.Context, id chat.WorkspaceID, s chat.Snapshot, initial bool) (accepted bool, reason string, err error) {
	if s, err = checked(s); err != nil {
		return false, "", err
	}
	err = r.chats(ctx, id, func(tx *kv.Tx) (*chat.NewestSnapshot, error) {
		accepted = false
		old, found, err := tx.NewestSnapshot(id)
		if err != nil {
			return nil, err
		}
		if found && !initial && old.BootID == s.BootID && s.Version <= old.Version {
			return nil, nil
		}
		accepted = true
		return tx.PutSnapshot(id, s, r.o.Now().UTC())
	})
	if err != nil {
		return false, "", err
	}
	if !accepted {
		reason = "stale"
	}
	return accepted, reason, nil
}

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// live gives the live context of a Workspace. One that has none cannot be looked at.
func (r *Room) live(ctx context.Context, id chat.WorkspaceID) (chat.Context, error) {
	w, err := r.o.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	if k, ok := w.(chat.ContextKeeper); ok {
		if c := k.Context(); c != nil {
			return c, nil
		}
	}
	if far, ok := w.(chat.Distant); ok && !far.Agent().Online {
		return nil, &chat.Error{Kind: chat.KindUnreachable, Message: "The agent of this workspace is offline.",
			Detail: "Start it on its machine, or look there why it does not reach this appliance."}
	}
	return nil, &chat.Error{Kind: chat.KindWrongState, Message: "The context of this workspace cannot be looked at now.",
		Detail: "Its agent is too old for that; bring it to the release of the appliance."}
}
