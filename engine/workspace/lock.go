package workspace

import (
	"context"
	"sync"

	"holdfast/engine/chat"
)

// locks let one at a time make, set up, start, stop or delete a Workspace. They are held over what takes its time, never in a
// transaction.
type locks struct {
	mu   sync.Mutex // guards held
	held map[chat.WorkspaceID]chan struct{}
}

// lock waits for a Workspace; the func gives it back. It fails with the context's cause.
func (l *locks) lock(ctx context.Context, id chat.WorkspaceID) (func(), error) {
	for {
		l.mu.Lock()
		other, taken := l.held[id]
		if !taken {
			mine := make(chan struct{})
			if l.held == nil {
				l.held = map[chat.WorkspaceID]chan struct{}{}
			}
			l.held[id] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, id)
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
