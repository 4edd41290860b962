package snapshot

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Difference is a Change with the content before and after it; nil where there is none. It is hostile for whoever shows it.
type Difference struct {
	Change
	Was, Now []byte
}

// CompareInput names a Chat.
type CompareInput struct{ ID chat.ID }

// Compare gives what the newest context of a Chat's Workspace has that the pinned one has not, with the texts; nothing of a Chat that is
// up to date.
func (r *Room) Compare(ctx context.Context, _ chat.Principal, in CompareInput) ([]Difference, error) {
	var out []Difference
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		out = nil
		c, found, err := tx.Chat(in.ID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("chat")
		}
		pin := c.Pinned()
		newest, found, err := tx.NewestSnapshot(c.WorkspaceID)
		if err != nil || !found || pin == nil || pin.Address == newest.Address {
			return err
		}
		was, foundWas, err := tx.Snapshot(c.WorkspaceID, pin.Address, true)
		if err != nil {
			return err
		}
		now, foundNow, err := tx.Snapshot(c.WorkspaceID, newest.Address, true)
		if err != nil || !foundWas || !foundNow {
			return err
		}
		before, after := payloads(was.Snapshot.Resources), payloads(now.Snapshot.Resources)
		for _, ch := range changes(was.Snapshot.Resources, now.Snapshot.Resources) {
			out = append(out, Difference{Change: ch, Was: before[ch.Resource.ID()], Now: after[ch.Resource.ID()]})
		}
		return nil
	})
	return out, err
}

func payloads(list []chat.Resource) map[string][]byte {
	out := make(map[string][]byte, len(list))
	for _, r := range list {
		out[r.ID()] = r.Payload
	}
	return out
}
