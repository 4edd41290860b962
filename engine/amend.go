package engine

import (
	"context"
	"math"
	"strconv"
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
	PlanMode        *string
	MCPServerIDs    *[]string
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
	if err := checkMode(in.PlanMode); err != nil {
		return nil, err
	}
	if in.PinOrder != nil && *in.PinOrder > math.MaxInt32 {
		return nil, chat.Invalid("pin_order", "It must be 0 to "+strconv.Itoa(math.MaxInt32)+".")
	}
	if len(in.Labels) > 50 {
		return nil, chat.Invalid("labels", "At most 50 labels.")
	}
	amend := change{chat: in.ChatID, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error { return e.amend(tx, c, in) }}
	if in.Archived != nil {
		return e.changeFamily(ctx, amend, *in.Archived)
	}
	out, err := e.change(ctx, amend)
	if err == nil && in.WorkspaceID != nil {
		e.feed.diffs.note(out.chat.WorkspaceID, out.chat.ID)
	}
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
	if in.PlanMode != nil {
		c.PlanMode = *in.PlanMode
		if a := c.Turn.Asks; a != nil && a.Kind == chat.AskingPlan && c.PlanMode == "" {
			c.Turn.Asks = nil
		}
	}
	if in.ReasoningEffort != nil {
		c.ReasoningEffort = *in.ReasoningEffort
	}
	if in.ModelConfigID != nil {
		c.ModelConfigID = *in.ModelConfigID
	}
	if in.MCPServerIDs != nil {
		c.MCPServerIDs = *in.MCPServerIDs
	}
	moved := in.WorkspaceID != nil && *in.WorkspaceID != c.WorkspaceID
	if moved && len(c.Outstanding) > 0 {
		// What a person allows runs where its card said.
		return &chat.Error{Kind: chat.KindWrongState, Message: "A command waits for an answer in this workspace.",
			Detail: "Allow or deny it, or interrupt the chat, before you choose another one."}
	}
	if _, damaged := e.store.DamagedChat(c.ID); moved && damaged {
		// The history would have to say so.
		return errReadOnly
	}
	if moved {
		c.WorkspaceID = *in.WorkspaceID
		c.Context, c.NextContext = nil, nil
		e.feed.diffs.give(c)
	}
	// Only what is set is checked: a Chat whose model or folder has gone can still be renamed and archived.
	named := chat.Chat{OwnerID: c.OwnerID, MCPServerIDs: idsOf(in.MCPServerIDs)}
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
