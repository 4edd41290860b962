package engine

import (
	"context"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// AmendInput changes what is named; nil fields stay as they are. Archived turns on its own event.
type AmendInput struct {
	ChatID          chat.ID
	Title           *string
	PinOrder        *int
	Labels          map[string]string
	WorkspaceID     *chat.WorkspaceID
	ModelConfigID   *chat.ModelConfigID
	ReasoningEffort *string
	Archived        *bool
}

// Amend changes a Chat's settings. They count from the next Turn on.
func (e *Engine) Amend(ctx context.Context, _ chat.Principal, in AmendInput) (*chat.Chat, error) {
	if in.Title != nil {
		title := strings.TrimSpace(valid(*in.Title))
		if title == "" || utf8.RuneCountInString(title) > 200 {
			return nil, chat.Invalid("title", "It must have 1 to 200 characters.")
		}
		in.Title = &title
	}
	if len(in.Labels) > 50 {
		return nil, chat.Invalid("labels", "At most 50 labels.")
	}
	out, err := e.change(ctx, change{chat: in.ChatID, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error { return e.amend(tx, c, in) }})
	if err != nil || in.Archived == nil || *in.Archived == out.chat.Archived {
		return out.chat, err
	}
	kind := chat.Unarchive
	if *in.Archived {
		kind = chat.Archive
	}
	out, err = e.change(ctx, change{chat: in.ChatID, quiet: true, event: kindOf(kind)})
	return out.chat, err
}

func (e *Engine) amend(tx *kv.Tx, c *chat.Chat, in AmendInput) error {
	if in.Title != nil {
		c.Title, c.TitleFallback = *in.Title, false
	}
	if in.PinOrder != nil {
		c.PinOrder = max(*in.PinOrder, 0)
	}
	if in.Labels != nil {
		c.Labels = in.Labels
	}
	if in.ReasoningEffort != nil {
		c.ReasoningEffort = *in.ReasoningEffort
	}
	if in.ModelConfigID != nil {
		c.ModelConfigID = *in.ModelConfigID
	}
	moved := in.WorkspaceID != nil && *in.WorkspaceID != c.WorkspaceID
	if moved && len(c.Outstanding) > 0 {
		// What a person allows runs where its card said.
		return &chat.Error{Kind: chat.KindWrongState, Message: "A command waits for an answer in this workspace.",
			Detail: "Allow or deny it, or interrupt the chat, before you choose another one."}
	}
	if moved {
		c.WorkspaceID = *in.WorkspaceID
	}
	// Only what is set is checked: a Chat whose model or folder has gone can still be renamed and archived.
	named := chat.Chat{OwnerID: c.OwnerID}
	if in.ModelConfigID != nil {
		named.ModelConfigID = c.ModelConfigID
	}
	if moved {
		named.WorkspaceID = c.WorkspaceID
	}
	if refused, err := e.checkReferences(tx, &named); err != nil || refused != nil {
		if err == nil {
			err = refused
		}
		return err
	}
	if !moved {
		return nil
	}
	return appendMessage(tx, c, &chat.Message{CreatedAt: e.now().UTC(), Role: chat.RoleSystem, Visibility: chat.VisibleModel,
		Content: []chat.Part{workspaceSection(c)}, ContentVersion: 1})
}

// DeleteInput names an archived Chat.
type DeleteInput struct{ ChatID chat.ID }

// Delete removes an archived Chat and its Messages for good.
func (e *Engine) Delete(ctx context.Context, p chat.Principal, in DeleteInput) (Done, error) {
	var refused error
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		refused = nil
		c, found, err := tx.Chat(in.ChatID)
		if err != nil {
			return err
		}
		if !found {
			refused = chat.NotFound("chat")
			return nil
		}
		if _, no := chat.Next(chat.StandingOf(c), chat.Event{Kind: chat.Delete}); no != nil {
			refused = no.AsError()
			if !c.Archived {
				refused = &chat.Error{Kind: chat.KindWrongState, Message: "Archive the chat before you delete it."}
			}
			return nil
		}
		return tx.DeleteFamily(c.ID)
	})
	if err != nil {
		return Done{}, storeError(err)
	}
	if refused != nil {
		return Done{}, refused
	}
	e.feed.changed(in.ChatID)
	e.feed.touchOwner(p.UserID, in.ChatID)
	e.ports.committed(in.ChatID)
	if e.ports.forget == nil {
		return Done{}, nil
	}
	if err := e.ports.forget(in.ChatID); err != nil {
		// The Chat is gone all the same; what is left of its processes' output goes with the next sweep.
		e.log.Warn("files of a deleted chat were left", "chat", in.ChatID, "error", err)
	}
	return Done{}, nil
}
