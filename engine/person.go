package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// StopPerson interrupts all that runs for a person and empties their queues: nothing of theirs begins any more. It waits for nothing.
// Not a command: the account room asks it when it disables somebody.
func (e *Engine) StopPerson(ctx context.Context, user chat.UserID) error {
	var theirs []chat.ID
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		theirs = nil
		active, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range active {
			c, found, err := tx.Chat(id)
			if errors.Is(err, kv.ErrDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			if found && c.OwnerID == user {
				theirs = append(theirs, id)
			}
		}
		return nil
	})
	if err != nil {
		return storeError(err)
	}
	for _, id := range theirs {
		if _, err := e.change(ctx, change{chat: id, quiet: true, event: kindOf(chat.Close)}); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// DeletePerson deletes all chats of a person, one family after the other. KindWrongState when one is not at rest; those before it are
// gone then.
// Not a command: the account room asks it when it removes somebody.
func (e *Engine) DeletePerson(ctx context.Context, user chat.UserID) error {
	for _, archived := range []bool{false, true} {
		for more := true; more; {
			var page []*chat.Chat
			err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
				page, more, err = tx.Chats(user, kv.ChatQuery{Limit: 100, Archived: archived})
				return err
			})
			if err != nil {
				return storeError(err)
			}
			deleted := 0
			for _, c := range page {
				if c.OwnerID != user {
					// A damaged one stands in everybody's list.
					continue
				}
				if err := e.deleteWhole(ctx, c); err != nil {
					return err
				}
				deleted++
			}
			more = more && deleted > 0
		}
	}
	return nil
}

// deleteWhole archives a Chat, since only archived ones can be deleted, and deletes it.
func (e *Engine) deleteWhole(ctx context.Context, c *chat.Chat) error {
	if !c.State.AtRest() {
		return &chat.Error{Kind: chat.KindWrongState, Message: "A chat of this person is still stopping.", Detail: "Try again in a moment.",
			Retryable: true}
	}
	if !c.Archived {
		if _, err := e.change(ctx, change{chat: c.ID, quiet: true, event: kindOf(chat.Archive)}); err != nil {
			return err
		}
	}
	_, err := e.Delete(ctx, chat.Principal{UserID: c.OwnerID}, DeleteInput{ChatID: c.ID})
	return err
}

// isGone: the Chat was deleted in the meantime.
func isGone(err error) bool {
	var refused *chat.Error
	return errors.As(err, &refused) && refused.Kind == chat.KindNotFound
}
