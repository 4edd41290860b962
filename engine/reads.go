package engine

import (
	"context"
	"maps"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// reads is what a Chat's model has seen of files (chat.Reads). It is read from the store when first asked and written with each Step.
type reads struct {
	chat  chat.ID
	store *kv.Store

	mu     sync.Mutex // guards seen and dirty
	seen   map[string]string
	loaded sync.Once
	// dirty: something was noted since the Turn began.
	dirty bool
}

var _ chat.Reads = (*reads)(nil)

func (r *reads) load() {
	r.loaded.Do(func() {
		var seen map[string]string
		err := r.store.View(context.Background(), func(tx *kv.Tx) (err error) {
			seen, err = tx.FileReads(r.chat)
			return err
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil || seen == nil {
			// Unreadable notes count as none: the stale check then asks the model to read again.
			seen = map[string]string{}
		}
		r.seen = seen
	})
}

// Seen gives the hash noted for a path.
func (r *reads) Seen(path string) (string, bool) {
	r.load()
	r.mu.Lock()
	defer r.mu.Unlock()
	etag, ok := r.seen[path]
	return etag, ok
}

// Note stores the hash of a path as the model saw it.
func (r *reads) Note(path, etag string) {
	r.load()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[path] = etag
	r.dirty = true
}

// all gives a copy to store, nil while the Turn has noted nothing.
func (r *reads) all() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty {
		return nil
	}
	return maps.Clone(r.seen)
}
