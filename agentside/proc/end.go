package proc

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/chat"
)

// End terminates the processes of one Workspace, kills them after five seconds or when ctx ends, and waits until they are gone or ctx
// ends. What they printed stays.
func (m *Manager) End(ctx context.Context, id chat.WorkspaceID) error {
	touched, stop := m.watchers.watch("w:" + string(id))
	defer stop()
	late := time.NewTimer(m.opts.grace)
	defer late.Stop()
	for kill := false; ; {
		running := m.signalIn(id, kill)
		if running == 0 {
			break
		}
		if kill && ctx.Err() != nil {
			return fmt.Errorf("end the processes of a workspace: %w", context.Cause(ctx))
		}
		if err := m.await(ctx, id, touched, late.C); err != nil {
			kill = true
		}
	}
	ids := m.startedIn(id)
	if err := m.endEscapedOf(ctx, ids); err != nil {
		return fmt.Errorf("end the processes of a workspace: %w", err)
	}
	return nil
}

// await returns nil when no process of the Workspace runs any more, else an error: it is time to kill.
func (m *Manager) await(ctx context.Context, id chat.WorkspaceID, touched <-chan struct{}, late <-chan time.Time) error {
	for len(m.runningIn(id)) > 0 {
		select {
		case <-touched:
		case <-late:
			return context.DeadlineExceeded
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// signalIn signals what runs in a Workspace and says how many that are.
func (m *Manager) signalIn(id chat.WorkspaceID, kill bool) int {
	running := m.runningIn(id)
	for _, p := range running {
		// An error says that it has just ended.
		_ = signalGroup(p.pid, kill)
	}
	return len(running)
}

func (m *Manager) runningIn(id chat.WorkspaceID) []*process {
	var some []*process
	for _, p := range m.all() {
		if p.scope.workspace != id {
			continue
		}
		if ended, _ := p.buffer.state(); !ended {
			some = append(some, p)
		}
	}
	return some
}

// startedIn are the ids of the listed processes of a Workspace: those that run, and those that may have left something behind.
func (m *Manager) startedIn(id chat.WorkspaceID) map[string]bool {
	listed := m.ledger.ids()
	m.mu.Lock()
	defer m.mu.Unlock()
	some := map[string]bool{}
	for one := range listed {
		if p := m.processes[one]; p != nil && p.scope.workspace == id {
			some[one] = true
		} else if r, ok := m.receipts.get(one); ok && r.workspace == id {
			some[one] = true
		}
	}
	return some
}
