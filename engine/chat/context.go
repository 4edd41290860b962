package chat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
)

// ResourceKind says what a Resource is (agentside.md 1). Unknown kinds are kept and shown as such.
type ResourceKind string

const (
	ResourceInstructionFile ResourceKind = "instruction_file"
	ResourceSkill           ResourceKind = "skill"
	ResourceMCPConfig       ResourceKind = "mcp_config"
	ResourceMCPServer       ResourceKind = "mcp_server"
	ResourcePlugin          ResourceKind = "plugin"
	ResourceHook            ResourceKind = "hook"
	ResourceSubagent        ResourceKind = "subagent"
	ResourceCommand         ResourceKind = "command"
)

// ResourceStatus says what became of a Resource when it was read.
type ResourceStatus string

const (
	ResourceOK         ResourceStatus = "ok"
	ResourceOversize   ResourceStatus = "oversize"
	ResourceUnreadable ResourceStatus = "unreadable"
	ResourceInvalid    ResourceStatus = "invalid"
	ResourceExcluded   ResourceStatus = "excluded"
)

// Hash is a SHA-256 sum; its text form is hex.
type Hash [32]byte

// String gives the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText gives the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hex digits, got %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Resource is one thing found in a Workspace. Its ID is made of Kind and Source and never sent.
type Resource struct {
	Kind ResourceKind `json:"kind"`
	// Source is the path of a file, the directory of a skill, the root of a plugin, the name of a server.
	Source string `json:"source"`
	// SourcePath is the user's Source that contributed it, "" for built-in roots and the working directory.
	SourcePath string         `json:"source_path,omitempty"`
	Status     ResourceStatus `json:"status"`
	// Error is never empty unless Status is ok, where it is a warning. At most 4,096 bytes, without file content.
	Error       string `json:"error,omitempty"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// SizeBytes is the true size whatever the status.
	SizeBytes   int64 `json:"size_bytes"`
	ContentHash Hash  `json:"content_hash"`
	// Payload is the whole file, of instruction files and skills that are ok.
	Payload []byte         `json:"payload,omitempty"`
	Tools   []ResourceTool `json:"tools,omitempty"`
}

// ID names the Resource within its Workspace.
func (r Resource) ID() string { return string(r.Kind) + ":" + r.Source }

// ResourceTool is a tool of an MCP server. InputSchema and Annotations are JSON objects; Annotations may be nil.
type ResourceTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema []byte `json:"input_schema,omitempty"`
	Annotations []byte `json:"annotations,omitempty"`
}

// Snapshot is an immutable set of Resources, sorted by ID. Version 0 that is not Ready is the one before the first scan.
type Snapshot struct {
	// BootID names the run of the Agent (or of the appliance) that made it: versions grow within one run only.
	BootID     string     `json:"boot_id"`
	Version    uint64     `json:"version"`
	Ready      bool       `json:"ready"`
	MCPSettled bool       `json:"mcp_settled"`
	Resources  []Resource `json:"resources"`
	// PayloadBytes sums payloads and tool lists that were kept.
	PayloadBytes int64 `json:"payload_bytes"`
	// AggregateHash decides whether a Chat is out of date, FullHash whether to push.
	AggregateHash Hash `json:"aggregate_hash"`
	FullHash      Hash `json:"full_hash"`
	// Error joins what was left out, and the trouble of resolver and watcher, with "; ".
	Error string `json:"error,omitempty"`
}

// SourceAct is what Context.Source does with a path.
type SourceAct string

const (
	SourceFind   SourceAct = "find"
	SourceAdd    SourceAct = "add"
	SourceRemove SourceAct = "remove"
)

// Context is the live workspace context of one Workspace.
type Context interface {
	// Snapshot gives the published one at once, whatever a scan is doing.
	Snapshot() Snapshot
	// Watch is touched, without payload, after each publication. The func ends the subscription and may be called twice.
	Watch() (<-chan struct{}, func())
	// Resync scans and gives what is published then. When ctx ends it gives the live Snapshot and the context's error, after the end
	// of the Workspace the last Snapshot and ErrContextClosed.
	Resync(ctx context.Context) (Snapshot, error)
	// Sources gives the paths that users added, in the order of adding, never nil.
	Sources(ctx context.Context) ([]string, error)
	// Source finds, adds or removes a path and gives its identity: clean and absolute, links unresolved. Adding again changes
	// nothing. A path that is refused is KindInvalid, one to find or remove that is not there KindNotFound (find gives its identity
	// all the same), the 65th KindWrongState.
	Source(ctx context.Context, path string, act SourceAct) (string, error)
}

// ErrContextClosed is what a Context gives whose Workspace has stopped.
var ErrContextClosed = errors.New("the workspace has stopped")

// AgentSink takes what comes from beside the files, of this machine and of Agents.
type AgentSink interface {
	// Push takes the newest Snapshot of a Workspace. Initial: the first one of this connection that is answered. A Snapshot that
	// is refused as out of date is accepted false with the reason; one that breaks the rules is KindInvalid and not sent again.
	Push(ctx context.Context, id WorkspaceID, s Snapshot, initial bool) (accepted bool, reason string, err error)
	// Changed says that files of a Workspace have changed: its diff status is read again, at most once in a while.
	Changed(id WorkspaceID)
}
