package client

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

// WorkspaceServer is an MCP server that the files of a Workspace name. Values of variables and headers are never in it.
type WorkspaceServer struct {
	Name string `json:"name"`
	// Config is the file that names it.
	Config string              `json:"config"`
	Status chat.ResourceStatus `json:"status"`
	Error  string              `json:"error,omitempty"`
	// Seal is what an approval names; empty for an entry that cannot be approved.
	Seal     string `json:"seal,omitempty"`
	Approved bool   `json:"approved"`
	// Refused: a person has refused exactly this.
	Refused bool        `json:"refused,omitempty"`
	Entry   ServerEntry `json:"entry"`
	// Before is what was approved last, of a server that has changed since.
	Before *ServerEntry `json:"before,omitempty"`
	// Sandbox confines a program.
	Sandbox *chat.Sandbox  `json:"sandbox,omitempty"`
	Tools   []SnapshotTool `json:"tools,omitempty"`
	// Changed are tools that are not offered until their change is accepted.
	Changed []ChangedTool `json:"changed,omitempty"`
}

// ServerEntry is an entry of an MCP config. Env and Headers are names, Variables those of the environment that values take in.
type ServerEntry struct {
	Transport string       `json:"transport"`
	Command   string       `json:"command,omitempty"`
	Args      []string     `json:"args,omitempty"`
	Dir       string       `json:"cwd,omitempty"`
	URL       string       `json:"url,omitempty"`
	Env       []string     `json:"env,omitempty"`
	Headers   []string     `json:"headers,omitempty"`
	Variables []string     `json:"variables,omitempty"`
	Files     []ServerFile `json:"files,omitempty"`
}

// ServerFile is a file that an entry runs.
type ServerFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// ChangedTool is a tool that its server describes in another way than when it was first seen.
type ChangedTool struct {
	Name         string `json:"name"`
	Seal         string `json:"seal"`
	Before       string `json:"before"`
	Now          string `json:"now"`
	SchemaBefore string `json:"schema_before"`
	SchemaNow    string `json:"schema_now"`
}

// ServerApproval lets a server start, or with Tool accepts a changed tool. Seal is that of what was listed.
type ServerApproval struct {
	Name string `json:"name"`
	Tool string `json:"tool,omitempty"`
	Seal string `json:"seal"`
}

// WorkspaceServers lists the MCP servers that the files of a Workspace name.
func (c *Client) WorkspaceServers(ctx context.Context, id chat.WorkspaceID) ([]WorkspaceServer, error) {
	var out []WorkspaceServer
	return out, c.call(ctx, http.MethodGet, workspacePath(id)+"/mcp/servers", nil, nil, &out)
}

// ApproveWorkspaceServer lets one of them start as it was listed.
func (c *Client) ApproveWorkspaceServer(ctx context.Context, id chat.WorkspaceID, in ServerApproval) error {
	return c.call(ctx, http.MethodPost, workspacePath(id)+"/mcp/approvals", nil, in, nil)
}

// ServerRefusal keeps a server from starting. Seal is that of what was listed.
type ServerRefusal struct {
	Name string `json:"name"`
	Seal string `json:"seal"`
}

// RefuseWorkspaceServer keeps a server of a Workspace from starting as it was listed, and ends it if it runs so.
func (c *Client) RefuseWorkspaceServer(ctx context.Context, id chat.WorkspaceID, in ServerRefusal) error {
	return c.call(ctx, http.MethodPost, workspacePath(id)+"/mcp/refusals", nil, in, nil)
}
