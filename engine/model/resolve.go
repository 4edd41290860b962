package model

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// unknownWindow is the window where neither the config nor the server says one (engine.md 1); smallestWindow is where halving ends.
const (
	unknownWindow  = 8192
	smallestWindow = 1024
)

// Resolve gives the Model config that a Chat runs with: the named one, or the default when id is empty, zero, deleted or disabled. Where
// there is none at all it is a KindModelMissing Error.
func Resolve(tx *kv.Tx, id chat.ModelConfigID) (chat.ModelConfig, error) {
	if isID(id) && id != chat.ZeroModelConfig {
		c, found, err := tx.ModelConfig(id)
		if err != nil {
			return chat.ModelConfig{}, err
		}
		if found && c.Enabled {
			return *c, nil
		}
	}
	all, err := tx.ModelConfigs()
	if err != nil {
		return chat.ModelConfig{}, err
	}
	best := pickDefault(all)
	for _, c := range all {
		if c.ID == best {
			return *c, nil
		}
	}
	return chat.ModelConfig{}, &chat.Error{Kind: chat.KindModelMissing, Message: "There is no model to answer yet.",
		Detail: "Install one under Models, or start the model server if it has one.", Retryable: true}
}

// Window gives the window in tokens that calls with c ask for: what the config says, else what suits the installed model and the memory,
// else 8192. It may ask the model server, so it has no place inside a transaction.
//
//guard:none the engine asks for the Turn it runs
func (r *Room) Window(ctx context.Context, c chat.ModelConfig) (int64, error) {
	if n := stored(c); n > 0 {
		return n, nil
	}
	m, err := r.found(ctx, &c, &c, nil)
	if err != nil {
		return 0, err
	}
	if m != nil && m.SuggestedWindow > 0 {
		return m.SuggestedWindow, nil
	}
	return unknownWindow, nil
}

// stored is the window as the config has it, 0 when it leaves it to the server. num_ctx, the narrower of the two, counts first.
func stored(c chat.ModelConfig) int64 {
	if c.Options.NumCtx > 0 {
		return int64(c.Options.NumCtx)
	}
	if c.ContextLimit != nil {
		return *c.ContextLimit
	}
	return 0
}

// FoundTools keeps with a config how its model calls tools, as a Turn found out: from then on auto begins so.
//
//guard:none what the engine found out, not a person's wish
func (r *Room) FoundTools(ctx context.Context, id chat.ModelConfigID, protocol string) error {
	return r.store.Update(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, id)
		if err != nil {
			return err
		}
		c.FoundTools = protocol
		return tx.PutModelConfig(c)
	})
}

// HalveWindow is the answer to a model server out of memory: it halves the config's window, once until a person sets one again, and
// never below 1024 tokens, nor that of a server that takes no window. It gives the window that now counts, and whether this call halved it.
//
//guard:none the engine's answer to out_of_memory, not a person's wish
func (r *Room) HalveWindow(ctx context.Context, id chat.ModelConfigID) (tokens int64, halved bool, err error) {
	var now chat.ModelConfig
	err = r.store.View(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, id)
		if err != nil {
			return err
		}
		now = *c
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	if now.Provider == chat.ProviderOpenAI {
		// Such a server runs with the window that it was started with; asking for less frees nothing.
		return stored(now), false, nil
	}
	asked, err := r.Window(ctx, now)
	if err != nil {
		return 0, false, err
	}
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, id)
		if err != nil {
			return err
		}
		tokens, halved = asked, false
		if n := stored(*c); n > 0 {
			tokens = n
		}
		if c.WindowHalved || tokens/2 < smallestWindow {
			return nil
		}
		tokens, halved = tokens/2, true
		limit := tokens
		c.ContextLimit, c.WindowHalved = &limit, true
		if c.Options.NumCtx > 0 {
			c.Options.NumCtx = int(tokens)
		}
		return tx.PutModelConfig(c)
	})
	return tokens, halved, err
}
