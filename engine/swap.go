package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/kv"
)

// SwapInput names a Model config that something beside a Chat's own model would call; empty or zero is the Chat's own.
type SwapInput struct{ ModelConfigID chat.ModelConfigID }

// Swap is what it costs to call another model beside that of the default Model config.
type Swap struct {
	// Own is the model of the default config. Other: the named one is not that.
	Own   string
	Other bool
	Place chat.Place
	// Load is how long loading the model took last on this machine, 0 when that was never measured.
	Load time.Duration
}

// Swap says what calling a model would do to the one that Chats use.
func (e *Engine) Swap(ctx context.Context, _ chat.Principal, in SwapInput) (Swap, error) {
	var out Swap
	var named chat.ModelConfig
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		own, err := e.ports.configs(tx, "")
		if err != nil {
			return err
		}
		if named, err = e.ports.configs(tx, in.ModelConfigID); err != nil {
			return err
		}
		loads, err := site.Loads(tx)
		out = Swap{Own: own.Model, Other: !sameModel(own, named), Load: loads[named.ID]}
		return err
	})
	if err == nil && out.Other && e.ports.seats != nil {
		out.Place = e.ports.seats(ctx, named, windowOf(named)).Place
	}
	return out, err
}
