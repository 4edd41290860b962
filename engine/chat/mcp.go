package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// MCPServerID names an admin's config of an MCP server.
type MCPServerID string

// Values of MCPServer.Transport.
const (
	MCPStreamableHTTP = "streamable_http"
	MCPSSE            = "sse"
)

// Values of MCPServer.AuthType.
const (
	MCPAuthNone    = "none"
	MCPAuthOAuth2  = "oauth2"
	MCPAuthAPIKey  = "api_key"
	MCPAuthHeaders = "custom_headers"
)

// Values of MCPServer.Availability: in every Chat, preselected, or chosen.
const (
	MCPForceOn    = "force_on"
	MCPDefaultOn  = "default_on"
	MCPDefaultOff = "default_off"
)

// MCPServer is an admin's config of an MCP server, without its secrets: those are sealed beside it.
type MCPServer struct {
	ID          MCPServerID `json:"id"`
	Slug        string      `json:"slug"`
	DisplayName string      `json:"display_name"`
	Description string      `json:"description,omitempty"`
	Icon        string      `json:"icon,omitempty"`
	Transport   string      `json:"transport"`
	URL         string      `json:"url"`

	AuthType       string `json:"auth_type"`
	OAuth2ClientID string `json:"oauth2_client_id,omitempty"`
	OAuth2AuthURL  string `json:"oauth2_auth_url,omitempty"`
	OAuth2TokenURL string `json:"oauth2_token_url,omitempty"`
	OAuth2Scopes   string `json:"oauth2_scopes,omitempty"`
	APIKeyHeader   string `json:"api_key_header,omitempty"`

	// The lists hold the server's own names of tools.
	ToolAllowList   []string `json:"tool_allow_list,omitempty"`
	ToolDenyList    []string `json:"tool_deny_list,omitempty"`
	ReadOnlyTools   []string `json:"read_only_tools,omitempty"`
	AllowInPlanMode bool     `json:"allow_in_plan_mode,omitempty"`
	Availability    string   `json:"availability"`
	Enabled         bool     `json:"enabled,omitempty"`

	// Version grows with each change.
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// What is known of its secrets, filled in when it is read.
	HasOAuth2Secret  bool `json:"-"`
	HasAPIKey        bool `json:"-"`
	HasCustomHeaders bool `json:"-"`
	// AuthConnected: the person who asks has signed in to it.
	AuthConnected bool `json:"-"`
}

// MCPTool is a tool as its server describes it.
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Pin is the hash of name, description and schema, whatever the order of the schema's fields and its spaces.
func (t MCPTool) Pin() Hash {
	schema := []byte(t.Schema)
	var v any
	d := json.NewDecoder(bytes.NewReader(t.Schema))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if same, err := json.Marshal(v); err == nil {
			schema = same
		}
	}
	// Marshalled, the three cannot run into each other.
	all, err := json.Marshal([]string{t.Name, t.Description, string(schema)})
	if err != nil {
		all = []byte(t.Name + "\x00" + t.Description + "\x00" + string(schema))
	}
	return Hash(sha256.Sum256(all))
}

// MCPPin is a tool as somebody accepted it, and as its server describes it now where that differs. A tool that nobody has accepted has no
// Accepted, one that is offered as it was accepted no Offered.
type MCPPin struct {
	Name     string   `json:"name"`
	Accepted *MCPTool `json:"accepted,omitempty"`
	Offered  *MCPTool `json:"offered,omitempty"`
	// At is when the difference was first seen.
	At time.Time `json:"at,omitzero"`
}

// MCPPins are what is known of a server's tools, and how the last look at them went.
type MCPPins struct {
	ServerID MCPServerID `json:"server_id"`
	Pins     []MCPPin    `json:"pins,omitempty"`
	// SeenAt is when the server last listed its tools, Listed how many it had; FailedAt and Failure when and why it last did not.
	SeenAt   time.Time `json:"seen_at,omitzero"`
	Listed   int       `json:"listed,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Failure  string    `json:"failure,omitempty"`
}

// MCPTarget is a server that a Turn, or a test, connects to.
type MCPTarget struct {
	Server MCPServer
	// User is whose sign-in goes along, for a server that has one per person.
	User UserID
	// Headers gives the credentials for a request, Secrets what must not be shown of them; both may be nil.
	Headers func(context.Context) (map[string]string, error)
	Secrets func() []string
	// Refused is told of the Authorization that the server did not take, and gets another one for Headers or says that there is none; nil
	// where nothing else could be sent.
	Refused func(ctx context.Context, sent string) error
}

// ToolScope is for whom and what a Turn's servers are opened.
type ToolScope struct {
	ChatID  ID
	OwnerID UserID
	// Servers are those that the Chat has chosen; the forced ones come by themselves.
	Servers []MCPServerID
	Mode    Mode
}

// ToolWarning says what a Turn goes on without.
type ToolWarning struct {
	Server string
	Reason string
	At     time.Time
}

// Text is the warning for a person.
func (w ToolWarning) Text() string {
	return "MCP server " + w.Server + ": " + w.Reason + " (" + w.At.UTC().Format("15:04:05") + " UTC)"
}

// OpenedTools are Tools that stand outside of the appliance, for one Turn.
type OpenedTools struct {
	Tools    []Tool
	Warnings []ToolWarning
	// Close ends what was opened, in bounded time; it may be called more than once. nil when nothing was opened.
	Close func()
}

// ToolSource gives a Turn further Tools.
type ToolSource interface {
	// Open connects to what the scope names and lists it. It takes bounded time and fails only with ctx: what does not answer is a warning.
	Open(ctx context.Context, scope ToolScope) (OpenedTools, error)
}

// ArgumentCleaner is a Tool that takes arguments in further forms. CleanArguments runs before they are held against the schema.
type ArgumentCleaner interface {
	CleanArguments(raw json.RawMessage) json.RawMessage
}
