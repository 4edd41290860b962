package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// UnreadInput names a Chat.
type UnreadInput struct{ ChatID chat.ID }

// Unread says whether a Chat at rest has a reply that the person has not seen.
func (e *Engine) Unread(ctx context.Context, p chat.Principal, in UnreadInput) (bool, error) {
	unread := false
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		seen, err := tx.ReadMark(p.UserID, in.ChatID)
		unread = c.State.AtRest() && seen < c.LastReply
		return err
	})
	return unread, err
}
