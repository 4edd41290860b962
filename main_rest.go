package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// rest gives memory back to the machine when the appliance has nothing to do. The collector alone keeps for minutes what a busy
// one has needed: up to its percentage over what lives.
type rest struct {
	// allocated is what was allocated since the process began, in bytes; giveBack is what rest does.
	allocated func() uint64
	giveBack  func()
	seen      uint64
	// given is what was allocated when memory was last given back.
	given uint64
}

const (
	// restEvery is how long little must have been done.
	restEvery = 3 * time.Second
	// restQuiet is how much is allocated meanwhile, at most.
	restQuiet = 1 << 20
	// restWorth is how much must have been allocated since the last time.
	restWorth = 4 << 20
)

func newRest() *rest {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	return &rest{
		allocated: func() uint64 {
			metrics.Read(sample)
			return sample[0].Value.Uint64()
		},
		giveBack: debug.FreeOSMemory,
	}
}

// run looks until ctx ends.
func (r *rest) run(ctx context.Context) {
	every := time.NewTicker(restEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			r.look()
		}
	}
}

// look gives memory back once little has happened since the last look, and enough before; the start is enough.
func (r *rest) look() {
	now := r.allocated()
	quiet := now-r.seen <= restQuiet
	r.seen = now
	if !quiet || r.given > 0 && now-r.given < restWorth {
		return
	}
	r.given = now
	r.giveBack()
}
