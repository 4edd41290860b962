package client

import (
	"context"
	"iter"
	"net/http"

	"holdfast/engine/chat"
)

// Changes is one message of the watch over all of the caller's Chats. Those of one message are applied together, in order.
type Changes struct {
	Events []Change `json:"events"`
	// First is set by Client.Watch on the first Changes of a connection, which have no events: what was before is read with Chats.
	First bool `json:"-"`
}

// Change says what changed, with the Chat as it is now. Of a Chat that is gone only what names it is left.
type Change struct {
	Type string `json:"type"`
	Chat *Chat  `json:"chat,omitempty"`
	// Error ends the watch; Type is TypeError then.
	Error *Error `json:"error,omitempty"`
}

// Types of a Change beside TypeError. A Chat that is archived is deleted from the lists, and one taken back is created.
const (
	ChangeCreated        = "created"
	ChangeDeleted        = "deleted"
	ChangeStatus         = "status_change"
	ChangeTitle          = "title_change"
	ChangeSummary        = "summary_change"
	ChangeDiff           = "diff_status_change"
	ChangeActionRequired = "action_required"
	ChangeContext        = "context_dirty"
)

// Watch gives what changes in the caller's Chats, sub-agents' included, until ctx ends or the caller stops. A broken connection is taken
// up again; the Changes with First set then say to read the list anew. It ends as Stream does.
func (c *Client) Watch(ctx context.Context) iter.Seq2[Changes, error] {
	return again(ctx, c, c.watch)
}

// watch follows one connection to its end.
func (c *Client) watch(ctx context.Context, take func(Changes) bool) error {
	req, err := c.request(ctx, http.MethodGet, "/chats/watch", nil, nil)
	if err != nil {
		return err
	}
	return follow(ctx, c, req, func(_ string, f Changes, first bool) error {
		if n := len(f.Events); n > 0 && f.Events[n-1].Error != nil {
			e := f.Events[n-1].Error
			return &chat.Error{Kind: e.Kind, Message: e.Message, Detail: e.Detail, Retryable: e.Retryable}
		}
		if f.First = first; !take(f) {
			return errStopped
		}
		return nil
	}, "the watch over the chats")
}
