package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// MCPServer is an MCP server that an admin has configured. Members see neither client id, addresses of the sign-in, scopes, header, lists nor the
// query of the URL.
type MCPServer struct {
	ID          chat.MCPServerID `json:"id"`
	Slug        string           `json:"slug"`
	DisplayName string           `json:"display_name"`
	Description string           `json:"description"`
	Icon        string           `json:"icon"`
	Transport   string           `json:"transport"`
	URL         string           `json:"url"`
	AuthType    string           `json:"auth_type"`

	OAuth2ClientID string `json:"oauth2_client_id,omitempty"`
	OAuth2AuthURL  string `json:"oauth2_auth_url,omitempty"`
	OAuth2TokenURL string `json:"oauth2_token_url,omitempty"`
	OAuth2Scopes   string `json:"oauth2_scopes,omitempty"`
	APIKeyHeader   string `json:"api_key_header,omitempty"`
	// What is kept secret is only ever said to be there.
	HasOAuth2Secret  bool `json:"has_oauth2_secret"`
	HasAPIKey        bool `json:"has_api_key"`
	HasCustomHeaders bool `json:"has_custom_headers"`
	// AuthConnected: the caller has signed in to it.
	AuthConnected bool `json:"auth_connected"`

	ToolAllowList   []string `json:"tool_allow_list,omitempty"`
	ToolDenyList    []string `json:"tool_deny_list,omitempty"`
	ReadOnlyTools   []string `json:"read_only_tools,omitempty"`
	AllowInPlanMode bool     `json:"allow_in_plan_mode"`
	// Availability is force_on, default_on or default_off.
	Availability string `json:"availability"`
	Enabled      bool   `json:"enabled"`
	CreatedAt    Time   `json:"created_at"`
	UpdatedAt    Time   `json:"updated_at"`
}

// MCPServerPage holds the servers that the caller may see.
type MCPServerPage struct {
	Servers []MCPServer `json:"servers"`
}

// MCPServerFields are what an admin sets; what is nil stays. An empty secret is cleared, custom_headers replaces all headers.
type MCPServerFields struct {
	Slug               *string            `json:"slug,omitempty"`
	DisplayName        *string            `json:"display_name,omitempty"`
	Description        *string            `json:"description,omitempty"`
	Icon               *string            `json:"icon,omitempty"`
	Transport          *string            `json:"transport,omitempty"`
	URL                *string            `json:"url,omitempty"`
	AuthType           *string            `json:"auth_type,omitempty"`
	OAuth2ClientID     *string            `json:"oauth2_client_id,omitempty"`
	OAuth2ClientSecret *string            `json:"oauth2_client_secret,omitempty"`
	OAuth2AuthURL      *string            `json:"oauth2_auth_url,omitempty"`
	OAuth2TokenURL     *string            `json:"oauth2_token_url,omitempty"`
	OAuth2Scopes       *string            `json:"oauth2_scopes,omitempty"`
	APIKeyHeader       *string            `json:"api_key_header,omitempty"`
	APIKeyValue        *string            `json:"api_key_value,omitempty"`
	CustomHeaders      *map[string]string `json:"custom_headers,omitempty"`
	ToolAllowList      *[]string          `json:"tool_allow_list,omitempty"`
	ToolDenyList       *[]string          `json:"tool_deny_list,omitempty"`
	ReadOnlyTools      *[]string          `json:"read_only_tools,omitempty"`
	AllowInPlanMode    *bool              `json:"allow_in_plan_mode,omitempty"`
	Availability       *string            `json:"availability,omitempty"`
	Enabled            *bool              `json:"enabled,omitempty"`
}

// MCPTool is a tool as its server describes it. Pin is the hash that Accept names.
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Pin         string          `json:"pin"`
}

// MCPPin is a tool as it was accepted, and as it is offered now where that differs; one that nobody has accepted is not used.
type MCPPin struct {
	Name     string   `json:"name"`
	Accepted *MCPTool `json:"accepted"`
	Offered  *MCPTool `json:"offered"`
	At       *Time    `json:"at,omitempty"`
}

// MCPTools is what is known of a server's tools.
type MCPTools struct {
	Tools []MCPPin `json:"tools"`
	// SeenAt is when the server last listed them, Failure why it did not since.
	SeenAt   *Time  `json:"seen_at"`
	FailedAt *Time  `json:"failed_at"`
	Failure  string `json:"failure,omitempty"`
}

// MCPAccept accepts a tool as it was shown.
type MCPAccept struct {
	Name string `json:"name"`
	Pin  string `json:"pin"`
}

// MCPTest is how connecting to a server went.
type MCPTest struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	// Name is what the server calls itself.
	Name  string   `json:"name,omitempty"`
	Tools []string `json:"tools"`
	// Waiting are tools that are not what was accepted, Notes say what cannot be used.
	Waiting []string `json:"waiting"`
	Notes   []string `json:"notes"`
	TookMS  int64    `json:"took_ms"`
}

func mcpPath(id chat.MCPServerID) string { return "/mcp/servers/" + url.PathEscape(string(id)) }

// MCPServers lists the servers that the caller may see.
func (c *Client) MCPServers(ctx context.Context) ([]MCPServer, error) {
	var out MCPServerPage
	err := c.call(ctx, http.MethodGet, "/mcp/servers", nil, nil, &out)
	return out.Servers, err
}

// MCPServer gives one server.
func (c *Client) MCPServer(ctx context.Context, id chat.MCPServerID) (MCPServer, error) {
	var out MCPServer
	return out, c.call(ctx, http.MethodGet, mcpPath(id), nil, nil, &out)
}

// CreateMCPServer adds a server (admin).
func (c *Client) CreateMCPServer(ctx context.Context, f MCPServerFields) (MCPServer, error) {
	var out MCPServer
	return out, c.call(ctx, http.MethodPost, "/mcp/servers", nil, f, &out)
}

// UpdateMCPServer changes a server (admin).
func (c *Client) UpdateMCPServer(ctx context.Context, id chat.MCPServerID, f MCPServerFields) (MCPServer, error) {
	var out MCPServer
	return out, c.call(ctx, http.MethodPatch, mcpPath(id), nil, f, &out)
}

// DeleteMCPServer removes a server (admin).
func (c *Client) DeleteMCPServer(ctx context.Context, id chat.MCPServerID) error {
	return c.call(ctx, http.MethodDelete, mcpPath(id), nil, nil, nil)
}

// TestMCPServer connects to a server and lists its tools (admin).
func (c *Client) TestMCPServer(ctx context.Context, id chat.MCPServerID) (MCPTest, error) {
	var out MCPTest
	return out, c.call(ctx, http.MethodPost, mcpPath(id)+"/test", nil, nil, &out)
}

// MCPTools gives what is known of a server's tools (admin).
func (c *Client) MCPTools(ctx context.Context, id chat.MCPServerID) (MCPTools, error) {
	var out MCPTools
	return out, c.call(ctx, http.MethodGet, mcpPath(id)+"/tools", nil, nil, &out)
}

// AcceptMCPTool accepts a tool as it was shown (admin).
func (c *Client) AcceptMCPTool(ctx context.Context, id chat.MCPServerID, name, pin string) error {
	return c.call(ctx, http.MethodPost, mcpPath(id)+"/tools/accept", nil, MCPAccept{Name: name, Pin: pin}, nil)
}

// DisconnectMCPServer forgets the caller's sign-in.
func (c *Client) DisconnectMCPServer(ctx context.Context, id chat.MCPServerID) error {
	return c.call(ctx, http.MethodDelete, mcpPath(id)+"/oauth2/disconnect", nil, nil, nil)
}
