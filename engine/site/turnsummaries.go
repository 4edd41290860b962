package site

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TurnSummariesKey is the name of the record of Turn summaries in the store; the value is a chat.TurnSummariesConfig.
const TurnSummariesKey = "turn_summaries"

// ReadTurnSummaries says whether a model sums up each Turn; it does where nothing was stored.
func ReadTurnSummaries(tx *kv.Tx) (chat.TurnSummariesConfig, error) {
	return kv.SiteOf(tx, TurnSummariesKey, chat.TurnSummariesConfig{Enabled: true})
}

// TurnSummariesInput asks for the configuration of Turn summaries.
type TurnSummariesInput struct{}

// TurnSummaries says whether a model sums up each Turn.
func (r *Room) TurnSummaries(ctx context.Context, _ chat.Principal, _ TurnSummariesInput) (chat.TurnSummariesConfig, error) {
	var out chat.TurnSummariesConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadTurnSummaries(tx)
		return err
	})
	return out, err
}

// SetTurnSummariesInput replaces the configuration whole.
type SetTurnSummariesInput struct{ chat.TurnSummariesConfig }

// SetTurnSummaries stores whether a model sums up each Turn. It counts from each Chat's next Turn.
func (r *Room) SetTurnSummaries(ctx context.Context, _ chat.Principal, in SetTurnSummariesInput) (Done, error) {
	return Done{}, r.put(ctx, TurnSummariesKey, func(tx *kv.Tx) error { return tx.PutSite(TurnSummariesKey, in.TurnSummariesConfig) })
}
