package engine

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// NewestContext runs write, which may make another Snapshot the newest of a Workspace and then gives it, and marks in the same transaction
// the Chats whose pin is out of date, or is so no more. A nil Snapshot changes nothing.
//
//guard:none what comes from beside the files, not from a person
func (e *Engine) NewestContext(ctx context.Context, id chat.WorkspaceID, write func(*kv.Tx) (*chat.NewestSnapshot, error)) error {
	var did []changed
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		did = nil
		newest, err := write(tx)
		if err != nil || newest == nil {
			return err
		}
		marks, err := e.marks(tx, id, newest)
		if err != nil {
			return err
		}
		did, _, err = e.alongside(tx, marks)
		return err
	})
	if err != nil {
		return storeError(err)
	}
	e.feed.touchPlace(id)
	for _, out := range did {
		e.after(out, nil)
	}
	return nil
}

// marks are the changes for the Chats of a Workspace whose mark is not as the newest Snapshot says.
func (e *Engine) marks(tx *kv.Tx, id chat.WorkspaceID, newest *chat.NewestSnapshot) ([]change, error) {
	pinned, err := tx.PinnedChats(id)
	if err != nil {
		return nil, err
	}
	var out []change
	for _, id := range pinned {
		c, found, err := tx.Chat(id)
		if err != nil && !errors.Is(err, kv.ErrDamaged) {
			return nil, err
		}
		if !found || c.Archived || c.Pinned().Dirty() == (c.Pinned().Aggregate != newest.Aggregate) {
			continue
		}
		out = append(out, change{chat: id, quiet: true, event: kindOf(chat.Amend), write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			mark(c.Pinned(), newest.Aggregate, e.now().UTC())
			return nil
		}})
	}
	return out, nil
}

// mark sets since when a pin is out of date.
func mark(p *chat.ContextPin, newest chat.Hash, now time.Time) {
	switch {
	case p.Aggregate == newest:
		p.DirtySince = time.Time{}
	case p.DirtySince.IsZero():
		p.DirtySince = now
	}
}

// remark takes the mark from a Chat that is archived, and looks anew at one that is taken back.
func remark(tx *kv.Tx, c *chat.Chat, archived bool, now time.Time) error {
	p := c.Pinned()
	if p == nil {
		return nil
	}
	if archived {
		p.DirtySince = time.Time{}
		return nil
	}
	newest, found, err := newestOf(tx, c.WorkspaceID)
	if found {
		mark(p, newest.Aggregate, now)
	}
	return err
}

// newestOf gives the newest Snapshot of a Chat's Workspace; none has none.
func newestOf(tx *kv.Tx, id chat.WorkspaceID) (*chat.NewestSnapshot, bool, error) {
	if id == "" {
		return nil, false, nil
	}
	return tx.NewestSnapshot(id)
}

func pinTo(n *chat.NewestSnapshot, now time.Time) *chat.ContextPin {
	return &chat.ContextPin{Address: n.Address, Number: n.Number, Aggregate: n.Aggregate, At: now}
}

// WatchContextInput names a Workspace.
type WatchContextInput struct{ WorkspaceID chat.WorkspaceID }

// WatchContext subscribes to the Snapshots of a Workspace. Subscribe before the first read.
func (e *Engine) WatchContext(_ context.Context, _ chat.Principal, in WatchContextInput) (Watch, error) {
	ch, stop := e.feed.subscribePlace(in.WorkspaceID)
	return Watch{C: ch, Stop: stop}, nil
}

// ContextMoved wakes those who watch a Workspace's context for what no Snapshot tells.
//
//guard:none the room of the Snapshots calls it, not people
func (e *Engine) ContextMoved(id chat.WorkspaceID) { e.feed.touchPlace(id) }

// PinInput names a Chat.
type PinInput struct{ ChatID chat.ID }

// Pin makes the newest Snapshot of its Workspace the Chat's: from the next Turn on, where one is live.
func (e *Engine) Pin(ctx context.Context, _ chat.Principal, in PinInput) (*chat.Chat, error) {
	var newest *chat.NewestSnapshot
	out, err := e.change(ctx, change{chat: in.ChatID, quiet: true,
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
			if c.Archived {
				return chat.Event{}, &chat.Error{Kind: chat.KindArchived, Message: "chat is archived", Detail: "Unarchive it first."}
			}
			if _, damaged := e.store.DamagedChat(c.ID); damaged {
				return chat.Event{}, errReadOnly
			}
			var found bool
			var err error
			if newest, found, err = newestOf(tx, c.WorkspaceID); err == nil && !found {
				err = &chat.Error{Kind: chat.KindWrongState, Message: "There is no context to take.",
					Detail: "The chat has no workspace, or the workspace has not been looked at yet."}
			}
			return chat.Event{Kind: chat.Amend}, err
		},
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			pin := pinTo(newest, e.now().UTC())
			if c.State.AtRest() || c.Context == nil {
				c.Context, c.NextContext = pin, nil
			} else {
				c.NextContext = pin
			}
			return nil
		}})
	return out.chat, err
}

// Window gives how many tokens a request to a Model config may have, 0 where there is none to ask.
func Window(configs Configs) func(*kv.Tx, chat.ModelConfigID) int {
	return func(tx *kv.Tx, id chat.ModelConfigID) int {
		m, err := configs(tx, id)
		if err != nil {
			return 0
		}
		return windowOf(m)
	}
}
