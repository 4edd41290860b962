package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// GetInput names a Chat.
type GetInput struct{ ChatID chat.ID }

// ListInput pages through a person's Chats: pinned first, then newest.
type ListInput struct {
	Archived bool
	Limit    int
	AfterID  chat.ID
}

// ListOutput is one page. Unread names the Chats with a reply that was not seen, Late those that go on when their Agent has answered.
type ListOutput struct {
	Chats   []*chat.Chat
	Unread  map[chat.ID]bool
	Late    map[chat.ID]bool
	HasMore bool
}

// Get reads one Chat.
func (e *Engine) Get(ctx context.Context, _ chat.Principal, in GetInput) (*chat.Chat, error) {
	var c *chat.Chat
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		c, err = mustChat(tx, in.ChatID)
		return err
	})
	return c, err
}

func mustChat(tx *kv.Tx, id chat.ID) (*chat.Chat, error) {
	c, found, err := tx.Chat(id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.NotFound("chat")
	}
	return c, nil
}

// List gives one page of a person's Chats.
func (e *Engine) List(ctx context.Context, p chat.Principal, in ListInput) (ListOutput, error) {
	if in.Limit == 0 {
		in.Limit = 50
	}
	if in.Limit < 1 || in.Limit > 200 {
		return ListOutput{}, chat.Invalid("limit", "It must be 1 to 200.")
	}
	out := ListOutput{Unread: map[chat.ID]bool{}, Late: map[chat.ID]bool{}}
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		out.Chats, out.HasMore, err = tx.Chats(p.UserID, kv.ChatQuery{Archived: in.Archived, Limit: in.Limit, AfterID: in.AfterID})
		if err != nil {
			return err
		}
		for _, c := range out.Chats {
			seen, err := tx.ReadMark(p.UserID, c.ID)
			if err != nil {
				return err
			}
			out.Unread[c.ID] = c.State.AtRest() && seen < c.LastReply
			if c.State == chat.Running && e.feed.late.has(c.ID) {
				out.Late[c.ID] = true
			}
		}
		return nil
	})
	return out, err
}
