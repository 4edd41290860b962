package engine

import (
	"context"

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
	return e.changeOnce(ctx, p, in.Keyed, "interrupt", in, change{chat: in.ChatID, event: kindOf(chat.Interrupt), also: closeChildren})
}

// Retry starts a failed or cut Turn again with the history as it is.
func (e *Engine) Retry(ctx context.Context, p chat.Principal, in RetryInput) (*chat.Chat, error) {
	return e.changeOnce(ctx, p, in.Keyed, "retry", in, change{chat: in.ChatID, event: kindOf(chat.Retrying),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Turn.Asks = nil
			c.Turn.Steps, c.Turn.Cuts, c.Turn.Nudged, c.Turn.Compactions = 0, 0, false, 0
			return nil
		}})
}
