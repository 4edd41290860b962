package model

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// demoWindow is the window of the demo model, in tokens; its server counts as a real one does.
const demoWindow = 32768

// DemoModel is the name of the scripted model inside the appliance.
const DemoModel = "holdfast-demo:latest"

// DemoInput asks for the demo model.
type DemoInput struct{}

// Demo adds the scripted demo model to the Model configs, once. It is labelled for what it is.
func (r *Room) Demo(ctx context.Context, _ chat.Principal, _ DemoInput) (chat.ModelConfig, error) {
	id, err := newID()
	if err != nil {
		return chat.ModelConfig{}, err
	}
	window := int64(demoWindow)
	fresh := chat.ModelConfig{ID: id, Name: "Demo (scripted)", Provider: chat.ProviderDemo, Model: DemoModel, ContextLimit: &window,
		Tools: "native", Enabled: true, Capabilities: []string{"completion", "tools", "thinking"}, CreatedAt: r.now().UTC()}
	var out chat.ModelConfig
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		out = fresh
		for _, c := range all {
			if c.Provider == chat.ProviderDemo {
				out = *c
			}
		}
		if out.ID == fresh.ID {
			out.Name = freeName(out.Name, all)
		}
		out.Enabled = true
		return save(tx, &out, all)
	})
	return out, err
}
