package proc

import "sync"

// watchers are channels with room for one: a touch that nobody has taken yet says all that another would.
type watchers struct {
	// mu guards byID.
	mu   sync.Mutex
	byID map[string]map[chan struct{}]bool
}

func (w *watchers) watch(id string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[string]map[chan struct{}]bool{}
	}
	if w.byID[id] == nil {
		w.byID[id] = map[chan struct{}]bool{}
	}
	w.byID[id][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byID[id], c)
		if len(w.byID[id]) == 0 {
			delete(w.byID, id)
		}
	}
}

func (w *watchers) touch(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.byID[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
