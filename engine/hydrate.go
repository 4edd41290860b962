package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// How long the first Turn in a Workspace waits for its context, and then for its MCP servers.
const (
	readyWait   = 10 * time.Second
	settledWait = 5 * time.Second
)

// What a Turn says that did not wait longer.
const (
	warnNotReady   = "The workspace's instructions and skills could not be read in time. This turn goes on without the newest ones."
	warnNotSettled = "Not all MCP servers of the workspace have answered yet. This turn goes on without them."
)

// guided is what a Turn has of its Workspace's context.
type guided struct {
	// snapshot has the Payloads; nil for none. It stays the same until the Turn ends.
	snapshot *chat.Snapshot
	// told is the address of the Snapshot that the Turn has heard of, beside its own.
	told chat.Hash
	// seen are the directories below the Workspace's that were looked at for instructions.
	seen map[string]bool
}

// pinContext gives the Turn its Snapshot: the one that the Chat has pinned, else the newest, which it then pins. Only who pins waits.
func (r *run) pinContext() error {
	t := &r.t
	auto, err := r.refreshes()
	if err != nil {
		return err
	}
	begins := t.chat.Turn.Steps == 0 && len(t.chat.Outstanding) == 0
	if t.chat.Context == nil || auto && begins {
		warning, err := r.awaitContext(liveContext(t.workspace))
		if err != nil {
			return err
		}
		if err := r.pinNewest(warning); err != nil {
			return err
		}
	}
	if t.chat.Context == nil {
		return nil
	}
	found, err := r.loadContext()
	if err != nil || found {
		return err
	}
	// What it pinned is gone with a Workspace that was forgotten, or was pinned for the next Turn more than a day ago.
	if err := r.pinNewest(""); err != nil || t.chat.Context == nil {
		return err
	}
	_, err = r.loadContext()
	return err
}

// refreshes says whether each of the owner's Turns pins the newest Snapshot.
func (r *run) refreshes() (bool, error) {
	auto := false
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(r.t.chat.OwnerID)
		auto = found && u.ContextRefresh == chat.RefreshAuto
		return err
	})
	return auto, err
}

func (r *run) loadContext() (bool, error) {
	t := &r.t
	found := false
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		rec, ok, err := tx.Snapshot(t.record.ID, t.chat.Context.Address, true)
		if found = ok; ok {
			t.extra.guided.snapshot = &rec.Snapshot
		}
		return err
	})
	return found, err
}

// pinNewest lets the Chat pin the newest Snapshot that is stored, and notes what was not waited for.
func (r *run) pinNewest(warning string) error {
	t := &r.t
	var newest *chat.NewestSnapshot
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
		newest, _, err = tx.NewestSnapshot(t.record.ID)
		return err
	})
	if err != nil {
		return err
	}
	same := newest == nil && t.chat.Context == nil || newest != nil && t.chat.Context != nil && t.chat.Context.Address == newest.Address
	if same && warning == "" {
		return nil
	}
	lease := r.lease
	out, err := r.e.change(r.ctx, change{chat: r.id, fence: &lease, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			now := r.e.now().UTC()
			n, found, err := tx.NewestSnapshot(t.record.ID)
			if err != nil {
				return err
			}
			if warning != "" {
				c.Turn.Warnings = append(c.Turn.Warnings, warning)
			}
			if !found {
				c.Context = nil
			} else if c.Context == nil || c.Context.Address != n.Address {
				c.Context = pinTo(n, now)
			}
			return nil
		}})
	if err == nil {
		t.chat = out.chat
	}
	return err
}

// liveContext is that of a Workspace which can be asked now.
func liveContext(w chat.Workspace) chat.Context {
	if k, ok := w.(chat.ContextKeeper); ok {
		return k.Context()
	}
	return nil
}

// awaitContext waits until the store has what a Workspace publishes, and gives what the Turn goes on without.
func (r *run) awaitContext(live chat.Context) (warning string, err error) {
	if live == nil {
		return "", nil
	}
	published, stop := live.Watch()
	defer stop()
	stored, end := r.e.feed.subscribePlace(r.t.record.ID)
	defer end()
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	for ready := false; ; {
		has, settled, err := r.hasContext(live.Snapshot())
		if err != nil || settled {
			return "", err
		}
		if has && !ready {
			ready = true
			timer.Reset(settledWait)
		}
		select {
		case <-published:
		case <-stored:
		case <-timer.C:
			if ready {
				return warnNotSettled, nil
			}
			return warnNotReady, nil
		case <-r.ctx.Done():
			return "", context.Cause(r.ctx)
		}
	}
}

// hasContext says whether the store has what is published, and whether nothing more is to be waited for.
func (r *run) hasContext(live chat.Snapshot) (has, settled bool, err error) {
	if !live.Ready {
		return false, false, nil
	}
	err = r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		n, found, err := tx.NewestSnapshot(r.t.record.ID)
		// Not the version: what is published again without a change is not pushed.
		has = found && n.Full == live.FullHash
		settled = has && live.MCPSettled
		return err
	})
	return has, settled, err
}
