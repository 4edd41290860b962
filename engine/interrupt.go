package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// InterruptInput and RetryInput name the Chat.
type (
	InterruptInput struct{ ChatID chat.ID }
	RetryInput     struct{ ChatID chat.ID }
)

// Interrupt stops what the Chat does and keeps what was done. A Chat at rest stays as it is.
func (e *Engine) Interrupt(ctx context.Context, _ chat.Principal, in InterruptInput) (*chat.Chat, error) {
	out, err := e.change(ctx, change{chat: in.ChatID, event: kindOf(chat.Interrupt)})
	return out.chat, err
}

// Retry starts a failed or cut Turn again with the history as it is.
func (e *Engine) Retry(ctx context.Context, _ chat.Principal, in RetryInput) (*chat.Chat, error) {
	out, err := e.change(ctx, change{chat: in.ChatID, event: kindOf(chat.Retrying),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Turn.Steps, c.Turn.Cuts, c.Turn.Nudged, c.Turn.Compactions = 0, 0, false, 0
			return nil
		}})
	return out.chat, err
}
