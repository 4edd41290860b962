package engine

import (
	"context"
	"errors"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// recoveries are the Chats that are being recovered beside the others. The zero value has none.
type recoveries struct {
	mu sync.Mutex // guards of
	of map[chat.ID]bool
}

// begin is false while the Chat is being recovered already; else end must follow.
func (r *recoveries) begin(id chat.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[id] {
		return false
	}
	if r.of == nil {
		r.of = map[chat.ID]bool{}
	}
	r.of[id] = true
	return true
}

// has says whether a Chat is being recovered.
func (r *recoveries) has(id chat.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[id]
}

func (r *recoveries) end(id chat.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, id)
}

// besideAgent says whether files beside an Agent have to be looked at before a Chat is recovered.
func (e *Engine) besideAgent(ctx context.Context, id chat.ID) (beside bool, err error) {
	err = e.store.View(ctx, func(tx *kv.Tx) error {
		beside = false
		intents, err := tx.Intents(id)
		for _, in := range intents {
			if err != nil || in.Class != chat.ClassChecked || in.Result != nil {
				continue
			}
			var w *chat.WorkspaceRecord
			var found bool
			w, found, err = tx.Workspace(in.Workspace)
			beside = beside || found && w.Kind == chat.WorkspaceAgent
		}
		return err
	})
	return beside, err
}

// recoverLate recovers a Chat that waits for an Agent. That comes back only when the appliance is up, and may not come at all, so neither the
// start nor other Chats wait for it.
func (e *Engine) recoverLate(c *chat.Chat, reason string, lost func(*chat.Chat) bool) {
	if !e.feed.late.begin(c.ID) {
		return
	}
	seen := c.Version
	e.runner.sweeper.Go(func() {
		defer e.feed.late.end(c.ID)
		// What was decided about an older state of the Chat is not written; the next sweep looks again.
		same := func(now *chat.Chat) bool { return lost(now) && now.Version == seen }
		done, err := e.recoverChat(e.runner.ctx, c, same)
		if isDamaged(err) {
			done, err = e.giveUp(e.runner.ctx, c, same, err)
		}
		switch {
		case done:
			e.meters.recovered.Inc(reason)
		case err != nil && e.runner.ctx.Err() == nil && !errors.Is(err, errFenced):
			e.log.Error("a chat beside an agent could not be recovered", chat.LogChat, c.ID, chat.LogError, err)
		}
	})
}
