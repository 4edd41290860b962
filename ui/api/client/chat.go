package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Chat is a Chat as the API shows it. Fields of features that this appliance does not have are absent.
type Chat struct {
	ID           chat.ID           `json:"id"`
	OwnerID      chat.UserID       `json:"owner_id"`
	OwnerName    string            `json:"owner_name"`
	WorkspaceID  *chat.WorkspaceID `json:"workspace_id"`
	ParentChatID *chat.ID          `json:"parent_chat_id"`
	RootChatID   chat.ID           `json:"root_chat_id"`
	// ForkedFrom is the Chat that this one began as a copy of; it may be gone.
	ForkedFrom *chat.ID   `json:"forked_from_chat_id"`
	Title      string     `json:"title"`
	Status     chat.State `json:"status"`
	// Phase is what a pending or running Chat does just now.
	Phase      chat.Phase       `json:"phase,omitempty"`
	RestReason *chat.RestReason `json:"rest_reason"`
	Archived   bool             `json:"archived"`
	// QueueHeld: Messages wait, and nothing runs them until somebody acts.
	QueueHeld       bool                `json:"queue_held"`
	PinOrder        int                 `json:"pin_order"`
	Labels          map[string]string   `json:"labels"`
	ModelConfigID   *chat.ModelConfigID `json:"model_config_id"`
	ReasoningEffort string              `json:"reasoning_effort"`
	PlanMode        string              `json:"plan_mode"`
	// MCPServerIDs are the chosen MCP servers; those that are always on come by themselves.
	MCPServerIDs []string `json:"mcp_server_ids"`
	// AgentType is general or explore in a sub-agent, null in a root chat.
	AgentType *chat.AgentType `json:"agent_type"`
	// Asks says that the last Turn ended with a question or a plan, which the next Message answers.
	Asks            *chat.AskingKind `json:"asks"`
	LastError       *Error           `json:"last_error"`
	LastTurnSummary string           `json:"last_turn_summary"`
	// Damaged says what of the Chat was found that cannot be read, so that it does not go on; left out where all that was read is whole.
	Damaged string `json:"damaged,omitempty"`
	// DiffStatus is what the workspace's repositories differ from their last commits; left out without one.
	DiffStatus *chat.DiffStatus `json:"diff_status,omitempty"`
	HasUnread  bool             `json:"has_unread"`
	Usage      ContextUse       `json:"usage"`
	CreatedAt  Time             `json:"created_at"`
	UpdatedAt  Time             `json:"updated_at"`
	Version    int64            `json:"version"`
	Children   []Chat           `json:"children"`
	// Context is what the Chat has pinned of its Workspace, null before the first Turn.
	Context *ChatContext `json:"context"`
	// TurnWarnings say what the last Turn went on without.
	TurnWarnings []string `json:"turn_warnings,omitempty"`
	// Files were sent in the Chat, oldest first. Only a single Chat has them.
	Files []File `json:"files,omitempty"`
	// Warnings say what is not as it was asked for: files that the model or the Chat will not have, tools that are not used. Only the answer to
	// its creation has them.
	Warnings []string `json:"warnings,omitempty"`
}

// ContextUse is how full the window was at the last Step, in tokens; the limit is null before the first one.
type ContextUse struct {
	Tokens int64  `json:"context_tokens"`
	Limit  *int64 `json:"context_limit"`
}

// Error is why a Turn failed.
type Error struct {
	Kind      chat.Kind `json:"kind"`
	Message   string    `json:"message"`
	Detail    string    `json:"detail,omitempty"`
	Retryable bool      `json:"retryable"`
}

// ChatPage is one page of a list of Chats.
type ChatPage struct {
	Chats   []Chat `json:"chats"`
	HasMore bool   `json:"has_more"`
}

// ChatQuery selects Chats. Text holds bare words for the title, and archived:true, status:S, label:K=V, workspace:ID, has:unread.
type ChatQuery struct {
	Text string
	// Limit 0 is the server's 50. AfterID is the last Chat of the page before.
	Limit   int
	AfterID chat.ID
}

// ChatCreate starts a Chat.
type ChatCreate struct {
	Content         []Input            `json:"content"`
	Title           string             `json:"title,omitempty"`
	WorkspaceID     chat.WorkspaceID   `json:"workspace_id,omitempty"`
	ModelConfigID   chat.ModelConfigID `json:"model_config_id,omitempty"`
	SystemPrompt    string             `json:"system_prompt,omitempty"`
	ReasoningEffort string             `json:"reasoning_effort,omitempty"`
	Labels          map[string]string  `json:"labels,omitempty"`
	// PlanMode is "" or "plan".
	PlanMode string `json:"plan_mode,omitempty"`
	// Unattended: nobody can be asked, so that calls which need a person's leave are denied.
	Unattended bool `json:"unattended,omitempty"`
	// MCPServerIDs are its MCP servers; nil takes those that are preselected.
	MCPServerIDs *[]string    `json:"mcp_server_ids,omitempty"`
	ClientTools  []ClientTool `json:"client_tools,omitempty"`
}

