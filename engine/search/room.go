package search

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Options are what the Room is made of; zero values take defaults.
type Options struct {
	Store *kv.Store
	Log   *slog.Logger
	Now   func() time.Time
	// Delay is how long the Room waits after a change before it indexes, so that what comes together is indexed together; 1 s.
	Delay time.Duration
	// Hold is how often Chats that run are indexed; 30 s. Until then their newest Messages are read at query time.
	Hold time.Duration
}

// Room searches, and keeps the term index. Make it with New, Start it, and Close it before the store.
type Room struct {
	store *kv.Store
	log   *slog.Logger
	now   func() time.Time
	delay time.Duration
	hold  time.Duration

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	work   *indexer

	mu sync.Mutex
	// dirty Chats changed since they were looked at; broken says that the index must be dropped. Guarded by mu.
	dirty  map[chat.ID]bool
	broken bool
}

// New makes the Room; nothing runs before Start.
func New(o Options) *Room {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Delay == 0 {
		o.Delay = time.Second
	}
	if o.Hold == 0 {
		o.Hold = 30 * time.Second
	}
	r := &Room{store: o.Store, log: o.Log, now: o.Now, delay: o.Delay, hold: o.Hold, wake: make(chan struct{}, 1), dirty: map[chat.ID]bool{}}
	r.work = newIndexer(r)
	return r
}

// Committed notes that a Chat may have changed. It never waits.
func (r *Room) Committed(id chat.ID) {
	r.mu.Lock()
	r.dirty[id] = true
	r.mu.Unlock()
	r.touch()
}

// rebuild drops the index and makes it anew in the background.
func (r *Room) rebuild(why error) {
	r.log.Warn("the term index is made anew", chat.LogError, why)
	r.mu.Lock()
	r.broken = true
	r.mu.Unlock()
	r.touch()
}

func (r *Room) touch() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take gives the Chats that changed and forgets them.
func (r *Room) take() (dirty map[chat.ID]bool, broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dirty, broken = r.dirty, r.broken
	r.dirty, r.broken = map[chat.ID]bool{}, false
	return dirty, broken
}

// Start begins to index: first what is missing, then what changes.
func (r *Room) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	go r.run(ctx)
}

// Close ends the indexing between two small commits and joins it. What is missing then is indexed after the next start.
func (r *Room) Close() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	<-r.done
}

// retryAfter is how long the Room waits when the store takes no writes.
const retryAfter = 30 * time.Second

func (r *Room) run(ctx context.Context) {
	defer close(r.done)
	for again := false; ctx.Err() == nil; {
		err := r.work.pass(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, kv.ErrClosed):
			return
		case err != nil && !again:
			// A store that is full or read-only says so itself; searching goes on without the index.
			r.log.Warn("the term index is behind", chat.LogError, err)
		}
		again = err != nil
		wait := r.hold
		wake := r.wake
		if again {
			wait, wake = retryAfter, nil
		} else if r.work.idle() {
			wait = 0
		}
		if !pause(ctx, wait, wake) || !again && !pause(ctx, r.delay, nil) {
			return
		}
	}
}

// pause waits for a time (0: no end) or a wake, and says false when ctx ended.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-over:
	case <-wake:
	}
	return true
}
