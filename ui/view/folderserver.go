package view

import (
	"net/url"

	"holdfast/ui/text"
)

// FolderServer is an MCP server that a file of the workspace names. Status is ok, connecting, unreadable, invalid or excluded.
type FolderServer struct {
	Name   string
	Config string
	Status string
	// Problem is why it is not ok, of one that is a warning.
	Problem string
	// Entry is all that is approved, but no values.
	Entry string
	// Said is what a person has said of exactly this, which Hash names. Changed: they had approved it before; Difference is what became of
	// it since.
	Said       Said
	Hash       string
	Changed    bool
	Difference []text.DiffFile
	Notes      []string
	Tools      []FolderTool
	// ChangedTools are not offered until somebody accepts them.
	ChangedTools []FolderTool
}

// Said is a person's answer to a server of a folder. SaidNothing is one that cannot be approved; it Waits for an answer.
type Said string

const (
	SaidNothing Said = ""
	Waits       Said = "waits"
	Approved    Said = "approved"
	Refused     Said = "refused"
)

// FolderTool is a tool of a server.
type FolderTool struct {
	Name       string
	About      string
	Hash       string
	Difference []text.DiffFile
}

func (s FolderServer) tone() (icon, tone string) {
	switch {
	case s.Said == Waits:
		return "i-wait", "warn"
	case s.Said == Refused:
		return "i-skip", "faint"
	case s.Status == "ok" && (s.Problem != "" || len(s.ChangedTools) > 0):
		return "i-alert", "warn"
	case s.Status == "ok":
		return "i-check", "ok"
	case s.Status == "connecting":
		return "i-clock", "faint"
	}
	return "i-fail", "danger"
}

func (s FolderServer) word() string {
	switch {
	case s.Said == Waits && s.Changed:
		return "changed since you approved"
	case s.Said == Waits:
		return "needs approval"
	case s.Said == Refused:
		return "refused"
	case s.Status == "ok":
		return Count(len(s.Tools), "tool")
	case s.Status == "connecting":
		return "connecting"
	case s.Status == "invalid":
		return "not usable"
	case s.Status == "excluded":
		return "left out"
	}
	return "not running"
}

// approveServer is where a yes to a server goes, or with tool to what changed in that.
func approveServer(c Context, s FolderServer, tool FolderTool) string {
	q := url.Values{"name": {s.Name}, "hash": {s.Hash}}
	if tool.Name != "" {
		q.Set("tool", tool.Name)
		q.Set("hash", tool.Hash)
	}
	if c.ChatID != "" {
		q.Set("chat", c.ChatID)
	}
	return contextBase(c) + "/servers/approve?" + q.Encode()
}

// refuseServer is where a no to a server goes.
func refuseServer(c Context, s FolderServer) string {
	q := url.Values{"name": {s.Name}, "hash": {s.Hash}}
	if c.ChatID != "" {
		q.Set("chat", c.ChatID)
	}
	return contextBase(c) + "/servers/refuse?" + q.Encode()
}