// ChatUpdate changes what is not nil. "" takes a Workspace or a Model config away.
type ChatUpdate struct {
	Title           *string             `json:"title,omitempty"`
	Archived        *bool               `json:"archived,omitempty"`
	PinOrder        *int                `json:"pin_order,omitempty"`
	Labels          map[string]string   `json:"labels,omitzero"`
	WorkspaceID     *chat.WorkspaceID   `json:"workspace_id,omitempty"`
	ModelConfigID   *chat.ModelConfigID `json:"model_config_id,omitempty"`
	ReasoningEffort *string             `json:"reasoning_effort,omitempty"`
	PlanMode        *string             `json:"plan_mode,omitempty"`
	MCPServerIDs    *[]string           `json:"mcp_server_ids,omitempty"`
}

// Approval answers a permission card: allow_once, allow_chat, allow_always or deny. Shown, when it is given, must be that of the OpenCall:
// what has changed since is not allowed by it.
type Approval struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitempty"`
	Shown    string `json:"shown,omitempty"`
}

// Values of Approval.Decision.
const (
	AllowOnce   = "allow_once"
	AllowChat   = "allow_chat"
	AllowAlways = "allow_always"
	Deny        = "deny"
)

// Restored says which files were put back, and which were left because somebody else changed them since.
type Restored struct {
	Restored []string `json:"restored"`
	Skipped  []string `json:"skipped"`
}

// Title is one that a model made.
type Title struct {
	Title string `json:"title"`
}

// ProposeTitle lets a model propose a title; nothing is stored.
func (c *Client) ProposeTitle(ctx context.Context, id chat.ID) (Title, error) {
	var out Title
	return out, c.call(ctx, http.MethodPost, chatPath(id, "title", "propose"), nil, nil, &out)
}

// RegenerateTitle lets a model name the Chat anew.
func (c *Client) RegenerateTitle(ctx context.Context, id chat.ID) (Title, error) {
	var out Title
	return out, c.call(ctx, http.MethodPost, chatPath(id, "title", "regenerate"), nil, nil, &out)
}

// Chats gives one page of the caller's Chats.
func (c *Client) Chats(ctx context.Context, q ChatQuery) (ChatPage, error) {
	v := url.Values{}
	setIf(v, "q", q.Text)
	setIf(v, "after_id", string(q.AfterID))
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	var out ChatPage
	return out, c.call(ctx, http.MethodGet, "/chats", v, nil, &out)
}

// CreateChat starts a Chat; its first Turn begins at once.
func (c *Client) CreateChat(ctx context.Context, in ChatCreate) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodPost, "/chats", nil, in, &out)
}

// Chat gives one Chat.
func (c *Client) Chat(ctx context.Context, id chat.ID) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodGet, chatPath(id), nil, nil, &out)
}

// UpdateChat changes a Chat's settings.
func (c *Client) UpdateChat(ctx context.Context, id chat.ID, in ChatUpdate) error {
	return c.call(ctx, http.MethodPatch, chatPath(id), nil, in, nil)
}

// DeleteChat removes an archived Chat for good.
func (c *Client) DeleteChat(ctx context.Context, id chat.ID) error {
	return c.call(ctx, http.MethodDelete, chatPath(id), nil, nil, nil)
}

// Interrupt stops what the Chat does and keeps what was done.
func (c *Client) Interrupt(ctx context.Context, id chat.ID) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodPost, chatPath(id, "interrupt"), nil, nil, &out)
}

// Retry starts a failed or cut Turn again.
func (c *Client) Retry(ctx context.Context, id chat.ID) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodPost, chatPath(id, "retry"), nil, nil, &out)
}

// Compact lets the model summarise the history of a Chat at rest.
func (c *Client) Compact(ctx context.Context, id chat.ID) error {
	return c.call(ctx, http.MethodPost, chatPath(id, "compact"), nil, nil, nil)
}

// Clear starts a new context in a Chat at rest.
func (c *Client) Clear(ctx context.Context, id chat.ID) error {
	return c.call(ctx, http.MethodPost, chatPath(id, "clear"), nil, nil, nil)
}

// Approve answers the permission card of a Call.
func (c *Client) Approve(ctx context.Context, id chat.ID, callID string, in Approval) error {
	return c.call(ctx, http.MethodPost, chatPath(id, "approvals", callID), nil, in, nil)
}

// Restore puts the files of a Message's Turn and of all later ones back. Where nothing was skipped the answer names no files.
func (c *Client) Restore(ctx context.Context, id chat.ID, message chat.MessageID) (Restored, error) {
	var out Restored
	return out, c.call(ctx, http.MethodPost, chatPath(id, "checkpoints", number(message), "restore"), nil, nil, &out)
}

func chatPath(id chat.ID, rest ...string) string {
	path := "/chats/" + url.PathEscape(string(id))
	for _, r := range rest {
		path += "/" + url.PathEscape(r)
	}
	return path
}

func number(id chat.MessageID) string { return strconv.FormatInt(int64(id), 10) }

func setIf(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}
