package site

import (
	"context"
	"strconv"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// BehaviourKey is the name of the record of how Turns go; the value is a chat.BehaviourConfig.
const BehaviourKey = "behaviour"

// Bounds of the time that a program has to answer.
const (
	MinActionDeadline = time.Second
	MaxActionDeadline = 7 * 24 * time.Hour
)

// ReadBehaviour gives how Turns go; the zero value where nothing was stored.
func ReadBehaviour(tx *kv.Tx) (chat.BehaviourConfig, error) {
	var c chat.BehaviourConfig
	_, err := tx.Site(BehaviourKey, &c)
	return c, err
}

// BehaviourInput asks how Turns go.
type BehaviourInput struct{}

// Behaviour gives how Turns go.
func (r *Room) Behaviour(ctx context.Context, _ chat.Principal, _ BehaviourInput) (chat.BehaviourConfig, error) {
	var out chat.BehaviourConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadBehaviour(tx)
		return err
	})
	return out, err
}

// SetBehaviourInput replaces the configuration whole.
type SetBehaviourInput struct{ chat.BehaviourConfig }

// SetBehaviour stores how Turns go. It counts from each Chat's next Turn.
func (r *Room) SetBehaviour(ctx context.Context, _ chat.Principal, in SetBehaviourInput) (Done, error) {
	if err := checkBehaviour(in.BehaviourConfig); err != nil {
		return Done{}, err
	}
	return Done{}, r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite(BehaviourKey, in.BehaviourConfig) })
}

func checkBehaviour(c chat.BehaviourConfig) error {
	ms := c.ActionDeadlineMS
	if ms != 0 && (ms < MinActionDeadline.Milliseconds() || ms > MaxActionDeadline.Milliseconds()) {
		return chat.Invalid("requires_action_deadline_ms", "a time from "+strconv.FormatInt(MinActionDeadline.Milliseconds(), 10)+" to "+
			strconv.FormatInt(MaxActionDeadline.Milliseconds(), 10)+" ms; 0 means 5 minutes")
	}
	return nil
}
