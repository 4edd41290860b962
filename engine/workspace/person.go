package workspace

import (
	"context"
	"fmt"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// DeletePerson deletes all Workspaces of a person, and with them the Agents that were enrolled for them; what runs in them ends, their
// files stay. KindWrongState while another person's Chat is not at rest in one; those before it are gone then.
//
//guard:none the account room asks it when it removes somebody
func (r *Room) DeletePerson(ctx context.Context, user chat.UserID) error {
	var theirs []chat.WorkspaceID
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		theirs = nil
		all, err := tx.Workspaces()
		for _, w := range all {
			if w.OwnerID == user {
				theirs = append(theirs, w.ID)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range theirs {
		if err := r.deleteWhole(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteWhole deletes a Workspace in whatever state it is: one that hangs between two must not keep its person here.
func (r *Room) deleteWhole(ctx context.Context, id chat.WorkspaceID) error {
	unlock, err := r.locks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	rested := func(tx *kv.Tx) error {
		busy, err := inUse(tx, id, unrested)
		if err == nil && busy != nil {
			err = working(busy)
		}
		return err
	}
	if err := r.store.View(ctx, rested); err != nil {
		return err
	}
	// An Agent that is away does not keep its Workspace from being forgotten.
	if err := r.places.Stop(ctx, id); err != nil && !unreachable(err) {
		return fmt.Errorf("stop workspace %s: %w", id, err)
	}
	if err := r.removeFiles(ctx, DeleteInput{ID: id, Files: "keep"}); err != nil {
		return err
	}
	var agent chat.AgentID
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		if err := rested(tx); err != nil {
			return err
		}
		agent, err = deleteRecord(tx, id)
		return err
	})
	if err == nil && agent != "" && r.far.revoke != nil {
		r.far.revoke(agent)
	}
	return r.touched(err)
}
