package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Message is one committed entry of a Chat.
type Message struct {
	ID            chat.MessageID      `json:"id"`
	ChatID        chat.ID             `json:"chat_id"`
	Role          chat.Role           `json:"role"`
	Content       []Part              `json:"content"`
	CreatedAt     Time                `json:"created_at"`
	CreatedBy     *chat.UserID        `json:"created_by"`
	ModelConfigID *chat.ModelConfigID `json:"model_config_id"`
	// Partial: the reply was cut before it was whole.
	Partial      bool        `json:"partial"`
	FinishReason string      `json:"finish_reason,omitempty"`
	Usage        *TokenUsage `json:"usage"`
	// CostMicros is null where no price is known, 0 where it is free.
	CostMicros *int64 `json:"total_cost_micros"`
	RuntimeMS  *int64 `json:"runtime_ms"`
	// Boundary "clear" or "summary": the model sees nothing of what was before.
	Boundary string `json:"boundary,omitempty"`
}

// TokenUsage holds the model server's own counts; null is not reported.
type TokenUsage struct {
	InputTokens     *int64 `json:"input_tokens"`
	OutputTokens    *int64 `json:"output_tokens"`
	TotalTokens     *int64 `json:"total_tokens"`
	ReasoningTokens *int64 `json:"reasoning_tokens"`
	CacheReadTokens *int64 `json:"cache_read_tokens"`
	ContextLimit    *int64 `json:"context_limit"`
}

