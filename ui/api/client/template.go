package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Template is what a Workspace can be made from. Members see neither sources nor commands.
type Template struct {
	ID             chat.TemplateID   `json:"id"`
	Name           string            `json:"name"`
	Description    string            `json:"description"`
	Kind           chat.TemplateKind `json:"kind"`
	Target         string            `json:"target"`
	Source         string            `json:"source"`
	Directory      string            `json:"directory"`
	AllowAgents    bool              `json:"allow_agents"`
	AllowMembers   bool              `json:"allow_members"`
	Setup          string            `json:"setup"`
	SetupTimeoutMS int64             `json:"setup_timeout_ms"`
	SetupNetwork   bool              `json:"setup_network"`
	TTLMS          int64             `json:"ttl_ms"`
	Autostop       bool              `json:"autostop"`
	Policy         string            `json:"policy"`
	Sandbox        string            `json:"sandbox"`
	Variables      map[string]string `json:"variables"`
	Permissions    RuleSet           `json:"permissions"`
	CreatedAt      Time              `json:"created_at"`
}

// TemplatePage holds the Templates that the caller may use, by name.
type TemplatePage struct {
	Templates []Template `json:"templates"`
}

// WorkspaceTTL is how long Workspaces may be idle before they are stopped; 0 is as their Template says.
type WorkspaceTTL struct {
	WorkspaceTTLMS int64 `json:"workspace_ttl_ms"`
}

// Templates lists what the caller may make Workspaces from.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	var out TemplatePage
	err := c.call(ctx, http.MethodGet, "/templates", nil, nil, &out)
	return out.Templates, err
}

// CreateTemplate adds a Template.
func (c *Client) CreateTemplate(ctx context.Context, in chat.TemplateFields) (Template, error) {
	var out Template
	return out, c.call(ctx, http.MethodPost, "/templates", nil, in, &out)
}

// Template gives one Template.
func (c *Client) Template(ctx context.Context, id chat.TemplateID) (Template, error) {
	var out Template
	return out, c.call(ctx, http.MethodGet, templatePath(id), nil, nil, &out)
}

// UpdateTemplate changes what is not nil.
func (c *Client) UpdateTemplate(ctx context.Context, id chat.TemplateID, in chat.TemplateFields) (Template, error) {
	var out Template
	return out, c.call(ctx, http.MethodPatch, templatePath(id), nil, in, &out)
}

// DeleteTemplate removes a Template; the Workspaces that were made from it stay.
func (c *Client) DeleteTemplate(ctx context.Context, id chat.TemplateID) error {
	return c.call(ctx, http.MethodDelete, templatePath(id), nil, nil, nil)
}

// WorkspaceTTL gives how long Workspaces may be idle.
func (c *Client) WorkspaceTTL(ctx context.Context) (WorkspaceTTL, error) {
	var out WorkspaceTTL
	return out, c.call(ctx, http.MethodGet, "/chats/config/workspace-ttl", nil, nil, &out)
}

// SetWorkspaceTTL replaces it.
func (c *Client) SetWorkspaceTTL(ctx context.Context, in WorkspaceTTL) error {
	return c.call(ctx, http.MethodPut, "/chats/config/workspace-ttl", nil, in, nil)
}

func templatePath(id chat.TemplateID) string { return "/templates/" + url.PathEscape(string(id)) }
