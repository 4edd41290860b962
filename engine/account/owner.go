package account

import (
	"context"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// ownersKept is how many answers StoreOwners keeps of each kind.
const ownersKept = 10_000

// StoreOwners finds owners in the store and keeps them. Ids are never used again and owners never change, so a kept answer can
// only outlive its thing; the command itself then finds nothing.
func StoreOwners(store *kv.Store) Owners {
	chats := ownerCache[chat.ID]{find: func(ctx context.Context, id chat.ID) (owner chat.UserID, err error) {
		err = store.View(ctx, func(tx *kv.Tx) error {
			c, ok, err := tx.Chat(id)
			if ok {
				owner = c.OwnerID
			}
			return err
		})
		return owner, err
	}}
	workspaces := ownerCache[chat.WorkspaceID]{find: func(ctx context.Context, id chat.WorkspaceID) (owner chat.UserID, err error) {
		err = store.View(ctx, func(tx *kv.Tx) error {
			w, ok, err := tx.Workspace(id)
			if ok {
				owner = w.OwnerID
			}
			return err
		})
		return owner, err
	}}
	files := ownerCache[chat.FileID]{find: func(ctx context.Context, id chat.FileID) (owner chat.UserID, err error) {
		err = store.View(ctx, func(tx *kv.Tx) error {
			f, ok, err := tx.File(id)
			if ok {
				owner = f.OwnerID
			}
			return err
		})
		return owner, err
	}}
	return Owners{Chat: chats.owner, Workspace: workspaces.owner, File: files.owner}
}

// ownerCache keeps owners that were found. Unknown ids are asked for each time: they may come to be.
type ownerCache[ID comparable] struct {
	find func(context.Context, ID) (chat.UserID, error)

	mu sync.Mutex
	// known is guarded by mu.
	known map[ID]chat.UserID
}

func (c *ownerCache[ID]) owner(ctx context.Context, id ID) (chat.UserID, error) {
	c.mu.Lock()
	owner, ok := c.known[id]
	c.mu.Unlock()
	if ok {
		return owner, nil
	}
	owner, err := c.find(ctx, id)
	if err != nil || owner == "" {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= ownersKept {
		c.known = map[ID]chat.UserID{}
	}
	c.known[id] = owner
	return owner, nil
}
