package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// ForkInput names a Chat, and the last Message that the copy has; 0 is all of it.
type ForkInput struct {
	ChatID  chat.ID
	Message chat.MessageID
	Keyed
}

// Fork makes a new Chat at rest with a copy of the history up to a Message. The Results of that Message's Calls belong to it.
func (e *Engine) Fork(ctx context.Context, p chat.Principal, in ForkInput) (*chat.Chat, error) {
	var from *chat.Chat
	var all []*chat.Message
	damaged := false
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		if from, err = mustChat(tx, in.ChatID); err != nil {
			return err
		}
		all, err = tx.Messages(in.ChatID, kv.MessageQuery{})
		if damaged = errors.Is(err, kv.ErrDamaged) && in.Message != 0; damaged {
			// What can be read in front of the damage is as good as ever; who names a Message knows where the copy ends.
			var history kv.Readable
			history, err = tx.ReadableMessages(in.ChatID)
			all = history.Good()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, err := e.upTo(all, in.Message)
	if err != nil {
		return nil, err
	}
	c := chat.Chat{Title: forkTitle(from.Title), Labels: maps.Clone(from.Labels), WorkspaceID: from.WorkspaceID, ModelConfigID: from.ModelConfigID,
		ReasoningEffort: from.ReasoningEffort, MCPServerIDs: slices.Clone(from.MCPServerIDs), PlanMode: from.PlanMode, ForkedFrom: from.ID,
		ClientTools: slices.Clone(from.ClientTools), Context: copyPin(from.Context), NextContext: copyPin(from.NextContext)}
	c.Used.Limit = from.Used.Limit
	if len(kept) == len(all) && !damaged {
		c.Used = from.Used
	}
	return e.createGiven(ctx, p, given{kind: chat.Fork, chat: c, messages: kept, key: in.Keyed, body: in})
}

// copyPin: the copy has the context that its history was written with.
func copyPin(p *chat.ContextPin) *chat.ContextPin {
	if p == nil {
		return nil
	}
	pin := *p
	return &pin
}

// upTo gives the Messages up to one that a person sees, and to the Results of its Calls. Calls that are left open get one.
func (e *Engine) upTo(all []*chat.Message, last chat.MessageID) ([]*chat.Message, error) {
	n := len(all)
	if last != 0 {
		at := slices.IndexFunc(all, func(m *chat.Message) bool { return m.ID == last && m.Visibility != chat.VisibleModel })
		if at < 0 {
			return nil, chat.NotFound("message")
		}
		n = at + 1
		for n < len(all) && all[n].Role == chat.RoleTool {
			n++
		}
	}
	kept := slices.Clip(all[:n])
	open := map[string]chat.OutstandingCall{}
	var order []string
	for _, m := range kept {
		for _, p := range m.Content {
			switch p.Type {
			case chat.PartToolCall:
				open[p.CallID] = chat.OutstandingCall{Call: chat.Call{ID: p.CallID, Name: p.ToolName}, Step: m.Step}
				order = append(order, p.CallID)
			case chat.PartToolResult:
				delete(open, p.CallID)
			}
		}
	}
	for _, id := range order {
		if o, left := open[id]; left && o.Call.Name != prompt.SummaryTool {
			msg := toolMessage(o.Step, failedResult(o.Call, chat.TextCut, e.now().UTC()))
			msg.CreatedAt = e.now().UTC()
			kept = append(kept, &msg)
			delete(open, id)
		}
	}
	return kept, nil
}

func forkTitle(title string) string {
	const mark = " (fork)"
	if r := []rune(title); len(r) > 200-len(mark) {
		title = string(r[:200-len(mark)])
	}
	return title + mark
}
