package proc

import (
	"context"
	"fmt"
	"time"
)

// Close refuses new starts, terminates all processes, kills them after five seconds or when ctx ends, and waits until they and
// the goroutines that watch them are gone or ctx ends. Closing again waits too.
func (m *Manager) Close(ctx context.Context) error {
	m.spawning.Lock()
	select {
	case <-m.closing:
	default:
		close(m.closing)
	}
	m.spawning.Unlock()
	gone := make(chan struct{})
	go func() {
		m.running.Wait()
		close(gone)
	}()
	m.signalAll(false)
	late := time.NewTimer(m.opts.grace)
	defer late.Stop()
	select {
	case <-gone:
	case <-late.C:
		m.signalAll(true)
	case <-ctx.Done():
		m.signalAll(true)
	}
	if err := m.endEscaped(ctx); err != nil {
		return fmt.Errorf("end processes: %w", err)
	}
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("end processes: %w", context.Cause(ctx))
	}
	if err := m.ledger.clear(); err != nil {
		return fmt.Errorf("write the list of processes: %w", err)
	}
	return nil
}

func (m *Manager) signalAll(kill bool) {
	for _, p := range m.all() {
		if ended, _ := p.buffer.state(); !ended {
			// An error says that it has just ended.
			_ = signalGroup(p.pid, kill)
		}
	}
}

func (m *Manager) all() []*process {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*process
	for _, p := range m.processes {
		if p.isReady() {
			all = append(all, p)
		}
	}
	return all
}
