package engine

import (
	"context"
	"strings"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// GetInput names a Chat.
type GetInput struct{ ChatID chat.ID }

// ListInput pages through a person's Chats: pinned first, then newest. Query keeps those whose title has all its words.
type ListInput struct {
	Query    string
	Archived bool
	Limit    int
	AfterID  chat.ID
}

// ListOutput is one page. Unread names the Chats with a reply that was not seen.
type ListOutput struct {
	Chats   []*chat.Chat
	Unread  map[chat.ID]bool
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

// scanPage is how many Chats a search looks at in one transaction.
const scanPage = 200

// List gives one page of a person's Chats.
func (e *Engine) List(ctx context.Context, p chat.Principal, in ListInput) (ListOutput, error) {
	if in.Limit == 0 {
		in.Limit = 50
	}
	if in.Limit < 1 || in.Limit > 200 {
		return ListOutput{}, chat.Invalid("limit", "It must be 1 to 200.")
	}
	out := ListOutput{Unread: map[chat.ID]bool{}}
	words := strings.Fields(strings.ToLower(in.Query))
	after := in.AfterID
	for {
		limit := in.Limit
		if len(words) > 0 {
			limit = scanPage
		}
		more, last, err := e.listPage(ctx, p, in, words, kv.ChatQuery{Archived: in.Archived, Limit: limit, AfterID: after}, &out)
		if err != nil {
			return ListOutput{}, err
		}
		out.HasMore = more
		if !more || len(out.Chats) >= in.Limit {
			return out, nil
		}
		after = last
	}
}

func (e *Engine) listPage(ctx context.Context, p chat.Principal, in ListInput, words []string, q kv.ChatQuery, out *ListOutput) (more bool,
	last chat.ID, err error) {
	err = e.store.View(ctx, func(tx *kv.Tx) error {
		chats, hasMore, err := tx.Chats(p.UserID, q)
		if err != nil {
			return err
		}
		more = hasMore
		for i, c := range chats {
			last = c.ID
			if !hasWords(c.Title, words) {
				continue
			}
			out.Chats = append(out.Chats, c)
			seen, err := tx.ReadMark(p.UserID, c.ID)
			if err != nil {
				return err
			}
			out.Unread[c.ID] = c.State.AtRest() && seen < c.LastReply
			if len(out.Chats) >= in.Limit {
				more = more || i < len(chats)-1
				return nil
			}
		}
		return nil
	})
	return more, last, err
}

func hasWords(title string, words []string) bool {
	title = strings.ToLower(title)
	for _, w := range words {
		if !strings.Contains(title, w) {
			return false
		}
	}
	return true
}
