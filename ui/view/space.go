package view

import (
	"holdfast/engine/chat"
	"holdfast/ui/text"
)

// SpaceNote is what a person must know of a chat's workspace; the zero one is nothing. State is one in which something stands in the way.
type SpaceNote struct {
	ID    string
	Name  string
	State chat.WorkspaceState
	Log   string
	// Agent is the machine of the one that is away, Revoked that there is none any more.
	Agent   string
	Revoked bool
	// Others counts the other chats that work in the same folder at this moment.
	Others int
}

// offlineWords say which Agent is missing and what can be done.
func offlineWords(w Workspace) string {
	switch {
	case !w.Elsewhere:
		return ""
	case w.Revoked:
		return "Its agent was revoked. Its files stay on that machine; what is left to do here is to remove it."
	case w.Agent == "":
		return "No agent serves it. A token on the Agents page lets one in."
	}
	return "The agent on " + text.Plain(w.Agent) + " is away. It calls again by itself."
}

// away names an Agent that does not answer.
func (n SpaceNote) away() string {
	if n.Agent == "" {
		return "The agent of " + text.Plain(n.Name) + " is away"
	}
	return "The agent of " + text.Plain(n.Name) + " on " + text.Plain(n.Agent) + " is away"
}

// building says whether a Workspace is being made or set up.
func building(w Workspace) bool {
	return w.State == chat.WorkspaceCreating || w.State == chat.WorkspaceSetup
}

// shownLog is its setup's log: the end of it while it grows, so that nothing below moves.
func shownLog(w Workspace) string {
	if building(w) {
		return lastLines(w.Log, 6)
	}
	return w.Log
}

// spaceOrigin says what it was made from.
func spaceOrigin(w Workspace) string {
	out := ""
	if w.Template != "" {
		out = "from the template " + w.Template
	}
	if w.Branch != "" {
		if out != "" {
			out += ", "
		}
		out += "branch " + w.Branch
	}
	return out
}

// spaceRemoval says what removing it does.
func spaceRemoval(w Workspace) string {
	if w.Worktree {
		return "What runs in it ends, and its worktree is removed if nothing in it is uncommitted; else you are asked. Its branch and its chats stay."
	}
	return "Holdfast forgets the folder. Its files and its chats stay; what runs in it ends."
}
