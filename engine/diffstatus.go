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
	last map[chat.WorkspaceID]seenDiff
	// look is how long one look at a Workspace may take; it is set before the loop.
	look time.Duration
}

// diffLook is look where nobody says otherwise.
const diffLook = 20 * time.Second

// seenDiff is what a look at a Workspace found. Nobody may change the status: Chats share it.
type seenDiff struct {
	status *chat.DiffStatus
	mark   string
}

func seenIn(repos []chat.RepoStatus) seenDiff {
	if len(repos) == 0 {
		return seenDiff{}
	}
	sum := chat.DiffStatusOf(repos)
	return seenDiff{status: &sum, mark: chat.DiffMarkOf(repos)}
}

// of says whether a Chat has it.
func (s seenDiff) of(c *chat.Chat) bool {
	return c.DiffMark == s.mark && (s.status == nil) == (c.Diff == nil) && (c.Diff == nil || *c.Diff == *s.status)
}

func newDiffs() *diffs {
	return &diffs{wake: make(chan struct{}, 1), due: map[chat.WorkspaceID]map[chat.ID]bool{}, last: map[chat.WorkspaceID]seenDiff{}, look: diffLook}
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

// give gives a Chat what those of its Workspace have, nothing when that is not known.
func (d *diffs) give(c *chat.Chat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Diff, c.DiffMark = d.last[c.WorkspaceID].status, d.last[c.WorkspaceID].mark
}

// learn notes what all Chats of a Workspace are given, and says whether that is new.
func (d *diffs) learn(space chat.WorkspaceID, s seenDiff) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, known := d.last[space]
	d.last[space] = s
	return !known || !old.of(&chat.Chat{Diff: s.status, DiffMark: s.mark})
}

// forget makes the next look at a Workspace count as the first.
func (d *diffs) forget(space chat.WorkspaceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, space)
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

// A look that failed is repeated by itself, first after diffPause times DiffEvery, each time after twice as long, until it has failed diffTries times: whoever
// changes a file, begins a Turn or looks starts anew.
const (
	diffPause = 4
	diffTries = 6
)

// looks are those that failed, by how often, and what repeats them. One loop has them.
type looks struct {
	failed map[chat.WorkspaceID]int
	again  map[chat.WorkspaceID]*time.Timer
}

func (l *looks) settle(space chat.WorkspaceID) {
	if t := l.again[space]; t != nil {
		t.Stop()
	}
	delete(l.again, space)
	delete(l.failed, space)
}

func (l *looks) fail(space chat.WorkspaceID, every time.Duration, look func()) {
	n := l.failed[space] + 1
	l.settle(space)
	if n < diffTries {
		l.failed[space] = n
		l.again[space] = time.AfterFunc(diffPause*every<<(n-1), look)
	}
}

// readDiffs is the loop that follows changes of files, until ctx ends. A burst of changes is read once.
func (e *Engine) readDiffs(ctx context.Context) {
	again := looks{failed: map[chat.WorkspaceID]int{}, again: map[chat.WorkspaceID]*time.Timer{}}
	defer func() {
		for space := range again.again {
			again.settle(space)
		}
	}()
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
			err := e.lookAtDiff(ctx, space, chats)
			if err == nil {
				again.settle(space)
			} else if ctx.Err() == nil {
				e.feed.diffs.forget(space)
				again.fail(space, e.bounds.DiffEvery, func() { e.feed.diffs.note(space, "") })
				e.log.InfoContext(ctx, "what a workspace differs from its last commit is not known", chat.LogWorkspace, space, chat.LogError, err)
			}
		}
	}
}

// lookAtDiff reads one Workspace within its time: an Agent that never answers must not keep the others from being read.
func (e *Engine) lookAtDiff(ctx context.Context, space chat.WorkspaceID, chats map[chat.ID]bool) error {
	ctx, cancel := context.WithTimeout(ctx, e.feed.diffs.look)
	defer cancel()
	return e.readDiff(ctx, space, chats)
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
	now := seenIn(repos)
	ids := make([]chat.ID, 0, len(chats))
	for id := range chats {
		ids = append(ids, id)
	}
	if e.feed.diffs.learn(space, now) {
		if ids, err = e.chatsIn(ctx, space); err != nil {
			return err
		}
	}
	return e.giveDiff(ctx, space, now, ids)
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
func (e *Engine) giveDiff(ctx context.Context, space chat.WorkspaceID, now seenDiff, ids []chat.ID) error {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), diffBatch)]
		ids = ids[len(batch):]
		first := amendDiff(batch[0], space, now)
		rest := batch[1:]
		first.also = func(*kv.Tx, *chat.Chat) ([]change, error) {
			var more []change
			for _, id := range rest {
				more = append(more, amendDiff(id, space, now))
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
func amendDiff(id chat.ID, space chat.WorkspaceID, now seenDiff) change {
	return change{chat: id, quiet: true,
		event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
			if c.WorkspaceID != space || c.Archived || now.of(c) {
				return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "The chat has it already."}
			}
			return chat.Event{Kind: chat.Amend}, nil
		},
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error { c.Diff, c.DiffMark = now.status, now.mark; return nil }}
}
