package ui

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/view"
)

// spaceNote is what a person must know of a Chat's Workspace, as it is now.
func (s *Site) spaceNote(ctx context.Context, p chat.Principal, v engine.View) view.SpaceNote {
	if v.Workspace == nil || v.Chat.Archived {
		return view.SpaceNote{}
	}
	out := view.SpaceNote{ID: string(v.Workspace.ID), Name: v.Workspace.Name}
	out.Others = othersAt(v)
	w, err := s.workspaces.Get(ctx, p, workspace.GetInput{ID: v.Workspace.ID})
	if err != nil {
		// A sub-agent's page may outlive the workspace; what the chat itself says of that is enough.
		return out
	}
	// While the model makes it, the row of its call shows how that goes.
	making := w.Made.ChatID == v.Chat.ID && !v.Chat.State.AtRest()
	switch state := w.Standing(); state {
	case chat.WorkspaceCreating, chat.WorkspaceSetup, chat.WorkspaceSetupFailed:
		if !making {
			out.State, out.Log = state, w.Made.Log
		}
	case chat.WorkspaceOffline:
		out.State, out.Revoked = state, w.Kind == chat.WorkspaceAgent && w.AgentID == ""
		out.Agent = s.beside(ctx, p)[w.AgentID].Host
	}
	return out
}

// beside are the Agents of a person, nil where they cannot be read: pages say less then.
func (s *Site) beside(ctx context.Context, p chat.Principal) map[chat.AgentID]workspace.Beside {
	all, err := s.workspaces.Beside(ctx, p, workspace.BesideInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the agents of workspaces could not be read", chat.LogError, err)
		return nil
	}
	return all
}

// othersAt is how many others work where the Chat works; one at rest does not meet them.
func othersAt(v engine.View) int {
	if v.Chat.State.AtRest() || v.Workspace == nil {
		return 0
	}
	return v.Others
}
