package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// shared are the Chats that are not at rest and have a Workspace. One that waits for its turn or for an answer counts: its changes meet those
// of others too.
type shared struct {
	at map[chat.ID]worker
	// there are the same by where they work: the root of each.
	there map[string]map[chat.ID]chat.ID
	// rested are the Versions in which others have come to rest, so that what an older one says of them comes too late.
	rested map[chat.ID]int64
}

// worker is a Chat that is not at rest, and where it works.
type worker struct {
	root  chat.ID
	space chat.WorkspaceID
	// dir tells its directory from all others, "" while there is none.
	dir     string
	version int64
}

// maxRested is how many Chats that have come to rest are remembered.
const maxRested = 1000

func newShared() shared {
	return shared{at: map[chat.ID]worker{}, there: map[string]map[chat.ID]chat.ID{}, rested: map[chat.ID]int64{}}
}

// placeKey tells one directory from all others; "" is none.
func placeKey(w *chat.WorkspaceRecord) string {
	if w == nil || w.Directory == "" {
		return ""
	}
	return string(w.AgentID) + ":" + w.Directory
}

func rootOf(c *chat.Chat) chat.ID {
	if c.RootID == "" {
		return c.ID
	}
	return c.RootID
}

// places are where a Chat of a Workspace meets others: in the Workspace, and in its directory, which several Workspaces may have in common.
func places(space chat.WorkspaceID, dir string) []string {
	if dir == "" {
		return []string{string(space)}
	}
	return []string{string(space), dir}
}

// meet notes after a change of a Chat whether it is at work, and where.
func (e *Engine) meet(c *chat.Chat) {
	if c.State.AtRest() || c.WorkspaceID == "" {
		e.feed.leavePlace(c)
		return
	}
	if e.feed.staysAt(c) {
		return
	}
	dir := ""
	err := e.store.View(context.Background(), func(tx *kv.Tx) error {
		rec, _, err := tx.Workspace(c.WorkspaceID)
		dir = placeKey(rec)
		return err
	})
	if err != nil {
		e.log.Warn("it is not known who else works in the directory of a chat", chat.LogChat, c.ID, chat.LogError, err)
	}
	e.feed.enterPlace(c, dir)
}

// meetAll notes the Chats that an earlier process left at work, or waiting for an answer.
func (e *Engine) meetAll(ctx context.Context) error {
	var all []*chat.Chat
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		all = nil
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range ids {
			c, found, err := tx.Chat(id)
			var damaged *kv.DamageError
			if err != nil && !errors.As(err, &damaged) {
				return err
			}
			if found && err == nil {
				all = append(all, c)
			}
		}
		return nil
	})
	for _, c := range all {
		e.meet(c)
	}
	return err
}

// enterPlace notes where the run's Workspace is now: it may have been made since the Chat began to work there.
func (r *run) enterPlace() {
	if r.t.record != nil {
		r.e.feed.movePlace(r.id, r.t.record)
	}
}

// staysAt says whether it is known already where a Chat works; its Version is noted.
func (f *feed) staysAt(c *chat.Chat) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.shared.at[c.ID]
	if !known || was.space != c.WorkspaceID {
		return false
	}
	was.version = max(was.version, c.Version)
	f.shared.at[c.ID] = was
	return true
}

// enterPlace notes where a Chat works, and wakes whoever looks at another one there.
func (f *feed) enterPlace(c *chat.Chat, dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, known := f.shared.at[c.ID]; f.shared.rested[c.ID] >= c.Version || known && was.version >= c.Version {
		return
	}
	f.removeLocked(c.ID)
	delete(f.shared.rested, c.ID)
	f.addLocked(c.ID, worker{root: rootOf(c), space: c.WorkspaceID, dir: dir, version: c.Version})
}

// movePlace notes another directory of the Workspace in which a Chat works.
func (f *feed) movePlace(id chat.ID, rec *chat.WorkspaceRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, known := f.shared.at[id]
	if dir := placeKey(rec); known && w.space == rec.ID && w.dir != dir {
		f.removeLocked(id)
		w.dir = dir
		f.addLocked(id, w)
	}
}

// leavePlace notes that a Chat works nowhere any more.
func (f *feed) leavePlace(c *chat.Chat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared.at[c.ID].version > c.Version {
		return
	}
	f.removeLocked(c.ID)
	if len(f.shared.rested) == maxRested {
		clear(f.shared.rested)
	}
	f.shared.rested[c.ID] = c.Version
}

func (f *feed) addLocked(id chat.ID, w worker) {
	f.shared.at[id] = w
	for _, key := range places(w.space, w.dir) {
		if f.shared.there[key] == nil {
			f.shared.there[key] = map[chat.ID]chat.ID{}
		}
		f.shared.there[key][id] = w.root
	}
	f.wakeThereLocked(w)
}

func (f *feed) removeLocked(id chat.ID) {
	w, known := f.shared.at[id]
	if !known {
		return
	}
	delete(f.shared.at, id)
	for _, key := range places(w.space, w.dir) {
		if delete(f.shared.there[key], id); len(f.shared.there[key]) == 0 {
			delete(f.shared.there, key)
		}
	}
	f.wakeThereLocked(w)
}

func (f *feed) wakeThereLocked(w worker) {
	for _, l := range f.chats {
		b := l.base
		if b == nil || b.workspace == nil || rootOf(b.chat) == w.root {
			continue
		}
		if b.workspace.ID == w.space || w.dir != "" && placeKey(b.workspace) == w.dir {
			wakeAll(l.subs)
		}
	}
}

// others counts the families beside a Chat's own that work in its directory at this moment.
func (f *feed) others(c *chat.Chat, w *chat.WorkspaceRecord) int {
	if w == nil {
		return 0
	}
	own := rootOf(c)
	roots := map[chat.ID]bool{}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range places(w.ID, placeKey(w)) {
		for _, root := range f.shared.there[key] {
			if root != own {
				roots[root] = true
			}
		}
	}
	return len(roots)
}
