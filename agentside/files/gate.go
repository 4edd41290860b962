package files

import (
	"context"
	"slices"
	"sync"
)

// Gate lets one writer at a time at each real file.
type Gate struct {
	// mu guards turns and their counts.
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is a lock that can be waited for with a context; held while files are written, which a mutex must not be.
type turn struct {
	free  chan struct{}
	users int
}

// NewGate gives a Gate that nobody has entered.
func NewGate() *Gate { return &Gate{turns: map[string]*turn{}} }

// enter waits until all the paths are free and takes them; leave gives them back. Paths are taken in one order by everybody,
// so that two that want the same ones cannot wait for each other.
func (g *Gate) enter(ctx context.Context, paths ...string) (leave func(), err error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	for i, path := range paths {
		if err := g.take(ctx, path); err != nil {
			g.give(paths[:i])
			return nil, err
		}
	}
	return func() { g.give(paths) }, nil
}

func (g *Gate) take(ctx context.Context, path string) error {
	g.mu.Lock()
	t := g.turns[path]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		g.turns[path] = t
	}
	t.users++
	g.mu.Unlock()
	select {
	case <-t.free:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropLocked(path, t)
	return ctx.Err()
}

func (g *Gate) give(paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, path := range paths {
		t := g.turns[path]
		t.free <- struct{}{}
		g.dropLocked(path, t)
	}
}

// dropLocked forgets a turn that nobody uses or waits for.
func (g *Gate) dropLocked(path string, t *turn) {
	t.users--
	if t.users == 0 {
		delete(g.turns, path)
	}
}
