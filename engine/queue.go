package engine

import (
	"cmp"
	"context"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// QueuedInput names a queued Message.
type QueuedInput struct {
	ChatID   chat.ID
	QueuedID chat.MessageID
	Keyed
}

// EditQueuedInput changes the content of a queued Message, or moves it before another one, which must still wait. Empty fields stay as
// they are.
type EditQueuedInput struct {
	ChatID   chat.ID
	QueuedID chat.MessageID
	Content  []chat.Part
	Before   chat.MessageID
}

// Done answers commands that have nothing to say.
type Done struct{}

// DeleteQueued removes a Message from the queue; one that was taken meanwhile is KindNotFound.
func (e *Engine) DeleteQueued(ctx context.Context, p chat.Principal, in QueuedInput) (Done, error) {
	return e.changeQueue(ctx, p, in, chat.DeleteQueued, in.QueuedID, func(q []*chat.QueuedMessage, at int) []*chat.QueuedMessage {
		return slices.Delete(q, at, at+1)
	})
}

// Promote lets a queued Message be next, at once: a running Turn is interrupted.
func (e *Engine) Promote(ctx context.Context, p chat.Principal, in QueuedInput) (Done, error) {
	return e.changeQueue(ctx, p, in, chat.Promote, in.QueuedID, func(q []*chat.QueuedMessage, at int) []*chat.QueuedMessage {
		head := q[at]
		return append([]*chat.QueuedMessage{head}, slices.Delete(q, at, at+1)...)
	})
}

// EditQueued changes or moves a queued Message; one that was taken meanwhile is KindNotFound.
func (e *Engine) EditQueued(ctx context.Context, p chat.Principal, in EditQueuedInput) (Done, error) {
	var content []chat.Part
	if in.Content != nil {
		var err error
		if content, err = checkContent(in.Content); err != nil {
			return Done{}, err
		}
	}
	return e.changeQueue(ctx, p, QueuedInput{ChatID: in.ChatID, QueuedID: in.QueuedID}, chat.EditQueued, cmp.Or(in.Before, in.QueuedID), func(q []*chat.QueuedMessage, at int) []*chat.QueuedMessage {
		m := q[at]
		if content != nil {
			m.Content = content
		}
		to := slices.IndexFunc(q, func(o *chat.QueuedMessage) bool { return o.ID == in.Before })
		if in.Before == 0 || to < 0 || to == at {
			return q
		}
		q = slices.Delete(q, at, at+1)
		if to > at {
			to--
		}
		return slices.Insert(q, to, m)
	})
}

// changeQueue changes what waits, if both named Messages still do.
func (e *Engine) changeQueue(ctx context.Context, p chat.Principal, in QueuedInput, kind chat.EventKind, also chat.MessageID,
	edit func([]*chat.QueuedMessage, int) []*chat.QueuedMessage) (Done, error) {
	queued := in.QueuedID
	var children func(*kv.Tx, *chat.Chat) ([]change, error)
	if kind == chat.Promote {
		children = closeInterrupted
	}
	_, err := e.changeOnce(ctx, p, in.Keyed, string(kind), in, change{chat: in.ChatID, quiet: kind != chat.Promote, also: children,
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
			queue, err := tx.Queue(c.ID)
			if err != nil {
				return chat.Event{}, err
			}
			for _, id := range []chat.MessageID{queued, also} {
				if !slices.ContainsFunc(queue, func(q *chat.QueuedMessage) bool { return q.ID == id }) {
					return chat.Event{}, chat.NotFound("queued message")
				}
			}
			return chat.Event{Kind: kind}, nil
		},
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			queue, err := tx.Queue(c.ID)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(queue, func(q *chat.QueuedMessage) bool { return q.ID == queued })
			m := queue[at]
			queue = edit(queue, at)
			if kind == chat.EditQueued {
				if m.Content, _, err = e.attach(tx, c, m.CreatedBy, m.ModelConfigID, m.Content); err != nil {
					return err
				}
			}
			return putQueue(tx, c, queue)
		}})
	return Done{}, err
}
