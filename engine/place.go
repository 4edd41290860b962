package engine

import "sync/atomic"

// place is what a Turn knows of its Workspace beyond the handle.
type place struct {
	// awake: the Workspace runs, and goes on running for as long as this Turn does.
	awake atomic.Bool
}

// wake starts the Turn's Workspace if it was stopped, before the first Call that needs it.
func (r *run) wake() error {
	p := &r.t.extra.place
	if r.e.ports.spaces == nil || r.t.record == nil || p.awake.Load() {
		return nil
	}
	if err := r.e.ports.spaces.Wake(r.ctx, r.t.record.ID); err != nil {
		return err
	}
	p.awake.Store(true)
	return nil
}
