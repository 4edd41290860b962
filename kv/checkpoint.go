package kv

import (
	"fmt"

	"holdfast/engine/chat"
)

const maxPath = 4096

// checkpointKey ends with the path; behind a NUL follows the Workspace, where the Checkpoint names one.
func checkpointKey(c *chat.Checkpoint) ([]byte, error) {
	key, err := chatKey(c.ChatID, uint64(c.MessageID))
	if err != nil {
		return nil, err
	}
	key = append(key, c.Path...)
	if c.WorkspaceID != "" {
		key = append(append(key, 0), c.WorkspaceID...)
	}
	return key, nil
}

// PutCheckpoint keeps a Checkpoint under its Chat, Message, path and Workspace; a second one there replaces it. Put its bytes with PutFile before.
func (x *Tx) PutCheckpoint(c *chat.Checkpoint) error {
	key, err := checkpointKey(c)
	if err != nil {
		return err
	}
	if c.Path == "" || len(c.Path) > maxPath {
		return fmt.Errorf("kv: a checkpoint's path has %d bytes, want 1 to %d", len(c.Path), maxPath)
	}
	if c.SHA256 != "" && !isSum(c.SHA256) {
		return fmt.Errorf("kv: checkpoint of %q: %q is not a SHA-256", c.Path, c.SHA256)
	}
	return x.t.putJSON(bCheckpoint, key, c)
}

// Checkpoints gives the Checkpoints of a Chat's Messages from that one on, by Message, then path.
func (x *Tx) Checkpoints(id chat.ID, from chat.MessageID) ([]*chat.Checkpoint, error) {
	key, err := chatKey(id, uint64(max(from, 0)))
	if err != nil {
		return nil, err
	}
	var out []*chat.Checkpoint
	err = x.t.scan(bCheckpoint, key[:idSize], key, func(r row) (bool, error) {
		c, err := decodeRow[chat.Checkpoint](x, bCheckpoint, r)
		out = append(out, c)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// DeleteCheckpoints removes the Checkpoints of a Chat's Messages from that one on.
func (x *Tx) DeleteCheckpoints(id chat.ID, from chat.MessageID) error {
	key, err := chatKey(id, uint64(max(from, 0)))
	if err != nil {
		return err
	}
	_, err = x.t.deletePrefix(bCheckpoint, key[:idSize], key, -1)
	return err
}
