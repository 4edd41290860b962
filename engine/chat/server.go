package chat

import (
	"context"
	"encoding/json"
)

// ServerKeeper is a Workspace that runs the MCP servers which its files name.
type ServerKeeper interface {
	// Servers is nil where there are none, also beside an Agent that cannot run them.
	Servers() Servers
}

// Servers are the MCP servers that the files of a Workspace name. None of them starts before a person has approved exactly its entry and
// the program that it resolves to.
type Servers interface {
	// List looks at entries and programs again and gives all servers by name. When ctx ends first it gives what was known before, and the
	// context's error.
	List(ctx context.Context) ([]Server, error)
	// Call calls a tool by its own name; args are a JSON object. A server that is not connected, or not approved any more, is a
	// KindUnavailable Error, one that fails a KindServer one; what the tool says of its own failure is an answer.
	Call(ctx context.Context, server, tool string, args json.RawMessage) (ServerAnswer, error)
	// Approve lets a server start, or with Refused keeps it from it. KindNotFound for an unknown name, KindWrongState when Hash is not that of the entry as it is now.
	Approve(ctx context.Context, a ServerApproval) error
}

// Server is an MCP server as a person sees it: all of its entry but the values of variables and headers.
type Server struct {
	Name string `json:"name"`
	// Config is the file that names it.
	Config string         `json:"config"`
	Status ResourceStatus `json:"status"`
	// Error says why it is not ok; with status ok it is a warning.
	Error string `json:"error,omitempty"`
	// Hash seals the entry and its program as they are now; zero for an entry that cannot be approved.
	Hash Hash `json:"hash"`
	// Approved: a person has approved exactly this. Refused: a person has refused exactly this.
	Approved bool        `json:"approved"`
	Refused  bool        `json:"refused,omitempty"`
	Entry    ServerEntry `json:"entry"`
	// Before is what was approved last, of a server that has changed since.
	Before *ServerEntry `json:"before,omitempty"`
	// Sandbox confines a program; nil for a remote server.
	Sandbox *Sandbox       `json:"sandbox,omitempty"`
	Tools   []ResourceTool `json:"tools,omitempty"`
	// Changed are tools that are not offered because they are not what they were when they were first seen.
	Changed []ChangedTool `json:"changed,omitempty"`
}

// ChangedTool is a tool that its server describes in another way than before.
type ChangedTool struct {
	Name string `json:"name"`
	// Hash is that of the tool as it is now; approving it accepts that.
	Hash   Hash         `json:"hash"`
	Before ResourceTool `json:"before"`
	Now    ResourceTool `json:"now"`
}

// ServerEntry is what an entry says, without secrets.
type ServerEntry struct {
	// Transport is stdio, http or sse.
	Transport string   `json:"transport"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Dir       string   `json:"cwd,omitempty"`
	URL       string   `json:"url,omitempty"`
	// Env and Headers are names; Variables are those of the environment that their values take in.
	Env       []string `json:"env,omitempty"`
	Headers   []string `json:"headers,omitempty"`
	Variables []string `json:"variables,omitempty"`
	// Files are the program, and the arguments that name files of the Workspace.
	Files []ServerFile `json:"files,omitempty"`
	// Values seals the values of Env and Headers, so that a change of one is seen and none is shown.
	Values Hash `json:"values"`
}

// ServerFile is a file that runs, with the hash of its bytes.
type ServerFile struct {
	Path string `json:"path"`
	Hash Hash   `json:"hash"`
}

// ServerApproval is a person's yes to an entry, or with Refused their no, which takes back a yes to the same.
type ServerApproval struct {
	Name string `json:"name"`
	// Tool is set to accept that tool as it is now instead of the entry; Hash is then the tool's.
	Tool string `json:"tool,omitempty"`
	Hash Hash   `json:"hash"`
	By   UserID `json:"by"`
	// Refused is for entries only.
	Refused bool `json:"refused,omitempty"`
}

// ServerAnswer is a tool's answer.
type ServerAnswer struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
	// Media is the first image or sound; Left counts those after it, and files, that were not kept.
	Media *Media `json:"media,omitempty"`
	Left  int    `json:"left,omitempty"`
}
