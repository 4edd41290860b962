package workspace

import "holdfast/engine/chat"

// far tells of the Agents that Workspaces are beside; the zero value is that of an appliance without any.
type far struct {
	// revoke closes the link of the Agent whose Workspace is gone, away says whether one is away.
	revoke func(chat.AgentID)
	away   func(chat.AgentID) bool
}

// Far says how Agents are asked and ended. It is called before the first command.
//
//guard:none main wires it before anybody asks
func (r *Room) Far(revoke func(chat.AgentID), away func(chat.AgentID) bool) {
	r.far = far{revoke: revoke, away: away}
}

// Reached says that an Agent came or went: who looks at Workspaces looks again.
//
//guard:none the link tells what it sees
func (r *Room) Reached() { r.feed.touch() }

// shown gives a record as people see it: one whose Agent is away is offline. The store does not know that, for it would be wrong after a
// crash.
func (f far) shown(w chat.WorkspaceRecord) chat.WorkspaceRecord {
	if w.Kind == chat.WorkspaceAgent && w.Standing() == chat.WorkspaceRunning && f.away != nil && f.away(w.AgentID) {
		w.State = chat.WorkspaceOffline
	}
	return w
}
