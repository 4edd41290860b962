package chat

import (
	"context"
	"encoding/json"
)

// EffectClass says what a restart does with a Call that had begun (operations.md 3).
type EffectClass string

const (
	// ClassRead Calls change nothing and run again.
	ClassRead EffectClass = "read"
	// ClassChecked Calls change files and are settled by hash; their Tool is also a Planner.
	ClassChecked EffectClass = "checked"
	// ClassEffect Calls may have run and are never repeated by the engine.
	ClassEffect EffectClass = "effect"
	// ClassAttached Calls wait for a process that outlives the appliance, and wait for it again. No Tool has it: the intent of a Call gets it
	// with the process.
	ClassAttached EffectClass = "attached"
)

// ToolDef is a Tool as a model and the engine know it.
type ToolDef struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Short replaces Description for models with a small window; empty means Description.
	Short string `json:"-"`
	// Schema is a plain JSON Schema object with type, properties and required.
	Schema json.RawMessage `json:"schema"`

	Effect EffectClass `json:"-"`
	// Writes: Calls of one Workspace that write run one at a time.
	Writes bool `json:"-"`
	// Waits: exempt from the loop rule.
	Waits bool `json:"-"`
	// NeedsApproval: in a Workspace that is not trusted the Call rests behind an approval card.
	NeedsApproval bool `json:"-"`
	// StopsTurn: a successful Call ends the Turn.
	StopsTurn bool `json:"-"`
	// Asks: what a person is asked by a successful Call; "" for a Tool that asks nobody.
	Asks AskingKind `json:"-"`
	// Workspace: the Tool needs one.
	Workspace bool `json:"-"`
	// Attaches: what a Call started can be waited for again, see Env.Attach.
	Attaches bool `json:"-"`
	// Client: the program that made the Chat runs it.
	Client bool `json:"-"`
	// Server is the MCP server that the Tool comes from, as its name begins; "" for all others. Such Tools may be hidden behind find_tools.
	Server string `json:"-"`
	// InPlan: an admin lets the Tool's server be used in plan mode.
	InPlan bool `json:"-"`
}

// Env is what one Call may use. The engine makes one per Call.
type Env struct {
	ChatID  ID
	CallID  string
	MaxText int
	// Window is the model's window in tokens.
	Window int
	// Mode is the Turn's.
	Mode Mode
	// Workspace is nil when the Chat has none.
	Workspace Workspace
	// Context is the Workspace's Snapshot that the Turn has pinned, with Payloads; nil for none.
	Context *Snapshot
	// Reads is what this Chat has read of files so far; Tools update it. Never nil.
	Reads Reads
	// Output shows live output to readers of the Draft; it may be called from any goroutine and never blocks. Never nil.
	Output func(text string)
	// Restart says that the output so far is void. Never nil.
	Restart func()
	// Started makes it durable that the Call starts this process, before it begins. Never nil.
	Started func(processID string) error
	// Attach is the process that the Call started in an earlier run of the appliance and that it has to wait for now; "" is none.
	Attach string
	// Lasting: what the Call starts outlives the appliance. A Call that is cut because the appliance stops leaves it running.
	Lasting bool
	// Agreed is what a person agreed to beyond the arguments, as their card showed it; "" when nobody was asked.
	Agreed string
}

// Reads remembers, per Chat, the hash of each file as the model last saw it (the stale check of tools.md 2).
type Reads interface {
	// Seen gives the hash noted for the real path, and whether there is one.
	Seen(path string) (etag string, ok bool)
	// Note stores it; an empty etag notes that the path was refused once and may be replaced when asked again.
	Note(path, etag string)
}

// Result is the answer to a Call, failure text included.
type Result struct {
	// Content is what the model sees: JSON, or plain text (engine.md 5.4).
	Content string
	// Detail is what the page shows beyond Content, JSON of the Tool's own shape; nil for nothing.
	Detail  json.RawMessage
	IsError bool
	// Lost: the process of Env.Attach is gone, and nobody knows how it ended.
	Lost bool
	// FullBytes is the size before a cut that the Tool made itself, 0 when it made none.
	FullBytes int64
	// Whole is the file that has the whole of a Content that must be cut, "" for none.
	Whole string
	// Media is an image or a sound beside Content, as somebody else made it; nil for none.
	Media *Media
}

// Media is an image or a sound of a Result, or a file for the user. Type is what its maker calls it; only the bytes tell what it is.
type Media struct {
	Type string `json:"type"`
	Data []byte `json:"data"`
	// Name says that it is a file for the user, which is kept as it is under that name.
	Name string `json:"name,omitempty"`
}

// Tool is what a model may call. Run answers every failure as a Result; it honours ctx. Tools keep no state of a Chat.
type Tool interface {
	Def() ToolDef
	// Run gets args that are a JSON object valid against the schema.
	Run(ctx context.Context, env Env, args json.RawMessage) Result
}

// Planner is a Tool that can say beforehand which files a Call changes. A plan that fails gives no changes: Run then says why.
type Planner interface {
	Plan(ctx context.Context, env Env, args json.RawMessage) []FileChange
}

// FileChange is one file as a Call is about to change it.
type FileChange struct {
	// Path is relative to the Workspace, links resolved.
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	// Before holds the bytes before the change (nil when the file did not exist); it is kept as a checkpoint, not in the record.
	Before []byte `json:"-"`
	// BeforeHash and AfterHash are hex SHA-256; BeforeHash is empty for a new file.
	BeforeHash string `json:"before_hash,omitempty"`
	AfterHash  string `json:"after_hash"`
}
