package agent

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// Made lists the Workspaces that were made beside an Agent.
//
//guard:none the link asks what an Agent may speak for
func (r *Room) Made(ctx context.Context, id chat.AgentID) ([]chat.WorkspaceID, error) {
	var out []chat.WorkspaceID
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = nil
		all, err := tx.Workspaces()
		for _, w := range all {
			if w.MadeBeside() && w.AgentID == id {
				out = append(out, w.ID)
			}
		}
		return err
	})
	return out, err
}

// follow hands what was made beside an Agent to the one that takes its place, "" for none: with it go the Templates that make more there.
func follow(tx *kv.Tx, before, now chat.AgentID) error {
	all, err := tx.Workspaces()
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.MadeBeside() && w.AgentID == before {
			w.AgentID = now
			err = errors.Join(err, tx.PutWorkspace(w))
		}
	}
	if now == "" {
		return err
	}
	return errors.Join(err, workspace.Retarget(tx, before, now))
}