// Part is the smallest content. Type says which fields are there; a bool that is absent is false.
type Part struct {
	Type chat.PartType `json:"type"`
	Text string        `json:"text,omitempty"`

	CallID           string          `json:"tool_call_id,omitempty"`
	ToolName         string          `json:"tool_name,omitempty"`
	Args             json.RawMessage `json:"args,omitempty"`
	Repaired         bool            `json:"repaired,omitempty"`
	ProviderExecuted bool            `json:"provider_executed,omitempty"`

	Result      json.RawMessage `json:"result,omitempty"`
	IsError     bool            `json:"is_error,omitempty"`
	Truncated   bool            `json:"truncated,omitempty"`
	FullBytes   int64           `json:"full_bytes,omitempty"`
	CreatedAt   *Time           `json:"created_at,omitempty"`
	CompletedAt *Time           `json:"completed_at,omitempty"`

	FileID      string `json:"file_id,omitempty"`
	Name        string `json:"name,omitempty"`
	MediaType   string `json:"media_type,omitempty"`
	FileName    string `json:"file_name,omitempty"`
	StartLine   int    `json:"start_line,omitempty"`
	EndLine     int    `json:"end_line,omitempty"`
	Content     string `json:"content,omitempty"`
	Path        string `json:"path,omitempty"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
	Title       string `json:"title,omitempty"`

	// ResultDelta is a new piece of a running Call's output, and ResultReset says that what came before it is to be dropped. Only the
	// stream has them.
	ResultDelta string `json:"result_delta,omitempty"`
	ResultReset bool   `json:"result_reset,omitempty"`
}

// Input is a Part that a person may send: text, file with file_id, or file-reference with file_name, start_line, end_line and content.
type Input struct {
	Type      chat.PartType `json:"type"`
	Text      string        `json:"text,omitempty"`
	FileID    chat.FileID   `json:"file_id,omitempty"`
	FileName  string        `json:"file_name,omitempty"`
	StartLine int           `json:"start_line,omitempty"`
	EndLine   int           `json:"end_line,omitempty"`
	Content   string        `json:"content,omitempty"`
}

// Text is the content of a Message that is only text.
func Text(text string) []Input { return []Input{{Type: chat.PartText, Text: text}} }

// QueuedMessage waits for its Turn.
type QueuedMessage struct {
	ID              chat.MessageID      `json:"id"`
	ChatID          chat.ID             `json:"chat_id"`
	Content         []Part              `json:"content"`
	CreatedAt       Time                `json:"created_at"`
	CreatedBy       *chat.UserID        `json:"created_by"`
	ModelConfigID   *chat.ModelConfigID `json:"model_config_id"`
	ReasoningEffort string              `json:"reasoning_effort,omitempty"`
	// PlanMode is set together with the Message; null leaves the Chat's own.
	PlanMode *string `json:"plan_mode,omitempty"`
	// Urgent ones stand before all plain ones.
	Urgent bool `json:"urgent"`
}

// MessagePage is one page of a Chat's Messages; queued ones stand on the first page only.
type MessagePage struct {
	Messages []Message       `json:"messages"`
	Queued   []QueuedMessage `json:"queued_messages,omitzero"`
	HasMore  bool            `json:"has_more"`
}

// MessageQuery selects Messages: the newest first, or ascending with AfterID alone.
type MessageQuery struct {
	BeforeID, AfterID chat.MessageID
	// Limit 0 is the server's 50.
	Limit int
}

// MessageSend is a user Message. BusyBehavior is queue (also when empty) or interrupt.
type MessageSend struct {
	Content         []Input            `json:"content"`
	ModelConfigID   chat.ModelConfigID `json:"model_config_id,omitempty"`
	ReasoningEffort string             `json:"reasoning_effort,omitempty"`
	BusyBehavior    string             `json:"busy_behavior,omitempty"`
	// PlanMode is "" or "plan"; nil leaves the Chat's own.
	PlanMode *string `json:"plan_mode,omitempty"`
	// MCPServerIDs are the Chat's MCP servers from this Message on; nil leaves them, an empty list takes all but the forced ones away.
	MCPServerIDs *[]string `json:"mcp_server_ids,omitempty"`
}

// Sent holds the Message that went into the history, or the one that waits.
type Sent struct {
	Queued        bool           `json:"queued"`
	Message       *Message       `json:"message,omitempty"`
	QueuedMessage *QueuedMessage `json:"queued_message,omitempty"`
	// Warnings say what the model or the chat will not have of the Message's files.
	Warnings []string `json:"warnings,omitempty"`
}

// MessageEdit puts new content in the place of a user Message and of all that followed it.
type MessageEdit struct {
	Content       []Input            `json:"content"`
	ModelConfigID chat.ModelConfigID `json:"model_config_id,omitempty"`
}

// Edited is what came of it: the new Message, what is deleted now, and the queued ones that were dropped.
type Edited struct {
	Message Message          `json:"message"`
	Deleted []chat.MessageID `json:"deleted_message_ids"`
	Dropped []QueuedMessage  `json:"dropped_queued"`
	// Warnings say what the model or the chat will not have of the Message's files.
	Warnings []string `json:"warnings,omitempty"`
}

// QueuedUpdate changes a queued Message, or moves it before another one.
type QueuedUpdate struct {
	Content []Input        `json:"content,omitempty"`
	Before  chat.MessageID `json:"before,omitempty"`
}

// Messages gives one page of a Chat's Messages.
func (c *Client) Messages(ctx context.Context, id chat.ID, q MessageQuery) (MessagePage, error) {
	v := url.Values{}
	if q.BeforeID != 0 {
		v.Set("before_id", number(q.BeforeID))
	}
	if q.AfterID != 0 {
		v.Set("after_id", number(q.AfterID))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	var out MessagePage
	return out, c.call(ctx, http.MethodGet, chatPath(id, "messages"), v, nil, &out)
}

// Send gives a Chat the next user Message.
func (c *Client) Send(ctx context.Context, id chat.ID, in MessageSend) (Sent, error) {
	var out Sent
	return out, c.call(ctx, http.MethodPost, chatPath(id, "messages"), nil, in, &out)
}

// EditMessage edits a user Message; it and all after it are deleted, and the new one runs.
func (c *Client) EditMessage(ctx context.Context, id chat.ID, message chat.MessageID, in MessageEdit) (Edited, error) {
	var out Edited
	return out, c.call(ctx, http.MethodPatch, chatPath(id, "messages", number(message)), nil, in, &out)
}

// UpdateQueued changes or moves a queued Message.
func (c *Client) UpdateQueued(ctx context.Context, id chat.ID, queued chat.MessageID, in QueuedUpdate) error {
	return c.call(ctx, http.MethodPatch, chatPath(id, "queue", number(queued)), nil, in, nil)
}

// DeleteQueued removes a queued Message.
func (c *Client) DeleteQueued(ctx context.Context, id chat.ID, queued chat.MessageID) error {
	return c.call(ctx, http.MethodDelete, chatPath(id, "queue", number(queued)), nil, nil, nil)
}

// Promote lets a queued Message be next, at once.
func (c *Client) Promote(ctx context.Context, id chat.ID, queued chat.MessageID) error {
	return c.call(ctx, http.MethodPost, chatPath(id, "queue", number(queued), "promote"), nil, nil, nil)
}
