package model

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Threshold is at how much of the window, in percent, a person's Chats with a model are compacted. Own is nil where the person chose
// nothing; Percent is what counts: their choice, else the config's, else the standard. 100 is never.
type Threshold struct {
	Own     *int
	Percent int
}

// ThresholdInput names a Model config.
type ThresholdInput struct {
	ID chat.ModelConfigID
}

// Threshold gives the caller's threshold for a model.
func (r *Room) Threshold(ctx context.Context, p chat.Principal, in ThresholdInput) (Threshold, error) {
	var out Threshold
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, in.ID)
		if err != nil {
			return err
		}
		u, found, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if found {
			out.Own = u.Threshold(in.ID)
		}
		out.Percent = chat.CompactionThreshold(out.Own, c.CompactionThreshold)
		return nil
	})
	return out, err
}

// SetThresholdInput is the caller's choice for a model; a nil Percent goes back to the model's.
type SetThresholdInput struct {
	ID      chat.ModelConfigID
	Percent *int
}

// SetThreshold keeps at how much of the window the caller's Chats with a model are compacted. It counts from each Chat's next Turn.
func (r *Room) SetThreshold(ctx context.Context, p chat.Principal, in SetThresholdInput) (Threshold, error) {
	if n := in.Percent; n != nil && (*n < 0 || *n > 100) {
		return Threshold{}, chat.Invalid("threshold_percent", "a percentage from 0 to 100; 100 is never")
	}
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := config(tx, in.ID); err != nil {
			return err
		}
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		u, found, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("user")
		}
		kept := map[chat.ModelConfigID]int{}
		for _, c := range all {
			if n := u.Threshold(c.ID); n != nil && c.ID != in.ID {
				kept[c.ID] = *n
			}
		}
		if in.Percent != nil {
			kept[in.ID] = *in.Percent
		}
		u.CompactionThresholds = kept
		return tx.PutUser(u)
	})
	if err != nil {
		return Threshold{}, err
	}
	return r.Threshold(ctx, p, ThresholdInput{ID: in.ID})
}
