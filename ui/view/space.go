package view

import "holdfast/engine/chat"

// SpaceNote is what a person must know of a chat's workspace; the zero one is nothing. State is one in which something stands in the way.
type SpaceNote struct {
	ID    string
	Name  string
	State chat.WorkspaceState
	Log   string
	// Others counts the other chats that work in the same folder at this moment.
	Others int
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
