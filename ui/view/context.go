package view

import (
	"net/url"
	"strconv"
)

// Context is what was found in a workspace and goes into prompts: that of a workspace, or what a chat has pinned of it.
type Context struct {
	// ChatID is the chat's, "" on the page of a workspace; Workspace the workspace's id, "" for a chat without one.
	ChatID    string
	Workspace string
	Directory string
	// Number and When are of the newest snapshot; 0 before the first one. Pinned is the number that the chat has, 0 for none yet;
	// Next: it counts from its next turn on.
	Number int64
	When   string
	Pinned int64
	Next   bool
	// Changed says what the newest has that the chat has not, in words; "" for nothing. Dirty: one click takes it.
	Changed string
	Dirty   bool
	Banners []Banner
	Items   []Resource
	// InPrompt is how many resources stand in a request, Size what all take, Share what of the window they fill.
	InPrompt int
	Size     string
	Share    string
	Sources  []string
	Auto     bool
	// Servers are the MCP servers that files of the workspace name. Hidden says which tools the model has to look for; "" for none.
	Servers []FolderServer
	Hidden  string
	// CanLook: the workspace answers, so it can be looked at and sources can be added. Fixed chats are archived.
	CanLook bool
	Fixed   bool
}

// Banner is a state of the whole: the sentence, and what follows from it or is to be done.
type Banner struct {
	Tone  string
	Title string
	Text  string
}

// Resource is one line of a Context. Status is ok, oversize, unreadable, invalid or excluded; Change is added, changed, removed or "".
type Resource struct {
	Path  string
	About string
	Kind  string
	Icon  string
	Size  string
	// Share is what it takes of the window, "" for nothing of it.
	Share  string
	Status string
	Change string
	// Partly: of what is ok not all is offered; Notes say what.
	Partly bool
	// Notes say why, and what was done to it: reasons, cuts, removed characters.
	Notes []string
	// From is the source that contributed it, "" for the workspace itself.
	From string
	// Text is where its content is shown, "" for one without.
	Text string
}

func (r Resource) tone() (icon, tone string) {
	switch {
	case r.Change == "removed":
		return "i-skip", "faint"
	case r.Partly && r.Status == "ok":
		return "i-alert", "warn"
	case r.Status == "ok" && r.Change != "":
		return "i-restore", "accent"
	case r.Status == "ok":
		return "i-check", "ok"
	case r.Status == "oversize":
		return "i-alert", "warn"
	case r.Status == "excluded":
		return "i-skip", "faint"
	case r.Status == "invalid":
		return "i-x", "danger"
	}
	return "i-fail", "danger"
}

func (r Resource) word() string {
	switch {
	case r.Change == "removed":
		return "no longer there"
	case r.Change == "added":
		return r.also("new since")
	case r.Change == "changed":
		return r.also("changed since")
	}
	return r.health()
}

// health is the status; what is ok but for some of its tools is not called so.
func (r Resource) health() string {
	if r.Partly && r.Status == "ok" {
		return "works in part"
	}
	return r.Status
}

// also names a status beside a change, unless all is well.
func (r Resource) also(change string) string {
	if h := r.health(); h != "ok" {
		return h + ", " + change
	}
	return change
}

func (b Banner) icon() string {
	switch b.Tone {
	case "is-info":
		return "i-info"
	case "is-warn":
		return "i-alert"
	}
	return "i-fail"
}

// ContextPage is the page of a workspace's context.
type ContextPage struct {
	Page    Page
	Note    ServerNote
	Name    string
	Context Context
}

// ContextTextPage shows the content of one resource, as it is.
type ContextTextPage struct {
	Page  Page
	Note  ServerNote
	Path  string
	About string
	Back  string
	Text  string
}

// contextBase is where the intents of a context go.
func contextBase(c Context) string { return "/workspaces/" + c.Workspace + "/context" }

func snapshotName(n int64) string { return "snapshot " + strconv.FormatInt(n, 10) }

// contextRemoval names the source to take away.
func contextRemoval(path string) string { return "?" + url.Values{"path": {path}}.Encode() }
