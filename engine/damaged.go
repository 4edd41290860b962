package engine

import (
	"context"
	"fmt"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// readOnly refuses to go on in a Chat whose history is damaged, and says up to where a copy can be made.
func (e *Engine) readOnly(ctx context.Context, id chat.ID, d kv.Damage) error {
	out := &chat.Error{Kind: chat.KindChatDamaged, Message: "A part of this chat cannot be read, so it does not go on.", Detail: d.Reason + "."}
	var last chat.MessageID
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		if _, err := mustChat(tx, id); err != nil {
			return err
		}
		good, err := tx.GoodMessages(id)
		for _, m := range good {
			if m.Visibility != chat.VisibleModel {
				last = m.ID
			}
		}
		return err
	})
	if err != nil {
		return storeError(err)
	}
	if last != 0 {
		out.Detail += fmt.Sprintf(" Fork it at message %d, the last one before the damage, and go on there.", last)
	}
	return out
}
