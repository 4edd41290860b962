package view

import "holdfast/engine/chat"

// NewChatPage is the start of a chat.
type NewChatPage struct {
	Page   Page
	Nav    Nav
	Models []Option
	Spaces []Option
	Modes  []Option
	// Key makes the form idempotent. Problem is what was wrong with the last try; Text what was written then.
	Key     string
	Text    string
	Problem string
	// Files are those that were attached then.
	Files []Attached
	// Refs are the files of the workspace that were named.
	Refs []string
	// Form is what was wrong with a folder that was added, with what was typed.
	Form WorkspaceForm
	// CanAdd: this person may add folders.
	CanAdd bool
	// Demo: the model of this appliance is the scripted one.
	Demo bool
	// Folder is the workspace that is chosen, for the prompts below; "" for none.
	Folder string
	// Servers are the MCP servers that the chat may have.
	Servers []MCPOption
}

// WorkspaceForm adds a folder. Next is the address to go to afterwards.
type WorkspaceForm struct {
	// Model is the Model config that was chosen before, to come back with.
	Model     string
	Directory string
	Name      string
	Trusted   bool
	Problem   string
	Next      string
}

// Server is the model server as a page shows it.
type Server struct {
	Reachable bool
	Address   string
	Version   string
	// Problem is why it does not answer.
	Problem string
	// Memory and Disk are in words ("24 GB"), "" when unknown.
	Memory string
	Disk   string
	Queue  int
	Loaded []LoadedModel
}

// OnboardingPage is shown while there is no model to talk to.
type OnboardingPage struct {
	Page   Page
	Server Server
	Models []Model
	// Start is the exact command that starts the server on this machine, Install how to get it; each "" where not known.
	Start   string
	Install string
	// Demo: the demo model can be chosen.
	Demo    bool
	Problem string
	Pulls   []Pull
}

// Model is an installed model. Element id: md-N, its place in the list.
type Model struct {
	Name   string
	Detail string
	Size   string
	// Window is "262k", or "32k of 262k" with the window that is used.
	Window       string
	Capabilities []string
	Loaded       bool
	Suggested    bool
	// Chats: the model can chat at all.
	Chats bool
	// Fit is fits, tight, too large or "" for unknown; FitDetail is "20.1 GB with 32k".
	Fit       string
	FitDetail string
	// Configured: there is a model config for it.
	Configured bool
}

// ModelConfig is a model as chats use it. Element id: mc-ID.
type ModelConfig struct {
	ID      string
	Name    string
	Model   string
	Window  int64
	Options string
	Default bool
	Missing bool
	Can     []string
	// Groups are the fields of its form, Problem what was wrong with it as a whole.
	Groups  []FieldGroup
	Problem string
	Test    ModelTest
	// OwnThreshold is the reader's own compaction threshold, "" for none; CompactAt is what counts without.
	OwnThreshold string
	CompactAt    int
	// Other is the server of its own that a config names, nil for the model server.
	Other *OtherServer
}

// OtherServer is a server of the OpenAI protocol.
type OtherServer struct {
	BaseURL string
	HasKey  bool
	// KeyLost: a key is stored, but was sealed under another secret.key.
	KeyLost bool
}

// OtherList is what a server offers that is about to be added. Asked: it was asked.
type OtherList struct {
	BaseURL string
	Asked   bool
	Models  []string
	Problem string
}

// Pull is a download that runs or failed. Element id: pull-ID.
type Pull struct {
	ID      string
	Name    string
	Percent int
	Done    string
	Rate    string
	Left    string
	Problem string
	Running bool
}

// ModelsPage are the settings of models.
type ModelsPage struct {
	Page    Page
	Note    ServerNote
	Server  Server
	Configs []ModelConfig
	Models  []Model
	Pulls   []Pull
	Admin   bool
	// Problem is shown at the top: the list could not be read.
	Problem string
	// Other fills the form for a model on another server.
	Other OtherList
}

// WorkspacesPage are the folders.
type WorkspacesPage struct {
	Page   Page
	Note   ServerNote
	Spaces []Workspace
	Form   WorkspaceForm
	Make   MakeForm
	Idle   IdleForm
	Admin  bool
}

// MakeForm makes a Workspace from a Template. Problem is what was wrong with the last try.
type MakeForm struct {
	Templates []Option
	Name      string
	Branch    string
	Problem   string
}

// IdleForm is how long idle Workspaces run, as text ("2h"); "" is as their templates say. Fixed: this person may only look.
type IdleForm struct {
	Text  string
	Error string
	Fixed bool
	Saved bool
}

// Workspace is a folder. Element id: ws-ID.
type Workspace struct {
	ID        string
	Name      string
	Directory string
	Trusted   bool
	Chats     int
	State     chat.WorkspaceState
	// Elsewhere: its files are beside an Agent; whether that answers is said on the page of Agents.
	Elsewhere bool
	// Agent is where that is, "" where none serves it; Revoked: it was made beside one that is none any more.
	Agent   string
	Revoked bool
	// Sandbox confines the commands; Reason says why it is not all there could be, Chosen what the owner chose, "" for nothing.
	Sandbox chat.Sandbox
	Reason  string
	Chosen  chat.Profile
	// Template is what it was made from, "" for nothing that is still there; Branch the one of a worktree.
	Template string
	Branch   string
	Worktree bool
	// Until is when it is stopped unless it is used, in Unix milliseconds, 0 for never; UntilTime the same as a time of day.
	Until     int64
	UntilTime string
	// Log is the end of what its setup said.
	Log string
	// Problem is why it cannot be used, "" when it can.
	Problem string
}

// TokensPage are the API tokens of a person.
type TokensPage struct {
	Page   Page
	Note   ServerNote
	Tokens []Token
	// Fresh is the text of a token just made; it is shown this once.
	Fresh   string
	Problem string
}

// Token is one API token. Element id: tk-ID.
type Token struct {
	ID       string
	Name     string
	Created  string
	Expires  string
	LastUsed string
	ReadOnly bool
	Expired  bool
}
