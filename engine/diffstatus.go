package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// diffs are the Workspaces whose repositories are to be read again. One loop reads them, so that nobody ever waits for git, and it
// sleeps while nothing changes.
type diffs struct {
	wake chan struct{}
	mu   sync.Mutex // guards due and last
	// due has, for each Workspace, the Chats that have to be compared in any case: those that are new in it.
	due map[chat.WorkspaceID]map[chat.ID]bool
	// last is what all Chats of a Workspace were last given, absent before the first look.
	last map[chat.WorkspaceID]*chat.DiffStatus
}

func newDiffs() *diffs {
	return &diffs{wake: make(chan struct{}, 1), due: map[chat.WorkspaceID]map[chat.ID]bool{}, last: map[chat.WorkspaceID]*chat.DiffStatus{}}
}

// note has a Workspace read again, and a Chat compared with what is found; the Chat may be "".
func (d *diffs) note(space chat.WorkspaceID, id chat.ID) {
	if space == "" {
		return
	}
	d.mu.Lock()
	if d.due[space] == nil {
		d.due[space] = map[chat.ID]bool{}
	}
	if id != "" {
		d.due[space][id] = true
	}
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// take gives what is due, once.
func (d *diffs) take() map[chat.WorkspaceID]map[chat.ID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	due := d.due
	d.due = map[chat.WorkspaceID]map[chat.ID]bool{}
	return due
}

// known gives what the Chats of a Workspace have, nil when that is not known.
func (d *diffs) known(space chat.WorkspaceID) *chat.DiffStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[space]
}

// learn notes what all Chats of a Workspace are given, and says whether that is new.
func (d *diffs) learn(space chat.WorkspaceID, s *chat.DiffStatus) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, known := d.last[space]
	d.last[space] = s
	return !known || !sameDiff(old, s)
}

// forget makes the next look at a Workspace count as the first.
func (d *diffs) forget(space chat.WorkspaceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, space)
}

func sameDiff(a, b *chat.DiffStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Changed says that files of a Workspace have changed: what they differ from their last commit is read again soon, and given to its Chats.
//
//guard:none agents and watchers call it, not people
func (e *Engine) Changed(id chat.WorkspaceID) { e.feed.diffs.note(id, "") }

// noteDiff has a Chat compared with its Workspace when it begins there or begins a Turn.
func (e *Engine) noteDiff(out changed) {
	switch out.event {
	case "", chat.Acquire, chat.Unarchive:
		e.feed.diffs.note(out.chat.WorkspaceID, out.chat.ID)
	}
}

// readDiffs is the loop that follows changes of files, until ctx ends. A burst of changes is read once.
func (e *Engine) readDiffs(ctx context.Context) {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-e.feed.diffs.wake:
		case <-ctx.Done():
			return
		}
		rest.Reset(e.bounds.DiffEvery)
		select {
		case <-rest.C:
		case <-ctx.Done():
			return
		}
		for space, chats := range e.feed.diffs.take() {
			if err := e.readDiff(ctx, space, chats); err != nil && ctx.Err() == nil {
				e.feed.diffs.forget(space)
				e.log.InfoContext(ctx, "what a workspace differs from its last commit is not known", chat.LogWorkspace, space, chat.LogError, err)
			}
		}
	}
}

// readDiff asks a Workspace what it differs, and gives that to its Chats where it is new to them.
func (e *Engine) readDiff(ctx context.Context, space chat.WorkspaceID, chats map[chat.ID]bool) error {
	ws, err := e.ports.workspaces(ctx, space)
	if err != nil {
		return err
	}
	repos, err := ws.Git().Status(ctx)
	if err != nil {
		return err
	}
	var status *chat.DiffStatus
	if len(repos) > 0 {
		sum := chat.DiffStatusOf(repos)
		status = &sum
	}
	ids := make([]chat.ID, 0, len(chats))
	for id := range chats {
		ids = append(ids, id)
	}
	if e.feed.diffs.learn(space, status) {
		if ids, err = e.chatsIn(ctx, space); err != nil {
			return err
		}
	}
	return e.giveDiff(ctx, space, status, ids)
}

// chatsIn lists the Chats of a Workspace that are not archived.
func (e *Engine) chatsIn(ctx context.Context, space chat.WorkspaceID) ([]chat.ID, error) {
	var out []chat.ID
	for last, more := chat.ID(""), true; more; {
		err := e.store.View(ctx, func(tx *kv.Tx) error {
			w, found, err := tx.Workspace(space)
			if err != nil || !found {
				more = false
				return err
			}
			page, err := tx.OwnedChats(w.OwnerID, last, overviewBatch)
			if err != nil {
				return err
			}
			for _, c := range page {
				last = c.ID
				if c.WorkspaceID == space && !c.Archived {
					out = append(out, c.ID)
				}
			}
			more = len(page) == overviewBatch
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// diffBatch is how many Chats one transaction amends.
const diffBatch = 64

// giveDiff amends those of the Chats that have another one.
func (e *Engine) giveDiff(ctx context.Context, space chat.WorkspaceID, status *chat.DiffStatus, ids []chat.ID) error {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), diffBatch)]
		ids = ids[len(batch):]
		first := amendDiff(batch[0], space, status)
		rest := batch[1:]
		first.also = func(*kv.Tx, *chat.Chat) ([]change, error) {
			var more []change
			for _, id := range rest {
				more = append(more, amendDiff(id, space, status))
			}
			return more, nil
		}
		_, err := e.change(ctx, first)
		var refused *chat.Error
		if errors.As(err, &refused) && (refused.Kind == chat.KindWrongState || refused.Kind == chat.KindNotFound) {
			// The first has it already, or is gone; the others may still need it.
			ids = append(rest[:len(rest):len(rest)], ids...)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// amendDiff gives a Chat what its Workspace differs; one that has it, or is no longer there, refuses.
func amendDiff(id chat.ID, space chat.WorkspaceID, status *chat.DiffStatus) change {
	return change{chat: id, quiet: true,
		event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
			if c.WorkspaceID != space || c.Archived || sameDiff(c.Diff, status) {
				return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "The chat has it already."}
			}
			return chat.Event{Kind: chat.Amend}, nil
		},
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error { c.Diff = status; return nil }}
}
