package chat

import (
	"encoding/json"
	"time"
)

// Role says who speaks in a Message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Visibility says who sees a Message: the person, the model, or both ("" reads as both).
type Visibility string

const (
	VisibleBoth  Visibility = "both"
	VisibleUser  Visibility = "user"
	VisibleModel Visibility = "model"
)

// PartType names what a Part holds.
type PartType string

const (
	PartText          PartType = "text"
	PartReasoning     PartType = "reasoning"
	PartToolCall      PartType = "tool-call"
	PartToolResult    PartType = "tool-result"
	PartFile          PartType = "file"
	PartFileReference PartType = "file-reference"
	PartContextFile   PartType = "context-file"
	PartSkill         PartType = "skill"
	PartSource        PartType = "source"
)

// Part is the smallest content of a Message. Type says which fields count; the others are empty.
type Part struct {
	Type PartType `json:"type"`
	// Text is the content of text and reasoning.
	Text string `json:"text,omitempty"`

	// CallID and ToolName belong to tool-call and tool-result.
	CallID           string          `json:"tool_call_id,omitempty"`
	ToolName         string          `json:"tool_name,omitempty"`
	Args             json.RawMessage `json:"args,omitempty"`
	Repaired         bool            `json:"repaired,omitempty"`
	ProviderExecuted bool            `json:"provider_executed,omitempty"`

	// Result is JSON as engine.md 5.4 says: {"error": text}, {"output": text} or a Tool's own object.
	Result      json.RawMessage `json:"result,omitempty"`
	IsError     bool            `json:"is_error,omitempty"`
	Truncated   bool            `json:"truncated,omitempty"`
	FullBytes   int64           `json:"full_bytes,omitempty"`
	CreatedAt   *time.Time      `json:"created_at,omitempty"`
	CompletedAt *time.Time      `json:"completed_at,omitempty"`

	// Detail is what a page shows of a tool-result beyond Result (diffs, hits): JSON of the Tool's own shape, never sent to
	// a model and not part of the JSON API.
	Detail json.RawMessage `json:"detail,omitempty"`

	// FileID names a File: that of a file Part, or what a tool-result has beside its text.
	FileID    string `json:"file_id,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`

	FileName  string `json:"file_name,omitempty"`
	StartLine int    `json:"start_line,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	Content   string `json:"content,omitempty"`

	Path        string `json:"path,omitempty"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
	Title       string `json:"title,omitempty"`
}

// Usage holds the model server's own token counts of one call; nil fields were not reported.
type Usage struct {
	InputTokens     *int64 `json:"input_tokens,omitempty"`
	OutputTokens    *int64 `json:"output_tokens,omitempty"`
	TotalTokens     *int64 `json:"total_tokens,omitempty"`
	ReasoningTokens *int64 `json:"reasoning_tokens,omitempty"`
	CacheReadTokens *int64 `json:"cache_read_tokens,omitempty"`
	// ContextLimit is the window in tokens that the request asked for.
	ContextLimit *int64 `json:"context_limit,omitempty"`
}

// Message is one committed entry of a Chat. It never changes; deletion and compression are marks beside it.
type Message struct {
	ID             MessageID     `json:"id"`
	ChatID         ID            `json:"chat_id"`
	CreatedBy      UserID        `json:"created_by,omitempty"`
	ModelConfigID  ModelConfigID `json:"model_config_id,omitempty"`
	CreatedAt      time.Time     `json:"created_at"`
	Role           Role          `json:"role"`
	Content        []Part        `json:"content"`
	Visibility     Visibility    `json:"visibility,omitempty"`
	Partial        bool          `json:"partial,omitempty"`
	FinishReason   string        `json:"finish_reason,omitempty"`
	Compressed     bool          `json:"compressed,omitempty"`
	ContentVersion int           `json:"content_version"`
	Usage          *Usage        `json:"usage,omitempty"`
	CostMicros     *int64        `json:"total_cost_micros,omitempty"`
	RuntimeMS      *int64        `json:"runtime_ms,omitempty"`
	// EvalMS is how long the server wrote at this reply, by its own clock; 0 when not reported.
	EvalMS int64 `json:"eval_ms,omitempty"`
	// Boundary marks a Message after which the prompt starts: "summary" (the Message itself is sent) or "clear" (it is not).
	Boundary string `json:"boundary,omitempty"`
	// Unanswered names the user Messages before a summary that no reply has answered; the prompt sends them after it.
	Unanswered []MessageID `json:"unanswered,omitempty"`
	// Step numbers the Step of an assistant Message and of its tool Messages within the Chat; the page names elements by it.
	Step int64 `json:"step,omitempty"`
	// Deleted is filled in by the store from the deletion marks; it is not part of the record's payload.
	Deleted bool `json:"-"`
}

// Values of Message.Boundary.
const (
	BoundarySummary = "summary"
	BoundaryClear   = "clear"
)

// QueuedMessage waits for its Turn. Its ID comes from the same sequence as Message ids and is not reused by the Message it becomes.
type QueuedMessage struct {
	ID              MessageID     `json:"id"`
	ChatID          ID            `json:"chat_id"`
	CreatedBy       UserID        `json:"created_by,omitempty"`
	CreatedAt       time.Time     `json:"created_at"`
	ModelConfigID   ModelConfigID `json:"model_config_id,omitempty"`
	ReasoningEffort string        `json:"reasoning_effort,omitempty"`
	// PlanMode is set together with the Message; nil leaves the Chat's own.
	PlanMode *string `json:"plan_mode,omitempty"`
	// MCPServerIDs are chosen together with the Message; nil leaves the Chat's own.
	MCPServerIDs *[]string `json:"mcp_server_ids,omitempty"`
	Content      []Part    `json:"content"`
	// Urgent ones (sent with interrupt) stand before all plain ones.
	Urgent bool `json:"urgent,omitempty"`
}

// PlainText joins the text Parts of a Message with blank lines.
func PlainText(parts []Part) string {
	var out string
	for _, p := range parts {
		if p.Type != PartText || p.Text == "" {
			continue
		}
		if out != "" {
			out += "\n\n"
		}
		out += p.Text
	}
	return out
}
