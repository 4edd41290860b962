package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Workspace is a place with files.
type Workspace struct {
	ID        chat.WorkspaceID `json:"id"`
	OwnerID   chat.UserID      `json:"owner_id"`
	Name      string           `json:"name"`
	Kind      string           `json:"kind"`
	Directory string           `json:"directory"`
	// AgentID is the Agent that serves a Workspace of kind agent, "" while there is none.
	AgentID chat.AgentID `json:"agent_id,omitempty"`
	// Trusted: commands run without asking.
	Trusted bool `json:"trusted"`
	// State is creating, setup, running, setup_failed, stopping, stopped, offline or deleted.
	State chat.WorkspaceState `json:"state"`
	// Sandbox is what confines its commands.
	Sandbox chat.Sandbox `json:"sandbox"`
	// TemplateID is what it was made from, "" for a folder that was added. SetupLog is the end of what its setup said.
	TemplateID chat.TemplateID `json:"template_id"`
	SetupLog   string          `json:"setup_log"`
	// Deadline is when it is stopped unless it is used before, null for never.
	Deadline  *Time `json:"deadline"`
	CreatedAt Time  `json:"created_at"`
}

// WorkspacePage holds the caller's Workspaces, by name.
type WorkspacePage struct {
	Workspaces []Workspace `json:"workspaces"`
}

// WorkspaceCreate adds a folder of the appliance's machine, or makes a Workspace from a Template. Kind is local.
type WorkspaceCreate struct {
	Name      string `json:"name,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Directory string `json:"directory,omitempty"`
	Trusted   bool   `json:"trusted,omitempty"`
	// TemplateID makes it from a Template; Branch is where a clone or worktree begins.
	TemplateID chat.TemplateID `json:"template_id,omitempty"`
	Branch     string          `json:"branch,omitempty"`
}

// WorkspaceUpdate changes what is not nil.
type WorkspaceUpdate struct {
	Name    *string `json:"name,omitempty"`
	Trusted *bool   `json:"trusted,omitempty"`
	// Sandbox is read-only, workspace, network or off; empty is what the Workspace has by itself.
	Sandbox *chat.Profile `json:"sandbox,omitempty"`
}

// Workspaces lists the caller's Workspaces.
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	var out WorkspacePage
	err := c.call(ctx, http.MethodGet, "/workspaces", nil, nil, &out)
	return out.Workspaces, err
}

// CreateWorkspace adds a folder, or gives the Workspace that the caller has of it already, unchanged.
func (c *Client) CreateWorkspace(ctx context.Context, in WorkspaceCreate) (Workspace, error) {
	var out Workspace
	return out, c.call(ctx, http.MethodPost, "/workspaces", nil, in, &out)
}

// Workspace gives one Workspace.
func (c *Client) Workspace(ctx context.Context, id chat.WorkspaceID) (Workspace, error) {
	var out Workspace
	return out, c.call(ctx, http.MethodGet, workspacePath(id), nil, nil, &out)
}

// UpdateWorkspace renames a Workspace or sets its trust.
func (c *Client) UpdateWorkspace(ctx context.Context, id chat.WorkspaceID, in WorkspaceUpdate) (Workspace, error) {
	var out Workspace
	return out, c.call(ctx, http.MethodPatch, workspacePath(id), nil, in, &out)
}

// StartWorkspace lets a stopped Workspace run again.
func (c *Client) StartWorkspace(ctx context.Context, id chat.WorkspaceID) (Workspace, error) {
	var out Workspace
	return out, c.call(ctx, http.MethodPost, workspacePath(id)+"/start", nil, nil, &out)
}

// StopWorkspace ends all that runs in a Workspace; its files stay.
func (c *Client) StopWorkspace(ctx context.Context, id chat.WorkspaceID) (Workspace, error) {
	var out Workspace
	return out, c.call(ctx, http.MethodPost, workspacePath(id)+"/stop", nil, nil, &out)
}

// DeleteWorkspace forgets a Workspace; its files stay. files says what becomes of a worktree: "" removes a clean one, "keep" and "discard"
// say it for one with changes, which is refused else.
func (c *Client) DeleteWorkspace(ctx context.Context, id chat.WorkspaceID, files string) error {
	query := url.Values{}
	if files != "" {
		query.Set("files", files)
	}
	return c.call(ctx, http.MethodDelete, workspacePath(id), query, nil, nil)
}

func workspacePath(id chat.WorkspaceID) string { return "/workspaces/" + url.PathEscape(string(id)) }
