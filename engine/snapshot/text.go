package snapshot

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TextInput names a Resource of a Workspace's Snapshot; the zero address is the newest.
type TextInput struct {
	ID       chat.WorkspaceID
	Address  chat.Hash
	Resource string
}

// Text is the content of a Resource, whole and as it is: hostile for whoever shows it.
type Text struct {
	Resource chat.Resource
	Content  []byte
}

// Text gives the content of a Resource, only where somebody asks for it.
func (r *Room) Text(ctx context.Context, _ chat.Principal, in TextInput) (Text, error) {
	var out Text
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		address := in.Address
		if address == (chat.Hash{}) {
			newest, found, err := tx.NewestSnapshot(in.ID)
			if err != nil {
				return err
			}
			if found {
				address = newest.Address
			}
		}
		s, found, err := tx.Snapshot(in.ID, address, true)
		if err != nil {
			return err
		}
		if found {
			for _, res := range s.Snapshot.Resources {
				if res.ID() == in.Resource && res.Payload != nil {
					out = Text{Resource: res, Content: res.Payload}
					out.Resource.Payload = nil
					return nil
				}
			}
		}
		return chat.NotFound("resource")
	})
	return out, err
}
