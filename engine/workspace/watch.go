package workspace

import (
	"context"
	"sync"

	"holdfast/engine/chat"
)

// feed wakes those who look at Workspaces, and knows what is being said where one is made. A wake carries nothing: who is woken reads
// again. The zero feed works.
type feed struct {
	mu   sync.Mutex // guards the rest
	subs map[chan struct{}]struct{}
	logs map[chat.WorkspaceID]*ending
}

// WatchInput is for the caller's Workspaces.
type WatchInput struct{}

// Watching is a subscription: C is touched after each change of a Workspace or Template, and while a setup speaks. Stop ends it and must
// be called.
type Watching struct {
	C    <-chan struct{}
	Stop func()
}

// Watch subscribes to changes. Subscribe before the first read.
func (r *Room) Watch(context.Context, chat.Principal, WatchInput) (Watching, error) {
	f, ch := &r.feed, make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subs == nil {
		f.subs = map[chan struct{}]struct{}{}
	}
	f.subs[ch] = struct{}{}
	return Watching{C: ch, Stop: func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, ch)
	}}, nil
}

func (f *feed) touch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// touched wakes the readers after a change that was stored.
func (r *Room) touched(err error) error {
	if err == nil {
		r.feed.touch()
	}
	return err
}

// speak shows what is said while a Workspace is made, until the func is called.
func (f *feed) speak(id chat.WorkspaceID, said *ending) (silent func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs == nil {
		f.logs = map[chat.WorkspaceID]*ending{}
	}
	f.logs[id] = said
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.logs, id)
	}
}

// hear puts into a record what is being said at this moment.
func (f *feed) hear(w *chat.WorkspaceRecord) {
	f.mu.Lock()
	said := f.logs[w.ID]
	f.mu.Unlock()
	if said != nil {
		w.Made.Log = said.end()
	}
}
