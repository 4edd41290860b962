package client

import (
	"encoding/json"
	"fmt"

	"holdfast/engine/chat"
)

// Frame is one message of the chat stream. Its Events are applied together, in order.
type Frame struct {
	ChatID  chat.ID `json:"chat_id"`
	Version int64   `json:"version"`
	Events  []Event `json:"events"`
	// First is set by Client.Stream on the first Frame of a connection: it holds the uncommitted reply from its start, so drop all
	// parts that you hold.
	First bool `json:"-"`
}

// Event is one of the *Event types below.
type Event interface {
	// EventType gives the field "type".
	EventType() string
}

// StatusEvent says where the Chat stands; every stream begins with one.
type StatusEvent struct {
	Type      string     `json:"type"`
	Status    chat.State `json:"status"`
	Phase     chat.Phase `json:"phase,omitempty"`
	Archived  bool       `json:"archived"`
	QueueHeld bool       `json:"queue_held"`
}

// HistoryResetEvent: drop all Messages that you hold.
type HistoryResetEvent struct {
	Type         string `json:"type"`
	HistoryEpoch int64  `json:"history_epoch"`
}

// MessageEvent is a committed Message.
type MessageEvent struct {
	Type    string  `json:"type"`
	Message Message `json:"message"`
}

// QueueEvent is the whole queue.
type QueueEvent struct {
	Type         string          `json:"type"`
	QueueVersion int64           `json:"queue_version"`
	Queued       []QueuedMessage `json:"queued_messages"`
}

// ErrorEvent is why the Chat stands in error, or why the stream ends.
type ErrorEvent struct {
	Type  string `json:"type"`
	Error Error  `json:"error"`
}

// ActionRequiredEvent lists the Calls that wait for a person, or for the program that made the Chat.
type ActionRequiredEvent struct {
	Type      string     `json:"type"`
	ToolCalls []OpenCall `json:"tool_calls"`
	// Deadline is when client-run Calls are answered without their program; null while none is open: permission cards have none.
	Deadline *Time `json:"deadline"`
}

// OpenCall is a Call without a Result.
type OpenCall struct {
	CallID   string          `json:"tool_call_id"`
	ToolName string          `json:"tool_name"`
	Args     json.RawMessage `json:"args"`
	// Kind is approval for a permission card, client for a Call that the program runs.
	Kind chat.OutstandingKind `json:"kind"`
	// Asked is what a permission card shows; null for a program's own call.
	Asked *OpenAsk `json:"asked,omitempty"`
}

// OpenAsk is why a person is asked about a Call, and what they decide about.
type OpenAsk struct {
	Why       string             `json:"why"`
	Rule      *chat.Rule         `json:"rule,omitempty"`
	Command   string             `json:"command,omitempty"`
	Directory string             `json:"directory,omitempty"`
	Targets   []chat.Target      `json:"targets,omitempty"`
	Files     []chat.ChangedFile `json:"files,omitempty"`
	Sandbox   *chat.Sandbox      `json:"sandbox,omitempty"`
	// Offer are the rules that allow_chat and, if Always, allow_always save.
	Offer  []chat.Rule `json:"offer,omitempty"`
	Always bool        `json:"always,omitempty"`
	Shown  string      `json:"shown,omitempty"`
	// Again is what has changed since it was allowed before.
	Again string `json:"again,omitempty"`
}

// RetryEvent: the attempt failed and another follows.
type RetryEvent struct {
	Type        string    `json:"type"`
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	DelayMS     int64     `json:"delay_ms"`
	RetryingAt  Time      `json:"retrying_at"`
	Kind        chat.Kind `json:"kind"`
	Message     string    `json:"message"`
	StatusCode  int       `json:"status_code,omitempty"`
}

// PreviewResetEvent: drop all parts that you hold; those of this generation follow.
type PreviewResetEvent struct {
	Type       string `json:"type"`
	Generation int64  `json:"generation_attempt"`
}

// PartEvent is a new piece of a part of the uncommitted reply. Offset counts the bytes of the text that came before it.
type PartEvent struct {
	Type       string    `json:"type"`
	Generation int64     `json:"generation_attempt"`
	Seq        int64     `json:"seq"`
	PartIndex  int       `json:"part_index"`
	Offset     int64     `json:"offset"`
	Role       chat.Role `json:"role"`
	Part       Part      `json:"part"`
}

// Types of events.
const (
	TypeStatus         = "status"
	TypeHistoryReset   = "history_reset"
	TypeMessage        = "message"
	TypeQueue          = "queue_update"
	TypeError          = "error"
	TypeActionRequired = "action_required"
	TypeRetry          = "retry"
	TypePreviewReset   = "preview_reset"
	TypePart           = "message_part"
)

// EventType gives the field "type".
func (*StatusEvent) EventType() string         { return TypeStatus }
func (*HistoryResetEvent) EventType() string   { return TypeHistoryReset }
func (*MessageEvent) EventType() string        { return TypeMessage }
func (*QueueEvent) EventType() string          { return TypeQueue }
func (*ErrorEvent) EventType() string          { return TypeError }
func (*ActionRequiredEvent) EventType() string { return TypeActionRequired }
func (*RetryEvent) EventType() string          { return TypeRetry }
func (*PreviewResetEvent) EventType() string   { return TypePreviewReset }
func (*PartEvent) EventType() string           { return TypePart }

// Events gives an empty one of each type, in the order in which a Frame has them.
func Events() []Event {
	return []Event{&StatusEvent{}, &HistoryResetEvent{}, &MessageEvent{}, &QueueEvent{}, &ErrorEvent{}, &ActionRequiredEvent{}, &RetryEvent{},
		&PreviewResetEvent{}, &PartEvent{}}
}

// UnmarshalJSON reads a Frame. An event of an unknown type is left out: newer appliances may have more.
func (f *Frame) UnmarshalJSON(b []byte) error {
	var raw struct {
		ChatID  chat.ID           `json:"chat_id"`
		Version int64             `json:"version"`
		Events  []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	f.ChatID, f.Version, f.Events = raw.ChatID, raw.Version, nil
	for _, r := range raw.Events {
		var named struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(r, &named); err != nil {
			return err
		}
		for _, e := range Events() {
			if e.EventType() != named.Type {
				continue
			}
			if err := json.Unmarshal(r, e); err != nil {
				return fmt.Errorf("event %s: %w", named.Type, err)
			}
			f.Events = append(f.Events, e)
		}
	}
	return nil
}
