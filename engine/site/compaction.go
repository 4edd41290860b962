package site

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CompactionKey is the name of the record in the store that says which model summarises; the value is a chat.CompactionConfig.
const CompactionKey = "compaction"

// ReadCompaction says which model summarises; the Chat's own where nothing was stored.
func ReadCompaction(tx *kv.Tx) (chat.CompactionConfig, error) {
	c, err := kv.SiteOf(tx, CompactionKey, chat.CompactionConfig{})
	if c.ModelConfigID == "" {
		c.ModelConfigID = chat.ZeroModelConfig
	}
	return c, err
}

// CompactionInput asks for the configuration of compactions.
type CompactionInput struct{}

// Compaction says which model summarises.
func (r *Room) Compaction(ctx context.Context, _ chat.Principal, _ CompactionInput) (chat.CompactionConfig, error) {
	var out chat.CompactionConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadCompaction(tx)
		return err
	})
	return out, err
}

// SetCompactionInput replaces the configuration whole.
type SetCompactionInput struct{ chat.CompactionConfig }

// SetCompaction stores which model summarises. It counts from the next compaction.
func (r *Room) SetCompaction(ctx context.Context, _ chat.Principal, in SetCompactionInput) (Done, error) {
	c := in.CompactionConfig
	if c.ModelConfigID == "" {
		c.ModelConfigID = chat.ZeroModelConfig
	}
	return Done{}, r.put(ctx, CompactionKey, func(tx *kv.Tx) error {
		if c.ModelConfigID != chat.ZeroModelConfig {
			found, err := known(tx, c.ModelConfigID)
			if err != nil {
				return err
			}
			if !found {
				return chat.Invalid("model_config_id", "there is no such model")
			}
		}
		return tx.PutSite(CompactionKey, c)
	})
}
