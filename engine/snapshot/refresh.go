package snapshot

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// RefreshInput asks for the caller's own choice.
type RefreshInput struct{}

// Refresh says what the caller's Chats do when the context of their Workspace changes: chat.RefreshManual or chat.RefreshAuto.
func (r *Room) Refresh(ctx context.Context, p chat.Principal, _ RefreshInput) (string, error) {
	mode := chat.RefreshManual
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(p.UserID)
		if found && u.ContextRefresh != "" {
			mode = u.ContextRefresh
		}
		return err
	})
	return mode, err
}

// SetRefreshInput is the caller's choice.
type SetRefreshInput struct{ Mode string }

// SetRefresh keeps what the caller's Chats do. It counts from each Chat's next Turn.
func (r *Room) SetRefresh(ctx context.Context, p chat.Principal, in SetRefreshInput) (Done, error) {
	if in.Mode != chat.RefreshManual && in.Mode != chat.RefreshAuto {
		return Done{}, chat.Invalid("context_refresh", "must be "+chat.RefreshManual+" or "+chat.RefreshAuto)
	}
	return Done{}, r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("user")
		}
		u.ContextRefresh = in.Mode
		return tx.PutUser(u)
	})
}
