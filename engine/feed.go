package engine

import (
	"sync"

	"holdfast/engine/chat"
)

// feed wakes readers. A wake carries nothing; a subscriber's channel has room for one, so touching never blocks and nothing is lost: a
// woken reader reads the newest state. Subscribe before the first read.
type feed struct {
	mu     sync.Mutex // guards all maps; never held while a live's own lock is taken by a writer of its Draft
	chats  map[chat.ID]*live
	owners map[chat.UserID]map[*listener]struct{}
	// naming are the Chats for which a title is being made because a person asked.
	naming map[chat.ID]bool
	// places wait for the newest context of a Workspace.
	places map[chat.WorkspaceID]map[chan struct{}]struct{}
	// shared are the Chats at work, by where.
	shared shared
	// diffs and late have locks of their own.
	diffs *diffs
	late  recoveries
}

// live is what memory knows of a Chat that somebody reads or runs.
type live struct {
	subs map[chan struct{}]struct{}
	// run is the registered run, nil when nobody runs the Chat here.
	run *run
	// changes counts commits; base is what was read since the last one, nil when nobody read it yet.
	changes int64
	base    *base
}

func newFeed() *feed {
	return &feed{chats: map[chat.ID]*live{}, places: map[chat.WorkspaceID]map[chan struct{}]struct{}{}, naming: map[chat.ID]bool{}, owners: map[chat.UserID]map[*listener]struct{}{}, shared: newShared(),
		diffs: newDiffs()}
}

// beginNaming is false while the Chat is being named already; else endNaming must follow.
func (f *feed) beginNaming(id chat.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.naming[id] {
		return false
	}
	f.naming[id] = true
	return true
}

func (f *feed) endNaming(id chat.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.naming, id)
}

// subscribe gives a channel that is touched after each change of the Chat, and the func that ends the subscription.
func (f *feed) subscribe(id chat.ID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	f.mu.Lock()
	l := f.entry(id)
	l.subs[ch] = struct{}{}
	f.mu.Unlock()
	return ch, sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(l.subs, ch)
		f.drop(id, l)
	})
}

// touch wakes the readers of a Chat, and says whether it has any.
func (f *feed) touch(id chat.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.chats[id]
	if l == nil {
		return false
	}
	wakeAll(l.subs)
	return len(l.subs) > 0
}

// subscribePlace gives a channel that is touched after each Snapshot of the Workspace, and the func that ends the subscription.
func (f *feed) subscribePlace(id chat.WorkspaceID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.places[id] == nil {
		f.places[id] = map[chan struct{}]struct{}{}
	}
	f.places[id][ch] = struct{}{}
	return ch, sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.places[id], ch)
		if len(f.places[id]) == 0 {
			delete(f.places, id)
		}
	})
}

func (f *feed) touchPlace(id chat.WorkspaceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wakeAll(f.places[id])
}

func (f *feed) watched(id chat.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.chats[id]
	return l != nil && len(l.subs) > 0
}

// register makes r the Chat's run, so that interrupts reach it and readers see its Draft.
func (f *feed) register(id chat.ID, r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entry(id).run = r
}

// unregister removes r, and only r.
func (f *feed) unregister(id chat.ID, r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.chats[id]
	if l == nil || l.run != r {
		return
	}
	l.run = nil
	f.drop(id, l)
}

// runOf gives the Chat's run, nil when there is none.
func (f *feed) runOf(id chat.ID) *run {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.chats[id]; l != nil {
		return l.run
	}
	return nil
}

func (f *feed) entry(id chat.ID) *live {
	l := f.chats[id]
	if l == nil {
		l = &live{subs: map[chan struct{}]struct{}{}}
		f.chats[id] = l
	}
	return l
}

func (f *feed) drop(id chat.ID, l *live) {
	if l.run == nil && len(l.subs) == 0 && f.chats[id] == l {
		delete(f.chats, id)
	}
}

func wakeAll(subs map[chan struct{}]struct{}) {
	for ch := range subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
