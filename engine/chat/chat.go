package chat

import (
	"encoding/json"
	"time"
)

// Chat is the durable conversation's record. Its Messages, queue and Draft stand beside it in the store.
type Chat struct {
	ID       ID     `json:"id"`
	OwnerID  UserID `json:"owner_id"`
	ParentID ID     `json:"parent_chat_id,omitempty"`
	RootID   ID     `json:"root_chat_id"`
	// ForkedFrom is the Chat that this one began as a copy of; it may be gone.
	ForkedFrom ID `json:"forked_from,omitempty"`

	Title string `json:"title"`
	// TitleFallback: the title was made from the first words and may still be replaced by a better one, once.
	TitleFallback   bool              `json:"title_fallback,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	PinOrder        int               `json:"pin_order,omitempty"`
	WorkspaceID     WorkspaceID       `json:"workspace_id,omitempty"`
	ModelConfigID   ModelConfigID     `json:"model_config_id,omitempty"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
	MCPServerIDs    []string          `json:"mcp_server_ids,omitempty"`
	PlanMode        string            `json:"plan_mode,omitempty"`
	// Unattended: nobody can be asked about its Calls, so that what would ask is denied.
	Unattended bool `json:"unattended,omitempty"`
	// AgentType is set in Sub-agents; ClientTools were declared by the program that made the Chat.
	AgentType   AgentType    `json:"agent_type,omitempty"`
	ClientTools []ClientTool `json:"client_tools,omitempty"`

	State           State      `json:"status"`
	RestReason      RestReason `json:"rest_reason,omitempty"`
	Archived        bool       `json:"archived,omitempty"`
	LastError       *Error     `json:"last_error,omitempty"`
	LastTurnSummary string     `json:"last_turn_summary,omitempty"`
	// LastReply is the newest assistant Message that a person may see, a compaction's card apart; has_unread follows from it.
	LastReply MessageID `json:"last_reply,omitempty"`
	// Diff is what the Workspace's repositories differ from their last commits, nil without one or before the first look.
	Diff *DiffStatus `json:"diff_status,omitempty"`
	// DiffMark is another one when files differ otherwise, though the sums of Diff may be the same.
	DiffMark string `json:"diff_mark,omitempty"`
	// Queued is the length of the queue.
	Queued int `json:"queued,omitempty"`
	// Files numbers the links of Files to the Chat; it only grows.
	Files int64 `json:"files,omitempty"`

	Version        int64 `json:"version"`
	HistoryVersion int64 `json:"history_version"`
	QueueVersion   int64 `json:"queue_version"`
	HistoryEpoch   int64 `json:"history_epoch"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// RunnableSince orders pending Chats; zero otherwise.
	RunnableSince time.Time `json:"runnable_since,omitzero"`

	Lease *Lease `json:"lease,omitempty"`
	Turn  Turn   `json:"turn"`
	// StepSeq numbers Steps over the Chat's life; Generation numbers Draft generations, never reused.
	StepSeq    int64 `json:"step_seq,omitempty"`
	Generation int64 `json:"generation,omitempty"`
	// Intent "compact" makes the next run summarise and rest in RestState again.
	Intent    string `json:"intent,omitempty"`
	RestState State  `json:"rest_state,omitempty"`
	// Outstanding Calls keep the Chat in requires_action, or are allowed ones that the resumed Turn runs first.
	Outstanding []OutstandingCall `json:"outstanding,omitempty"`
	// ActionDeadline is when client-run Calls are answered without their program; zero when none is open.
	ActionDeadline time.Time `json:"action_deadline,omitzero"`

	Used  ContextUse `json:"used"`
	Chain Chain      `json:"chain"`

	// Context is the Snapshot of the Workspace that the Turns use; nil before the first one. NextContext was pinned while a Turn was
	// live, and is the next one's.
	Context     *ContextPin `json:"context,omitempty"`
	NextContext *ContextPin `json:"next_context,omitempty"`

	// Damage is what was found of the Chat that cannot be read, "" for nothing. The store says it with each read and keeps it nowhere.
	Damage string `json:"-"`
}

// Lost says that the Chat's own record cannot be read: nothing of it is known but its id, and in a list its parent.
func (c *Chat) Lost() bool { return c.OwnerID == "" }

// Pinned is what a person has pinned last, nil for nothing: the Chat is out of date against that.
func (c *Chat) Pinned() *ContextPin {
	if c.NextContext != nil {
		return c.NextContext
	}
	return c.Context
}

// Lease makes one runner the owner of a Chat's run.
type Lease struct {
	// Epoch grows with each process start; Runner is new for every Acquire.
	Epoch  int64  `json:"epoch"`
	Runner string `json:"runner"`
}

// Turn is what the store knows of the present or last Turn.
type Turn struct {
	// UserMessage is the Message that the Turn answers; checkpoints of files are bound to it.
	UserMessage MessageID `json:"user_message,omitempty"`
	Steps       int       `json:"steps,omitempty"`
	// Cuts counts recoveries without a committed Step between.
	Cuts int `json:"cuts,omitempty"`
	// Nudged: text:empty or text:swallowed was already sent in this Turn.
	Nudged bool `json:"nudged,omitempty"`
	// Urged: text:announced was already sent in this Turn.
	Urged bool `json:"urged,omitempty"`
	// WithParent: it was stopped because its parent was.
	WithParent bool `json:"with_parent,omitempty"`
	// Asks is set when the Turn ended with a question or a plan; the next user Message answers it.
	Asks        *Asking `json:"asks,omitempty"`
	Compactions int     `json:"compactions,omitempty"`
	// CompactedAt is how many Steps there were at the last compaction.
	CompactedAt int       `json:"compacted_at,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	// Warnings say what the Turn went on without.
	Warnings []string `json:"warnings,omitempty"`
	// Hidden are the Tools that the model finds only when it looks for them; nil when all are offered.
	Hidden *HiddenTools `json:"hidden_tools,omitempty"`
}

