package proc

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

var _ chat.Fencer = (*Scope)(nil)

// Fence signals a process, or keeps one that has not begun from ever beginning: a start that is still on its way comes too late then.
// One that has ended is no error.
func (s *Scope) Fence(ctx context.Context, chatID chat.ID, id string, signal string) error {
	if !chat.PlainName(id) {
		return fail("invalid", "The id of a process has letters, digits, - and _, at most 64.")
	}
	p, err := s.fence(chatID, id)
	if err != nil || p == nil {
		return err
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return fmt.Errorf("fence of process %s: %w", id, context.Cause(ctx))
	}
	err = s.Signal(ctx, chatID, id, signal)
	var refused *chat.ProcessError
	if errors.As(err, &refused) && (refused.Kind == "exited" || refused.Kind == "not_found") {
		return nil
	}
	return err
}

// fence gives the process of the id, or takes the id so that nothing has it.
func (s *Scope) fence(chatID chat.ID, id string) (*process, error) {
	m := s.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.processes[id]; p != nil {
		if !p.isIn(s, chatID) {
			return nil, unknown(id)
		}
		return p, nil
	}
	if _, ok := m.receipts.get(id); !ok {
		m.receipts.put(id, receipt{workspace: s.workspace, fenced: true})
	}
	return nil, nil
}
