package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// noTime clears a deadline.
var noTime time.Time

// deadlines remembers when the client-run Calls of which Chat are late. The record has the truth; this is where the loop looks.
type deadlines struct {
	mu sync.Mutex // guards at
	at map[chat.ID]time.Time
}

// note takes over what a Chat's record says.
func (d *deadlines) note(c *chat.Chat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.State != chat.RequiresAction || c.ActionDeadline.IsZero() {
		delete(d.at, c.ID)
		return
	}
	if d.at == nil {
		d.at = map[chat.ID]time.Time{}
	}
	d.at[c.ID] = c.ActionDeadline
}

// passed takes the Chats out whose deadline is over.
func (d *deadlines) passed(now time.Time) []chat.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []chat.ID
	for id, at := range d.at {
		if !now.Before(at) {
			out = append(out, id)
			delete(d.at, id)
		}
	}
	return out
}

// noteDeadlines reads the deadlines that an earlier process has set.
func (e *Engine) noteDeadlines(ctx context.Context) error {
	return e.store.View(ctx, func(tx *kv.Tx) error {
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range ids {
			c, found, err := tx.Chat(id)
			if err != nil {
				return err
			}
			if found {
				e.deadlines.note(c)
			}
		}
		return nil
	})
}

// endLate answers the client-run Calls whose deadline is over.
func (e *Engine) endLate(ctx context.Context) error {
	var failed error
	for _, id := range e.deadlines.passed(e.now()) {
		out, err := e.change(ctx, change{chat: id,
			event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
				if !c.Late(e.now()) {
					return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "Nothing is late."}
				}
				return chat.Event{Kind: chat.Deadline, OpenCards: c.OpenCards()}, nil
			},
			write: func(_ *kv.Tx, c *chat.Chat, m chat.Move) error {
				c.ActionDeadline = noTime
				if m.Effects.Has(chat.SetError) {
					c.LastError = &chat.Error{Kind: chat.KindActionTimeout, Message: "The client did not answer in time.", Retryable: true,
						Detail: "Start the program that runs the tools of this chat, then try again."}
				}
				return nil
			}})
		var refused *chat.Error
		if errors.As(err, &refused) && refused.Kind != chat.KindNoSpace {
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			e.deadlines.again(id, e.now())
			continue
		}
		if out.move.Effects.Has(chat.SetError) {
			e.meters.errors.Inc(string(chat.KindActionTimeout))
		}
	}
	return failed
}

// again lets the next look try it once more.
func (d *deadlines) again(id chat.ID, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, newer := d.at[id]; !newer {
		if d.at == nil {
			d.at = map[chat.ID]time.Time{}
		}
		d.at[id] = now
	}
}