// HiddenTools are the Tools of MCP servers whose definitions a Turn leaves out of its requests.
type HiddenTools struct {
	Servers []HiddenServer `json:"servers"`
	// SavedBytes is what their definitions would have taken of each request.
	SavedBytes int64 `json:"saved_bytes"`
}

// HiddenServer counts the hidden Tools of one server.
type HiddenServer struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
}

// ContextUse is how full the window was at the last Step, by the server's counts.
type ContextUse struct {
	Tokens int64 `json:"context_tokens,omitempty"`
	Limit  int64 `json:"context_limit,omitempty"`
	// PromptTokens is the prompt's share of Tokens.
	PromptTokens int64 `json:"prompt_tokens,omitempty"`
	// PromptBytes is the size of the request and its reply that Tokens were counted for.
	PromptBytes int64 `json:"prompt_bytes,omitempty"`
}

// Chain is the state of the Chat's hash chain (operations.md 2), kept by the store.
type Chain struct {
	Count  int64     `json:"count,omitempty"`
	LastID MessageID `json:"last_id,omitempty"`
	Head   []byte    `json:"head,omitempty"`
}

// OutstandingKind says who must answer an outstanding Call.
type OutstandingKind string

const (
	OutstandingApproval OutstandingKind = "approval"
	OutstandingClient   OutstandingKind = "client"
)

// OutstandingCall is a committed Call without a Result.
type OutstandingCall struct {
	Call Call            `json:"call"`
	Kind OutstandingKind `json:"kind"`
	// Command is what the Call runs beyond its arguments, such as the setup of a template.
	Command string `json:"command,omitempty"`
	// Asked is what the card shows; nil in a Call that nobody was asked about, and for a program's own.
	Asked *Asked `json:"asked,omitempty"`
	// Decision is "" while open, then allow or deny; Answer is what the person pressed: allow_once, allow_chat, allow_always, deny.
	Decision string    `json:"decision,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	AskedAt  time.Time `json:"asked_at"`
	Step     int64     `json:"step,omitempty"`
	// Process is what the Call started and waits for again, "" for one that has not begun.
	Process string `json:"process,omitempty"`
}

// DraftChunk is one checkpoint of a running Draft: what was added since the chunk before. Chunks of one Step join to the Draft.
type DraftChunk struct {
	Step       int64  `json:"step"`
	Generation int64  `json:"generation"`
	Parts      []Part `json:"parts"`
	// First is the index of Parts[0] in the Draft; if its Part exists already, its text is appended.
	First int `json:"first"`
	// Whole: the reply is complete; only the transaction that closes the Turn is missing.
	Whole bool `json:"whole,omitempty"`
	// FinishReason and Spent are known of a complete reply: whoever stores it books what it used.
	FinishReason string      `json:"finish_reason,omitempty"`
	Spent        *UsageEntry `json:"spent,omitempty"`
	At           time.Time   `json:"at"`
}

// Intent is the durable note that a Call is about to run or has run (operations.md 3.4).
type Intent struct {
	CallID   string      `json:"call_id"`
	Step     int64       `json:"step"`
	Index    int         `json:"index"`
	Tool     string      `json:"tool"`
	ArgsHash string      `json:"args_hash"`
	Class    EffectClass `json:"class"`
	// Workspace and ProcessID name where an effect happens.
	Workspace WorkspaceID  `json:"workspace,omitempty"`
	ProcessID string       `json:"process_id,omitempty"`
	Changes   []FileChange `json:"changes,omitempty"`
	StartedAt time.Time    `json:"started_at"`
	// Result is set once the Call has answered.
	Result *Part `json:"result,omitempty"`
}

// Checkpoint is a file as it was before a Turn first changed it.
type Checkpoint struct {
	ChatID ID `json:"chat_id"`
	// MessageID is the Turn's user Message, or the id of a restore.
	MessageID MessageID `json:"message_id"`
	// WorkspaceID is where the file is; "" in older ones: the Chat's.
	WorkspaceID WorkspaceID `json:"workspace_id,omitempty"`
	Path        string      `json:"path"`
	Existed     bool        `json:"existed"`
	// SHA256 names the kept bytes in the store's files; "" when the file did not exist.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// AfterHash is what the Chat's own last change of the file in this Turn left behind.
	AfterHash string    `json:"after_hash,omitempty"`
	At        time.Time `json:"at"`
}

// Receipt answers a repeated Idempotency-Key with the first answer.
type Receipt struct {
	UserID   UserID          `json:"user_id"`
	Key      string          `json:"key"`
	Route    string          `json:"route"`
	BodyHash string          `json:"body_hash"`
	Answer   json.RawMessage `json:"answer"`
	At       time.Time       `json:"at"`
}

// UsageEntry is one model call's cost; it never goes away with the Messages.
type UsageEntry struct {
	ChatID        ID            `json:"chat_id"`
	RootID        ID            `json:"root_chat_id"`
	UserID        UserID        `json:"user_id"`
	ModelConfigID ModelConfigID `json:"model_config_id,omitempty"`
	Model         string        `json:"model"`
	// Kind is one of UsageTurn to UsageSummary.
	Kind       string    `json:"kind"`
	Usage      Usage     `json:"usage"`
	CostMicros *int64    `json:"cost_micros"`
	RuntimeMS  int64     `json:"runtime_ms"`
	At         time.Time `json:"at"`
}
