package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// ChatContext is the Snapshot of its Workspace that a Chat has pinned.
type ChatContext struct {
	// SnapshotVersion numbers the Snapshots of the Workspace.
	SnapshotVersion int64  `json:"snapshot_version"`
	Hash            string `json:"hash"`
	// Dirty: the Workspace's context is another one by now.
	Dirty      bool  `json:"dirty"`
	DirtySince *Time `json:"dirty_since"`
	// Next: it counts from the next Turn on; the live one has an older one.
	Next bool `json:"next,omitempty"`
	// Error is what the Workspace could not look at. Resources has a single Chat only.
	Error     string            `json:"error,omitempty"`
	Resources []ContextResource `json:"resources,omitempty"`
}

// ContextResource is a Resource as a Chat has it.
type ContextResource struct {
	Kind        chat.ResourceKind   `json:"kind"`
	Source      string              `json:"source"`
	SourcePath  string              `json:"source_path,omitempty"`
	Name        string              `json:"name,omitempty"`
	Description string              `json:"description,omitempty"`
	Status      chat.ResourceStatus `json:"status"`
	Error       string              `json:"error,omitempty"`
	SizeBytes   int64               `json:"size_bytes"`
	// Change is added, changed or removed since the Chat pinned its Snapshot.
	Change string `json:"change,omitempty"`
	// InPromptBytes stand in a request, LeftOutBytes have no room there. What a reader does not see is removed, and counted.
	InPromptBytes     int64 `json:"in_prompt_bytes,omitempty"`
	LeftOutBytes      int64 `json:"left_out_bytes,omitempty"`
	RemovedComments   int   `json:"removed_comments,omitempty"`
	RemovedCharacters int   `json:"removed_characters,omitempty"`
}

// ContextSnapshot is the context of a Workspace, without the content of files.
type ContextSnapshot struct {
	Version       int64              `json:"version"`
	Ready         bool               `json:"ready"`
	MCPSettled    bool               `json:"mcp_settled"`
	AggregateHash string             `json:"aggregate_hash"`
	FullHash      string             `json:"full_hash"`
	Resources     []SnapshotResource `json:"resources"`
	PayloadBytes  int64              `json:"payload_bytes"`
	SnapshotError string             `json:"snapshot_error,omitempty"`
}

// SnapshotResource is one thing found in a Workspace.
type SnapshotResource struct {
	ID          string              `json:"id"`
	Kind        chat.ResourceKind   `json:"kind"`
	Source      string              `json:"source"`
	SourcePath  string              `json:"source_path,omitempty"`
	Status      chat.ResourceStatus `json:"status"`
	Error       string              `json:"error,omitempty"`
	Name        string              `json:"name,omitempty"`
	Description string              `json:"description,omitempty"`
	SizeBytes   int64               `json:"size_bytes"`
	ContentHash string              `json:"content_hash"`
	Tools       []SnapshotTool      `json:"tools,omitempty"`
}

// SnapshotTool is a tool of an MCP server.
type SnapshotTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ContextSource is a path that was added to a Workspace's context.
type ContextSource struct {
	Path string `json:"path"`
}

// ContextRefreshConfig is what a person's Chats do when the context of their Workspace changes: manual or auto.
type ContextRefreshConfig struct {
	ContextRefresh string `json:"context_refresh"`
}

const contextRefresh = "/chats/config/context-refresh"

// PinChatContext makes the newest context of its Workspace the Chat's, from the next Turn on.
func (c *Client) PinChatContext(ctx context.Context, id chat.ID) error {
	return c.call(ctx, http.MethodPut, chatPath(id)+"/context", nil, nil, nil)
}

// ContextRefresh gives what the caller's Chats do when the context of their Workspace changes.
func (c *Client) ContextRefresh(ctx context.Context) (ContextRefreshConfig, error) {
	var out ContextRefreshConfig
	return out, c.call(ctx, http.MethodGet, contextRefresh, nil, nil, &out)
}

// UpdateContextRefresh replaces it.
func (c *Client) UpdateContextRefresh(ctx context.Context, in ContextRefreshConfig) error {
	return c.call(ctx, http.MethodPut, contextRefresh, nil, in, nil)
}

// WorkspaceContext gives the newest Snapshot of a Workspace.
func (c *Client) WorkspaceContext(ctx context.Context, id chat.WorkspaceID) (ContextSnapshot, error) {
	var out ContextSnapshot
	return out, c.call(ctx, http.MethodGet, workspacePath(id)+"/context", nil, nil, &out)
}

// ResyncWorkspaceContext looks at a Workspace anew.
func (c *Client) ResyncWorkspaceContext(ctx context.Context, id chat.WorkspaceID) (ContextSnapshot, error) {
	var out ContextSnapshot
	return out, c.call(ctx, http.MethodPost, workspacePath(id)+"/context/resync", nil, nil, &out)
}

// ContextSources lists the paths that were added to a Workspace's context.
func (c *Client) ContextSources(ctx context.Context, id chat.WorkspaceID) ([]ContextSource, error) {
	var out []ContextSource
	return out, c.call(ctx, http.MethodGet, workspacePath(id)+"/context/sources", nil, nil, &out)
}

// ContextSource gives the identity of a path that was added.
func (c *Client) ContextSource(ctx context.Context, id chat.WorkspaceID, path string) (ContextSource, error) {
	var out ContextSource
	return out, c.call(ctx, http.MethodGet, sourcePath(id, path), nil, nil, &out)
}

// AddContextSource adds a path; adding it again changes nothing.
func (c *Client) AddContextSource(ctx context.Context, id chat.WorkspaceID, path string) (ContextSource, error) {
	var out ContextSource
	return out, c.call(ctx, http.MethodPost, workspacePath(id)+"/context/sources", nil, ContextSource{Path: path}, &out)
}

// RemoveContextSource takes a path away.
func (c *Client) RemoveContextSource(ctx context.Context, id chat.WorkspaceID, path string) error {
	return c.call(ctx, http.MethodDelete, sourcePath(id, path), nil, nil, nil)
}

func sourcePath(id chat.WorkspaceID, path string) string {
	return workspacePath(id) + "/context/sources/" + url.PathEscape(path)
}
