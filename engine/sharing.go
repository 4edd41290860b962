package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// shared are the directories in which Turns run at this moment: by directory the Chats, each with the root of its family.
type shared map[string]map[chat.ID]chat.ID

// placeKey tells one directory from all others; "" is none.
func placeKey(w *chat.WorkspaceRecord) string {
	if w == nil || w.Directory == "" {
		return ""
	}
	return string(w.AgentID) + ":" + w.Directory
}

// enterPlace notes that the run works in its directory, once it has one, and tells those who look at other Chats there.
func (r *run) enterPlace() {
	p := &r.t.extra.place
	if p.leave != nil || r.t.record == nil {
		return
	}
	root := r.t.chat.RootID
	if root == "" {
		root = r.id
	}
	p.leave = r.e.feed.enter(placeKey(r.t.record), r.id, root)
}

func (r *run) leavePlace() {
	if leave := r.t.extra.place.leave; leave != nil {
		leave()
	}
}

// enter notes a Chat at work in a directory; the func ends that. Both wake whoever looks at a Chat there.
func (f *feed) enter(dir string, id, root chat.ID) (leave func()) {
	if dir == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[dir] == nil {
		f.shared[dir] = map[chat.ID]chat.ID{}
	}
	f.shared[dir][id] = root
	f.wakePlaceLocked(dir, id)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.shared[dir], id)
		if len(f.shared[dir]) == 0 {
			delete(f.shared, dir)
		}
		f.wakePlaceLocked(dir, id)
	}
}

func (f *feed) wakePlaceLocked(dir string, but chat.ID) {
	for id, l := range f.chats {
		if id != but && l.base != nil && placeKey(l.base.workspace) == dir {
			wakeAll(l.subs)
		}
	}
}

// others counts the families beside a Chat's own that work in its directory at this moment.
func (f *feed) others(c *chat.Chat, w *chat.WorkspaceRecord) int {
	dir := placeKey(w)
	if dir == "" {
		return 0
	}
	own := c.RootID
	if own == "" {
		own = c.ID
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	roots := map[chat.ID]bool{}
	for _, root := range f.shared[dir] {
		if root != own {
			roots[root] = true
		}
	}
	return len(roots)
}

// sharing counts the other Chats that are not at rest in the same directory, families apart.
func (e *Engine) sharing(ctx context.Context, id chat.ID, w chat.WorkspaceRecord) (n int, err error) {
	return n, e.store.View(ctx, func(tx *kv.Tx) error {
		n = 0
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, other := range ids {
			c, found, err := tx.Chat(other)
			if err != nil {
				return err
			}
			if !found || c.RootID == id || c.WorkspaceID == "" {
				continue
			}
			rec, found, err := tx.Workspace(c.WorkspaceID)
			if err != nil {
				return err
			}
			if found && placeKey(rec) == placeKey(&w) {
				n++
			}
		}
		return nil
	})
}
