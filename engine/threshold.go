package engine

import (
	"holdfast/engine/chat"
	"holdfast/kv"
)

// compactAt is at how much of the window, in percent, a Chat with that model is compacted: its owner's choice counts first.
func compactAt(tx *kv.Tx, c *chat.Chat, m chat.ModelConfig) (int, error) {
	u, found, err := tx.User(c.OwnerID)
	if err != nil || !found {
		return chat.CompactionThreshold(nil, m.CompactionThreshold), err
	}
	return chat.CompactionThreshold(u.Threshold(m.ID), m.CompactionThreshold), nil
}
