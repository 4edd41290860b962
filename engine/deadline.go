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
	mu sync.Mutex // guards of
	of map[chat.ID]due
}

// due is a deadline: as the Chat's record says it, and when that is whatever the machine's clock is set to meanwhile.
type due struct {
	stored, at time.Time
}

// note takes over what a Chat's record says.
func (d *deadlines) note(c *chat.Chat, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.State != chat.RequiresAction || c.ActionDeadline.IsZero() {
		delete(d.of, c.ID)
		return
	}
	if d.of == nil {
		d.of = map[chat.ID]due{}
	}
	if !d.of[c.ID].stored.Equal(c.ActionDeadline) {
		d.of[c.ID] = due{c.ActionDeadline, time.Now().Add(timeLeft(c, now))}
	}
}

// timeLeft is never more than the program was given, also where the clock was set back since.
func timeLeft(c *chat.Chat, now time.Time) time.Duration {
	left := c.ActionDeadline.Sub(now)
	for _, o := range c.Outstanding {
		if o.Kind == chat.OutstandingClient {
			left = min(left, c.ActionDeadline.Sub(o.AskedAt))
		}
	}
	return left
}

// passed takes the Chats out whose deadline is over.
func (d *deadlines) passed() map[chat.ID]due {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[chat.ID]due{}
	for id, one := range d.of {
		if !time.Now().Before(one.at) {
			out[id] = one
			delete(d.of, id)
		}
	}
	return out
}

// noteActive reads the deadlines that an earlier process has set, and since when Chats wait for their turn.
func (e *Engine) noteActive(ctx context.Context) error {
	return e.store.View(ctx, func(tx *kv.Tx) error {
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range ids {
			c, found, err := tx.Chat(id)
			if errors.Is(err, kv.ErrDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			if found {
				e.deadlines.note(c, e.now())
				e.runner.seats.line.behind(c.RunnableSince)
			}
		}
		return nil
	})
}

// endLate answers the client-run Calls whose deadline is over.
func (e *Engine) endLate(ctx context.Context) error {
	var failed error
	for id, late := range e.deadlines.passed() {
		out, err := e.change(ctx, change{chat: id,
			event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
				if c.State != chat.RequiresAction || !c.ActionDeadline.Equal(late.stored) {
					return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "Nothing is late."}
				}
				return chat.Event{Kind: chat.Deadline, OpenCards: c.OpenCards()}, nil
			},
			write: func(tx *kv.Tx, c *chat.Chat, m chat.Move) error {
				c.ActionDeadline = noTime
				if !m.Effects.Has(chat.SetError) {
					return nil
				}
				c.LastError = &chat.Error{Kind: chat.KindActionTimeout, Message: "The client did not answer in time.", Retryable: true,
					Detail: "Start the program that runs the tools of this chat, then try again."}
				return owe(tx, c, m, chat.Deadline, nil)
			}})
		var refused *chat.Error
		if errors.As(err, &refused) && refused.Kind != chat.KindNoSpace {
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			e.deadlines.again(id, late)
			continue
		}
		if out.move.Effects.Has(chat.SetError) {
			e.meters.errors.Inc(string(chat.KindActionTimeout))
		}
	}
	return failed
}

// again lets the next look try it once more.
func (d *deadlines) again(id chat.ID, late due) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, newer := d.of[id]; !newer {
		if d.of == nil {
			d.of = map[chat.ID]due{}
		}
		d.of[id] = late
	}
}
