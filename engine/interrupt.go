package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// InterruptInput and RetryInput name the Chat.
type (
	InterruptInput struct {
		ChatID chat.ID
		Keyed
	}
	RetryInput struct {
		ChatID chat.ID
		Keyed
	}
)

// Interrupt stops what the Chat and its Sub-agents do and keeps what was done. A Chat at rest stays as it is.
func (e *Engine) Interrupt(ctx context.Context, p chat.Principal, in InterruptInput) (*chat.Chat, error) {
	c, err := e.changeOnce(ctx, p, in.Keyed, "interrupt", in, change{chat: in.ChatID, event: kindOf(chat.Interrupt), also: closeChildren})
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindNoSpace {
		return c, err
	}
	return e.stopUnstored(ctx, p, in.ChatID, refused)
}

// stopUnstored stops a run that the full disk keeps us from telling so: it stops at once, and stores that when there is room.
func (e *Engine) stopUnstored(ctx context.Context, p chat.Principal, id chat.ID, full *chat.Error) (*chat.Chat, error) {
	c, err := e.Get(ctx, p, GetInput{ChatID: id})
	if err != nil {
		return nil, err
	}
	ru := e.feed.runOf(id)
	if c.State != chat.Running || ru == nil || c.Lease == nil || ru.lease != *c.Lease {
		return nil, full
	}
	ru.stop(chat.CauseInterrupted)
	stopped := *c
	stopped.State = chat.Interrupting
	return &stopped, nil
}

// finishInterrupted gives the lease back after an interrupt; where the disk was too full for the interrupt itself, that is stored first.
func (r *run) finishInterrupted() error {
	lease := r.lease
	c, err := r.e.Get(context.Background(), chat.Principal{}, GetInput{ChatID: r.id})
	if err != nil {
		return err
	}
	over := r.e.runner.ctx.Done()
	if c.State == chat.Running {
		err := r.patiently(over, "Stopped. ", func(ctx context.Context) error {
			_, err := r.e.change(ctx, change{chat: r.id, fence: &lease, event: kindOf(chat.Interrupt), also: closeChildren})
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.patiently(over, "Stopped. ", func(ctx context.Context) error {
		return r.finish(ctx, chat.Event{Kind: chat.FinishInterrupt}, "interrupted", nil)
	})
}

// Retry starts a failed or cut Turn again with the history as it is.
func (e *Engine) Retry(ctx context.Context, p chat.Principal, in RetryInput) (*chat.Chat, error) {
	return e.changeOnce(ctx, p, in.Keyed, "retry", in, change{chat: in.ChatID, event: kindOf(chat.Retrying),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Turn.Asks, c.Turn.WithParent = nil, false
			c.Turn.Steps, c.Turn.Cuts, c.Turn.Nudged, c.Turn.Urged, c.Turn.Compactions = 0, 0, false, false, 0
			return nil
		}})
}
