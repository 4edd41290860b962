package agentside

import (
	"sync"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// changes are the subscriptions to the files of Workspaces. A channel has room for one: a touch that nobody has taken yet says all
// that another would.
type changes struct {
	// trees see what files anybody changes.
	trees *wctx.Trees
	// mu guards the rest.
	mu     sync.Mutex
	report func(chat.WorkspaceID)
	byID   map[chat.WorkspaceID]map[chan struct{}]bool
}

func (c *changes) watch(id chat.WorkspaceID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID = map[chat.WorkspaceID]map[chan struct{}]bool{}
	}
	if c.byID[id] == nil {
		c.byID[id] = map[chan struct{}]bool{}
	}
	c.byID[id][ch] = true
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.byID[id], ch)
		if len(c.byID[id]) == 0 {
			delete(c.byID, id)
		}
	}
}

// touch tells all who watch a Workspace, and the report, that its files may have changed.
func (c *changes) touch(id chat.WorkspaceID) {
	c.mu.Lock()
	report := c.report
	for ch := range c.byID[id] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	c.mu.Unlock()
	if report != nil {
		report(id)
	}
}

// OnChange names who is told of each Workspace whose files may have changed: by a write, an edit, the end of a command or what a
// watcher saw. It must not wait. Call it before the first Open.
func (w *Workspaces) OnChange(report func(chat.WorkspaceID)) {
	w.changes.mu.Lock()
	defer w.changes.mu.Unlock()
	w.changes.report = report
}
