package wctx

import (
	"context"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// passes are the readings that are under way.
type passes struct {
	// newest is the epoch of the last one that began, published that of the last one that counted.
	newest, published uint64
	under             map[uint64]struct{}
	// ended is closed, and replaced, when one ends.
	ended chan struct{}
}

func newPasses() passes { return passes{under: map[uint64]struct{}{}, ended: make(chan struct{})} }

// outcome is what became of a pass.
type outcome struct {
	epoch uint64
	// won: it was published, or gave what is published already. A pass that did not win changed nothing.
	won bool
}

// pass reads everything once. It is published only if no newer pass has begun meanwhile. A quiet one is published only if it differs.
func (m *Manager) pass(ctx context.Context, quiet bool) (outcome, error) {
	m.mu.Lock()
	s := &m.state
	if s.closed {
		m.mu.Unlock()
		return outcome{}, chat.ErrContextClosed
	}
	if !s.ready {
		m.mu.Unlock()
		return outcome{won: true}, nil
	}
	s.passes.newest++
	epoch := s.passes.newest
	s.passes.under[epoch] = struct{}{}
	// The list itself is never changed, only replaced.
	sources, dir, watcher := s.sources, s.dir, s.watcher
	m.mu.Unlock()
	defer m.ended(epoch)

	var servers []chat.Resource
	settled := true
	if m.o.Servers.List != nil {
		servers, settled = m.o.Servers.List()
	}
	roots, problems := m.roots(sources, dir)
	// What changes from here on is seen.
	if watcher != nil {
		if err := watcher.Sync(ctx, roots, epoch); err != nil {
			return outcome{epoch: epoch}, err
		}
	}
	began := time.Now()
	read, err := m.resolver.resolve(ctx, roots, servers)
	if err != nil {
		return outcome{epoch: epoch}, err
	}
	m.o.Resolved(time.Since(began))
	// Where no config is, there is nothing to wait for.
	settled = settled || len(read.configs) == 0 && len(servers) == 0
	fresh := chat.Snapshot{BootID: m.o.BootID, Ready: true, MCPSettled: settled, Resources: read.resources, PayloadBytes: read.payloadBytes}
	trouble := []string{strings.Join(read.left, "; "), strings.Join(append(problems, read.problems...), "; ")}
	won := m.publish(epoch, fresh, trouble, watcher, quiet)
	if won && m.o.Servers.Load != nil {
		m.o.Servers.Load(read.configs)
	}
	return outcome{epoch: epoch, won: won}, nil
}

func (m *Manager) ended(epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.state.passes
	delete(p.under, epoch)
	close(p.ended)
	p.ended = make(chan struct{})
}

// publish replaces the Snapshot unless a newer pass has begun.
func (m *Manager) publish(epoch uint64, fresh chat.Snapshot, trouble []string, watcher *watcher, quiet bool) (won bool) {
	if watcher != nil {
		trouble = append(trouble, watcher.Reason())
	}
	m.mu.Lock()
	problem := m.state.problem
	m.mu.Unlock()
	fresh.Error = joinProblems(append([]string{trouble[0], problem}, trouble[1:]...)...)
	fresh = finish(fresh)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.state
	if s.closed || epoch != s.passes.newest {
		return false
	}
	s.passes.published = epoch
	if quiet && s.snapshot.Version > 0 && fresh.FullHash == s.snapshot.FullHash {
		return true
	}
	fresh.Version = s.snapshot.Version + 1
	s.snapshot = fresh
	for w := range s.watching {
		ring(w.touched)
	}
	return true
}

// Resync reads everything and gives what is published then. One that was overtaken waits for who overtook it.
func (m *Manager) Resync(ctx context.Context) (chat.Snapshot, error) {
	life, cancel := m.lifetime(ctx)
	defer cancel()
	arrival := m.newest()
	select {
	case m.walks <- struct{}{}:
	case <-life.Done():
		return m.ending(ctx)
	}
	for {
		if m.since(arrival) {
			<-m.walks
			return m.Snapshot(), nil
		}
		got, err := m.pass(life, false)
		if err != nil || got.won {
			<-m.walks
			return m.outcome(ctx, err)
		}
		// Whoever overtook must not find the walks taken by who waits for it.
		<-m.walks
		if err := m.overtaken(life, got.epoch); err != nil {
			return m.ending(ctx)
		}
		select {
		case m.walks <- struct{}{}:
		case <-life.Done():
			return m.ending(ctx)
		}
		arrival = got.epoch
	}
}

func (m *Manager) outcome(ctx context.Context, err error) (chat.Snapshot, error) {
	if err == nil {
		return m.Snapshot(), nil
	}
	if ctx.Err() != nil || m.isClosed() {
		return m.ending(ctx)
	}
	return m.Snapshot(), err
}

// ending gives the live Snapshot and why nothing newer comes.
func (m *Manager) ending(ctx context.Context) (chat.Snapshot, error) {
	if m.isClosed() {
		return m.Snapshot(), chat.ErrContextClosed
	}
	return m.Snapshot(), ctx.Err()
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.closed
}

func (m *Manager) newest() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.passes.newest
}

// since says whether a pass that began later than this epoch was published.
func (m *Manager) since(epoch uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.passes.published > epoch
}

// overtaken waits until a newer pass is published, or none is under way any more.
func (m *Manager) overtaken(ctx context.Context, epoch uint64) error {
	for {
		m.mu.Lock()
		p := &m.state.passes
		settled := p.published > epoch
		if !settled {
			settled = true
			for e := range p.under {
				settled = settled && e <= epoch
			}
		}
		ended := p.ended
		m.mu.Unlock()
		if settled {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
