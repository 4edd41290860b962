package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// stopTime bounds how long the processes of a Workspace may take to end.
const stopTime = 30 * time.Second

// StartInput names a Workspace.
type StartInput struct{ ID chat.WorkspaceID }

// Start lets a stopped Workspace run again, and begins to set up anew one whose setup failed. One that runs is left as it is.
func (r *Room) Start(ctx context.Context, _ chat.Principal, in StartInput) (chat.WorkspaceRecord, error) {
	w, err := r.read(ctx, in.ID)
	if err != nil {
		return w, err
	}
	if w.Standing() == chat.WorkspaceSetupFailed {
		var script string
		if err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
			script, err = renewed(tx, &w)
			return err
		}); err != nil {
			return w, err
		}
		r.inBackground(in.ID, &script)
		w.State = chat.WorkspaceCreating
		return w, nil
	}
	return r.wake(ctx, in.ID)
}

// StopInput names a Workspace.
type StopInput struct{ ID chat.WorkspaceID }

// Stop ends all that runs in a Workspace and keeps all files. While a Turn works in it, it is a KindWrongState Error; so that its Agent
// is away is KindUnreachable, and it goes on. One that is stopped is left as it is.
func (r *Room) Stop(ctx context.Context, _ chat.Principal, in StopInput) (chat.WorkspaceRecord, error) {
	unlock, err := r.locks.lock(ctx, in.ID)
	if err != nil {
		return chat.WorkspaceRecord{}, err
	}
	defer unlock()
	w, err := r.change(ctx, in.ID, func(tx *kv.Tx, w *chat.WorkspaceRecord) error {
		busy, err := inUse(tx, w.ID, live)
		if err != nil {
			return err
		}
		if busy != nil {
			return working(busy)
		}
		return w.Move(chat.WorkspaceStop)
	})
	if err != nil || w.State != chat.WorkspaceStopping {
		return w, err
	}
	return r.finishStop(ctx, in.ID)
}

// finishStop ends what runs in a Workspace that is being stopped. Its caller has the lock.
func (r *Room) finishStop(ctx context.Context, id chat.WorkspaceID) (chat.WorkspaceRecord, error) {
	// Who asked may go away; half a stop would leave the Workspace between two states.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := r.places.Stop(ctx, id); err != nil {
		if unreachable(err) {
			err = errors.Join(err, r.goesOn(ctx, id))
		}
		return chat.WorkspaceRecord{}, fmt.Errorf("stop workspace %s: %w", id, err)
	}
	return r.change(ctx, id, func(_ *kv.Tx, w *chat.WorkspaceRecord) error { return w.Move(chat.WorkspaceEnded) })
}

// goesOn notes that a Workspace could not be stopped: its Agent is away, and what runs there goes on.
func (r *Room) goesOn(ctx context.Context, id chat.WorkspaceID) error {
	_, err := r.change(ctx, id, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
		return errors.Join(w.Move(chat.WorkspaceAway), w.Move(chat.WorkspaceBack))
	})
	return err
}

func unreachable(err error) bool {
	var known *chat.Error
	return errors.As(err, &known) && known.Kind == chat.KindUnreachable
}

// Wake makes a Workspace that was stopped run again, for a Call that needs it. One whose setup failed is left to what is there.
//
//guard:none the engine wakes what a Chat's record names, for the Chat's owner
func (r *Room) Wake(ctx context.Context, id chat.WorkspaceID) error {
	if w, err := r.read(ctx, id); err != nil || w.Standing() == chat.WorkspaceRunning || w.Standing() == chat.WorkspaceSetupFailed {
		return err
	}
	_, err := r.wake(ctx, id)
	return err
}

// wake makes a Workspace that can run, run.
func (r *Room) wake(ctx context.Context, id chat.WorkspaceID) (chat.WorkspaceRecord, error) {
	unlock, err := r.locks.lock(ctx, id)
	if err != nil {
		return chat.WorkspaceRecord{}, err
	}
	defer unlock()
	w, err := r.read(ctx, id)
	if err != nil {
		return w, err
	}
	if w.Standing() == chat.WorkspaceStopping {
		if w, err = r.finishStop(ctx, id); err != nil {
			return w, err
		}
	}
	if w.Standing() == chat.WorkspaceRunning {
		return w, nil
	}
	return r.change(ctx, id, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
		w.UsedAt = r.now().UTC()
		return w.Move(chat.WorkspaceStart)
	})
}

// change changes a record in one transaction and gives it as it is then.
func (r *Room) change(ctx context.Context, id chat.WorkspaceID, change func(*kv.Tx, *chat.WorkspaceRecord) error) (chat.WorkspaceRecord, error) {
	var out chat.WorkspaceRecord
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		w, err := record(tx, id)
		if err != nil {
			return err
		}
		if err := change(tx, w); err != nil {
			return err
		}
		lives, err := readLives(tx)
		if err != nil {
			return err
		}
		w.Made.Deadline = lives.deadline(w)
		out = *w
		return tx.PutWorkspace(w)
	})
	return out, r.touched(err)
}

// recover brings what a process that died left half way to a state from which it can go on: nothing of it runs any more.
func (r *Room) recover(ctx context.Context) error {
	return r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.Workspaces()
		if err != nil {
			return err
		}
		for _, w := range all {
			switch w.Standing() {
			case chat.WorkspaceStopping:
				err = w.Move(chat.WorkspaceEnded)
			case chat.WorkspaceCreating, chat.WorkspaceSetup:
				w.Made.Log = strings.TrimSpace(w.Made.Log + "\nThe appliance was stopped while this workspace was being made.")
				err = w.Move(chat.WorkspaceFailed)
			default:
				continue
			}
			if err = errors.Join(err, tx.PutWorkspace(w)); err != nil {
				return err
			}
		}
		return nil
	})
}

// live says whether a Turn of the Chat runs or is about to.
func live(c *chat.Chat) bool { return !c.State.AtRest() && c.State != chat.RequiresAction }

// unrested says whether the Chat is not at rest, be it that it waits for a person.
func unrested(c *chat.Chat) bool { return !c.State.AtRest() }

// inUse gives a Chat in the Workspace that is as asked for, nil when there is none.
func inUse(tx *kv.Tx, id chat.WorkspaceID, as func(*chat.Chat) bool) (*chat.Chat, error) {
	active, err := tx.ActiveChats()
	if err != nil {
		return nil, err
	}
	for _, a := range active {
		c, found, err := tx.Chat(a)
		if err != nil && !errors.Is(err, kv.ErrDamaged) {
			return nil, err
		}
		if found && c.WorkspaceID == id && as(c) {
			return c, nil
		}
	}
	return nil, nil
}

func working(c *chat.Chat) error {
	return &chat.Error{Kind: chat.KindWrongState, Message: "A chat is working in this workspace.",
		Detail: fmt.Sprintf("Stop %q first, or wait until it rests.", c.Title)}
}
