package engine

import (
	"context"
	"encoding/json"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Values of SendInput.Busy: wait in the queue, or interrupt the running Turn.
const (
	BusyQueue     = "queue"
	BusyInterrupt = "interrupt"
)

// SendInput is a user Message for a Chat. Key is the Idempotency-Key, "" for none.
type SendInput struct {
	ChatID          chat.ID
	Content         []chat.Part
	ModelConfigID   chat.ModelConfigID
	ReasoningEffort string
	// PlanMode is "" or "plan"; nil leaves the Chat's own.
	PlanMode *string
	// MCPServerIDs are the Chat's MCP servers from this Message on; nil leaves them.
	MCPServerIDs *[]string
	Busy         string
	// Answers names the question or plan that this is the answer to; "" for any Message. One that was answered is refused.
	Answers string
	Key     string `json:"-"`
}

// SendOutput holds the Message that went into the history, or the one that waits in the queue.
type SendOutput struct {
	Message *chat.Message       `json:"message,omitempty"`
	Queued  *chat.QueuedMessage `json:"queued_message,omitempty"`
	// Warnings say what the person should know of the Message's files.
	Warnings []string `json:"warnings,omitempty"`
	// Replayed: the key was known and this is the first answer again.
	Replayed bool `json:"-"`
}

// interrupting is what a Message of this kind does beside its own Chat.
func interrupting(kind chat.EventKind) func(*kv.Tx, *chat.Chat) ([]change, error) {
	if kind != chat.SendInterrupt {
		return nil
	}
	return closeInterrupted
}

// Send gives a Chat the next user Message: it starts a Turn, waits in the queue, or interrupts.
func (e *Engine) Send(ctx context.Context, p chat.Principal, in SendInput) (SendOutput, error) {
	kind := chat.Send
	switch in.Busy {
	case "", BusyQueue:
	case BusyInterrupt:
		kind = chat.SendInterrupt
	default:
		return SendOutput{}, chat.Invalid("busy_behavior", "It must be queue or interrupt.")
	}
	if err := checkMode(in.PlanMode); err != nil {
		return SendOutput{}, err
	}
	content, err := checkContent(in.Content)
	if err != nil {
		return SendOutput{}, err
	}
	rec, err := newReceipt(p, in.Key, "send", in)
	if err != nil {
		return SendOutput{}, err
	}
	ins := &insertion{set: turnSettings{effort: in.ReasoningEffort, plan: in.PlanMode, servers: in.MCPServerIDs}, message: chat.Message{CreatedBy: p.UserID, CreatedAt: e.now().UTC(), Role: chat.RoleUser,
		Content: content, ModelConfigID: in.ModelConfigID, ContentVersion: 1}}
	if rec != nil {
		rec.answer = func() any { return SendOutput{Message: ins.stored, Queued: ins.queued, Warnings: ins.warnings} }
	}
	done := e.ports.traces.note(ctx, in.ChatID, ins.message.CreatedAt, e.now)
	err = e.changeAndRun(ctx, change{chat: in.ChatID, insert: ins, receipt: rec, also: interrupting(kind),
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
			if in.Answers != "" && (c.Turn.Asks == nil || c.Turn.Asks.CallID != in.Answers || !c.State.AtRest()) {
				return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "This was answered already."}
			}
			if err := e.limited(tx, p.UserID); err != nil {
				return chat.Event{}, err
			}
			refused, err := e.checkReferences(tx, &chat.Chat{ModelConfigID: in.ModelConfigID, MCPServerIDs: idsOf(in.MCPServerIDs)})
			return chat.Event{Kind: kind}, errors.Join(refused, err)
		}})
	done(err)
	if errors.Is(err, errReplayed) {
		out := SendOutput{Replayed: true}
		return out, json.Unmarshal(rec.replay, &out)
	}
	return SendOutput{Message: ins.stored, Queued: ins.queued, Warnings: ins.warnings}, err
}
