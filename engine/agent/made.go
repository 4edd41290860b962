package agent

import (
	"context"

	"holdfast/engine/chat"
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
