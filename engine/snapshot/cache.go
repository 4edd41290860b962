package snapshot

import (
	"slices"
	"sync"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// A page that is open asks for its View at each change of its Chat, and the two Snapshots in it seldom change: what was read of them is
// kept by their addresses, which name their content.

// maxRead is how many Views are kept; one has no Payload.
const maxRead = 64

// readKey names what a View was read from.
type readKey struct {
	workspace    chat.WorkspaceID
	newest, used chat.Hash
	directory    string
	window       int
}

// readView is what was read. Nobody changes it.
type readView struct {
	newest  chat.SnapshotRecord
	items   []Item
	changes []Change
	used    int64
	skills  prompt.SkillList
}

// readViews are those that were read last. The zero value is empty.
type readViews struct {
	// mu guards the rest.
	mu    sync.Mutex
	byKey map[readKey]*readView
	order []readKey
}

func (c *readViews) get(key readKey) *readView {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byKey[key]
}

func (c *readViews) put(key readKey, v *readView) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[readKey]*readView{}
	}
	if c.byKey[key] == nil {
		c.order = append(c.order, key)
	}
	c.byKey[key] = v
	if len(c.order) > maxRead {
		delete(c.byKey, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
}

// show puts what was read into a View.
func (v *View) show(r *readView) {
	newest := r.newest
	v.Newest, v.Items, v.Changes, v.Used, v.Skills = &newest, slices.Clone(r.items), slices.Clone(r.changes), r.used, r.skills
}
