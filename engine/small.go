package engine

import (
	"context"
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/engine/site"
	"holdfast/kv"
)

// small chooses the model of a small generation for a Chat of the config own, see quick.Choose: from first, then the classifier's candidates,
// in order. Those that are gone or disabled are passed over.
func (e *Engine) small(ctx context.Context, own chat.ModelConfig, first ...chat.ModelConfigID) quick.Choice {
	mine := quick.Choice{Config: own, Window: windowOf(own)}
	if e.ports.seats == nil {
		return mine
	}
	var all []chat.ModelConfig
	candidates := first
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		stored, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		for _, c := range stored {
			if c.Enabled {
				all = append(all, *c)
			}
		}
		judges, err := site.ReadClassifier(tx)
		candidates = append(candidates, judges.Candidates...)
		return err
	})
	if err != nil {
		e.log.Warn("the model of a small job could not be chosen", chat.LogError, err)
		return mine
	}
	if len(candidates) == 0 {
		return quick.Beside(ctx, e.ports.seats, mine, all)
	}
	var named []quick.Choice
	for _, id := range candidates {
		if i := slices.IndexFunc(all, func(c chat.ModelConfig) bool { return c.ID == id }); i >= 0 {
			named = append(named, quick.Choice{Config: all[i], Window: windowOf(all[i])})
		}
	}
	return quick.Choose(ctx, e.ports.seats, mine, named)
}
