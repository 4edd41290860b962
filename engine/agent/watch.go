package agent

import (
	"context"
	"sync"

	"holdfast/engine/chat"
)

// feed wakes those who look at the Agents. A wake carries nothing: who is woken reads again. The zero feed works.
type feed struct {
	mu   sync.Mutex // guards subs
	subs map[chan struct{}]struct{}
}

// WatchInput is for all Agents.
type WatchInput struct{}

// Watching is a subscription: C is touched after each change of an Agent, of its link and of what it says of its machine, and of the
// enrolments that wait. Stop ends it and must be called.
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

// Moved wakes those who look.
//
//guard:none the links tell that an Agent came, went or spoke
func (r *Room) Moved() {
	f := &r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// touched wakes them after a change that was stored.
func (r *Room) touched(err error) error {
	if err == nil {
		r.Moved()
	}
	return err
}
