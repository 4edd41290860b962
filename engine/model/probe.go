package model

import (
	"context"
	"errors"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Test is the capability test of one model: what it finds, or why it came to no result. It is main's to hand in, as it makes model calls.
type Test func(ctx context.Context, c chat.ModelConfig, window int64, progress func(chat.Progress)) (chat.Probe, error)

// AllowProbe lets Probe work.
func (r *Room) AllowProbe(test Test) { r.test = test }

// ProbeInput names a Model config. Progress is called on the caller's goroutine; nil is allowed.
type ProbeInput struct {
	ID       chat.ModelConfigID
	Progress func(chat.Progress)
}

// Probe tests what the model of a config can do and keeps the result with it. It takes minutes on a slow machine; Turns go before its
// calls. A test that breaks off leaves the result of the one before, and says why it failed; one that is cancelled leaves nothing.
func (r *Room) Probe(ctx context.Context, p chat.Principal, in ProbeInput) (chat.ModelConfig, error) {
	c, err := r.Get(ctx, p, GetInput{in.ID})
	if err != nil {
		return chat.ModelConfig{}, err
	}
	if r.test == nil {
		return chat.ModelConfig{}, &chat.Error{Kind: chat.KindForbidden, Message: "Models cannot be tested here."}
	}
	if !r.begin(in.ID) {
		return chat.ModelConfig{}, &chat.Error{Kind: chat.KindWrongState, Message: "This model is being tested already.",
			Detail: "Wait for the result of that test.", Retryable: true}
	}
	defer r.finish(in.ID)
	window, err := r.Window(ctx, c)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	m, err := r.found(ctx, nil, &c, nil)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	if m != nil && len(m.Capabilities) > 0 {
		c.Capabilities = m.Capabilities
	}
	began := r.now()
	result, err := r.test(ctx, c, window, quiet(in.Progress))
	if ctx.Err() != nil {
		return chat.ModelConfig{}, context.Cause(ctx)
	}
	result.At, result.TookMS, result.Window = r.now().UTC(), r.now().Sub(began).Milliseconds(), window
	return r.keepProbe(ctx, c, result, err)
}

// keepProbe stores what a test found, or why it failed; failed is given back.
func (r *Room) keepProbe(ctx context.Context, tested chat.ModelConfig, result chat.Probe, failed error) (chat.ModelConfig, error) {
	var out chat.ModelConfig
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, tested.ID)
		if err != nil {
			return err
		}
		if c.Provider != tested.Provider || c.Model != tested.Model || c.BaseURL != tested.BaseURL {
			return &chat.Error{Kind: chat.KindWrongState, Message: "The model was changed while it was tested.", Detail: "Test it again.", Retryable: true}
		}
		if failed != nil {
			c.ProbeFailed = &chat.ProbeFailure{At: r.now().UTC(), Reason: reason(failed)}
		} else {
			c.Probe, c.ProbeFailed, c.FoundTools, c.Capabilities = &result, nil, protocolOf(&result, tested.Capabilities), tested.Capabilities
		}
		if err := tx.PutModelConfig(c); err != nil {
			return err
		}
		out = *c
		return r.fillKey(tx, &out)
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// protocolOf is how a model calls tools best, as far as the test knows; "" is natively. Where nothing worked, it is what its server takes.
func protocolOf(p *chat.Probe, capabilities []string) string {
	switch {
	case p.Found(chat.FindTools).State != chat.FoundNo:
		return ""
	case p.Found(chat.FindTextTools).State == chat.FoundYes:
		return chat.ToolsText
	case p.Found(chat.FindJSONTools).State == chat.FoundYes:
		return chat.ToolsJSON
	case len(capabilities) > 0 && !slices.Contains(capabilities, "tools"):
		return chat.ToolsText
	}
	return ""
}

// reason is a failure in a sentence and what the server said.
func reason(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) {
		return "An internal fault stopped the test."
	}
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + " " + e.Detail
}

// forget drops what was found out about a model that may be another one now.
func forget(c *chat.ModelConfig) { c.FoundTools, c.Probe, c.ProbeFailed = "", nil, nil }

// begin says that a test of the config runs from now on; false when one does.
func (r *Room) begin(id chat.ModelConfigID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.testing[id] {
		return false
	}
	if r.testing == nil {
		r.testing = map[chat.ModelConfigID]bool{}
	}
	r.testing[id] = true
	return true
}

func (r *Room) finish(id chat.ModelConfigID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.testing, id)
}
