package chat

import (
	"context"
	"time"
)

// WorkspaceRecord is a place with files as the store knows it.
type WorkspaceRecord struct {
	ID        WorkspaceID `json:"id"`
	OwnerID   UserID      `json:"owner_id"`
	Name      string      `json:"name"`
	Kind      string      `json:"kind"`
	Directory string      `json:"directory"`
	// AgentID is the Agent of a Workspace of kind agent; "" until one has enrolled, and for others.
	AgentID AgentID `json:"agent_id,omitempty"`
	// Trusted: commands run without asking. Only admins set it.
	Trusted bool `json:"trusted"`
	// Sandbox is the profile that its owner chose; see Profile.
	Sandbox   Profile   `json:"sandbox,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// State changes by NextWorkspace alone; see Standing.
	State WorkspaceState `json:"state,omitempty"`
	// UsedAt is when a Turn or a person last used it; zero is CreatedAt.
	UsedAt time.Time `json:"used_at,omitzero"`
	// Made is how it came from a Template; zero when a person added its directory.
	Made Making `json:"made,omitzero"`
}

// WorkspaceLocal is the kind of a Workspace on this machine.
const WorkspaceLocal = "local"

// Workspaces opens the places where Tools act.
type Workspaces interface {
	// Open gives the live Workspace of a record. The same record gives the same one until Close. A directory that is gone is a
	// KindNotFound Error.
	Open(ctx context.Context, rec WorkspaceRecord) (Workspace, error)
	// Resolve checks a directory for a new local Workspace and gives its real absolute path; KindInvalid names what is wrong.
	Resolve(ctx context.Context, directory string) (string, error)
	// Stop ends all processes of a Workspace and waits until they are gone or ctx ends; every file stays. It may be opened again.
	Stop(ctx context.Context, id WorkspaceID) error
	// Close ends all processes and forgets all Workspaces. It waits until they are gone or ctx ends.
	Close(ctx context.Context) error
}

// Workspace is a place with files where Tools act.
type Workspace interface {
	Files() Files
	Processes() Processes
	Git() Git
}

// OutputKeeper is a Workspace that keeps texts too long for a Result.
type OutputKeeper interface {
	// KeepOutput writes text into the Chat's temporary directory and gives the file, which Files read by exactly that path. It goes with the
	// Chat, or after a week. No room for it is an error.
	KeepOutput(id ID, text []byte) (path string, err error)
}

// Distant is a Workspace beside an Agent, which may be away.
type Distant interface {
	// Agent tells how the Agent is now.
	Agent() AgentState
}

// ContextKeeper is a Workspace whose context can be asked now. One beside an Agent has it while the Agent pushes context.
type ContextKeeper interface {
	// Context begins with its first use; nil where nobody takes its Snapshots. That of a Workspace that has stopped has ended.
	Context() Context
}

// FileError is how Files refuse; Kind is not_found, outside_workspace, not_regular, permission, is_directory, too_large,
// binary, changed, no_match, protected, shared, denied, invalid, no_space; of a Workspace beside an Agent also unreachable.
type FileError struct {
	Kind string
	Path string
	// Message is one or two plain sentences for the model: what happened and what to do.
	Message string
}

// Error gives the message.
func (e *FileError) Error() string { return e.Message }

// Files reads and changes files of one Workspace. Paths are relative to its directory, or absolute inside it; nothing outside is
// ever read or written. All failures are *FileError.
type Files interface {
	// Raw gives a regular file whole, at most max bytes (too_large beyond), with its resolved path and hash.
	Raw(ctx context.Context, path string, max int64) (RawFile, error)
	// Lines gives numbered lines of a text file.
	Lines(ctx context.Context, q LinesQuery) (Lines, error)
	// Write creates or replaces a file atomically. IfMatch that differs is "changed".
	Write(ctx context.Context, req WriteRequest) (Written, error)
	// Edit applies searches and replacements to several files: all or none. DryRun writes nothing.
	Edit(ctx context.Context, req EditRequest) ([]Edited, error)
	// Find lists directories or searches names and contents.
	Find(ctx context.Context, q FindQuery) (Found, error)
}

// Targeter is a Files that says where paths lead, without reading or writing anything.
type Targeter interface {
	// Targets gives where each path leads, links resolved, whether it exists or not. What leads out of the Workspace is no error.
	Targets(ctx context.Context, paths []string) (Targets, error)
}

// RawFile is a file's bytes. Hash is hex SHA-256.
type RawFile struct {
	Path  string
	Bytes []byte
	Hash  string
}

// LinesQuery asks for lines from Offset (1 is the first), at most Limit of them and MaxBytes of text.
type LinesQuery struct {
	Path     string
	Offset   int
	Limit    int
	MaxBytes int
}

// Lines is a range of a text file; Content has "number TAB text" lines.
type Lines struct {
	// Path is resolved, relative to the Workspace.
	Path       string
	Content    string
	FileSize   int64
	TotalLines int
	LinesRead  int
	// NextOffset is 0 at the end of the file.
	NextOffset int
	Hash       string
}

// WriteRequest replaces a file whole. IfMatch is a hash, "" for no condition. Remove deletes the file instead and demands IfMatch.
type WriteRequest struct {
	Path    string
	Content []byte
	IfMatch string
	DryRun  bool
	Remove  bool
	Leave   Leave
}

// Written says what a write did. Diff is unified; BeforeHash is "" for a new file.
type Written struct {
	Path       string
	Created    bool
	BeforeHash string
	Hash       string
	Diff       string
}

// EditRequest holds the edits of at most 20 files.
type EditRequest struct {
	Files  []FileEdits
	DryRun bool
	Leave  Leave
}

// FileEdits are applied to Path in order. IfMatch as in WriteRequest.
type FileEdits struct {
	Path    string
	IfMatch string
	Edits   []TextEdit
}

// TextEdit replaces Search, which must occur once unless All.
type TextEdit struct {
	Search  string
	Replace string
	All     bool
}

// Edited is one changed file. Level is how loosely the search matched (agentside.md 11): 0 exact, 1 or 2 by lines.
type Edited struct {
	Path       string
	BeforeHash string
	Hash       string
	Level      int
	Diff       string
	Before     []byte
}

// FindKind says what Find looks for.
type FindKind string

const (
	FindList    FindKind = "list"
	FindContent FindKind = "content"
	FindName    FindKind = "name"
)

// FindQuery: FindList uses Path, Depth (1..5) and Glob; FindContent a RE2 Pattern; FindName a glob Pattern.
type FindQuery struct {
	Kind       FindKind
	Path       string
	Pattern    string
	Glob       string
	Depth      int
	IgnoreCase bool
	Context    int
	Limit      int
}

// Found holds entries (list, name) or matches (content). Incomplete says what was left out and why, "" when nothing was.
type Found struct {
	Entries    []FileEntry
	Matches    []LineMatch
	Incomplete string
}

// FileEntry is a name below the Workspace; Type is file, dir, link or other.
type FileEntry struct {
	Path   string
	Type   string
	Size   int64
	Target string
}

// LineMatch is one matching line, or a context line around one (Context true).
type LineMatch struct {
	Path    string
	Line    int
	Text    string
	Context bool
}

// Processes runs commands of one Workspace, each in its own group. Ids of other Chats are unknown here.
type Processes interface {
	// Start begins a process; the same id and Chat again attaches to it. It is not tied to ctx.
	Start(ctx context.Context, req ProcessStart) (ProcessInfo, error)
	// Output waits until the process ends, wait passes or ctx ends, then gives its state and output. Wait 0 is now.
	Output(ctx context.Context, chat ID, id string, since int64, wait time.Duration) (ProcessOutput, error)
	// List gives the processes of a Chat, or all with an empty one: running first, newest first.
	List(ctx context.Context, chat ID) ([]ProcessInfo, error)
	// Signal sends terminate or kill to the whole group.
	Signal(ctx context.Context, chat ID, id string, signal string) error
	// Watch is touched, without payload, when a process of the Workspace prints or ends. The func ends the subscription.
	Watch(id string) (<-chan struct{}, func())
}

// Fencer is a Processes that can make sure of an end before it has heard of the start.
type Fencer interface {
	// Fence sends terminate or kill as Signal does. A process that is not known yet, and is started later, is a conflict then.
	Fence(ctx context.Context, chat ID, id string, signal string) error
}

// ProcessStart is a command to run. Workdir "" is the Workspace's directory.
type ProcessStart struct {
	ID         string
	ChatID     ID
	Command    string
	Workdir    string
	Background bool
	// ReadOnly asks for the read-only profile where there is a sandbox, whatever the Workspace has.
	ReadOnly bool
	// Profile is asked for in place of the Workspace's own; ProfileDefault is its own.
	Profile Profile
	// Level is what the machine was said to hold a confined command to: one that holds it to another refuses; "" takes what it is.
	Level SandboxLevel
	// Env is added to its environment and wins over what stands there.
	Env map[string]string
	// Deadline is how long it may run: then it is terminated, and killed after five seconds. 0 is without end.
	Deadline time.Duration
}

// ProcessInfo is a process as a list shows it.
type ProcessInfo struct {
	ID         string
	ChatID     ID
	Command    string
	Workdir    string
	Background bool
	PID        int
	// BootID and StartTime, with PID, name the process for certain after a crash.
	BootID    string
	StartTime int64
	Running   bool
	ExitCode  int
	Signal    string
	Error     string
	StartedAt time.Time
	EndedAt   *time.Time
	// Sandbox is what confines it.
	Sandbox Sandbox
}

// ProcessOutput is what a process printed: all of it, or head and tail around a gap line.
type ProcessOutput struct {
	ProcessInfo
	Output     string
	NextOffset int64
	GapBytes   int64
	// TotalBytes is what the process printed in all; OmittedBytes what Output leaves out.
	TotalBytes   int64
	OmittedBytes int64
	// Log is the path of the file with the whole output; "" when that is short, or none could be kept.
	Log string
}

// ProcessError is how Processes refuse: Kind is not_found, exited, limit, invalid, spawn, closed, conflict; of a
// Workspace beside an Agent also unreachable (nobody answers; the process may run) and restarted (the Agent is another one now, and
// its processes are gone).
type ProcessError struct {
	Kind    string
	Message string
}

// Error gives the message.
func (e *ProcessError) Error() string { return e.Message }
