package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// TestTheSiteBoundsSteps: the cap of the site counts from the next Turn on, and 0 is that of the appliance.
func TestTheSiteBoundsSteps(t *testing.T) {
	r := newRig(t, setup{bounds: engine.Bounds{StepCap: 3}, tools: []chat.Tool{instant("again", "x")}, model: scripted.Model{Answer: func(*scripted.Prompt) scripted.Reply {
		return scripted.Calls(toolCall("again", `{}`))
	}}})
	asked := 0
	for _, c := range []struct{ site, want int }{{1, 1}, {2, 2}, {0, 3}} {
		r.update(func(tx *kv.Tx) error { return tx.PutSite(site.BehaviourKey, chat.BehaviourConfig{StepCap: c.site}) })
		v := r.rest(r.create("go"))
		if n := len(r.prompts()) - asked; v.Chat.RestReason != chat.RestStepCap || n != c.want {
			t.Errorf("a cap of %d: %s after %d requests", c.site, v.Chat.RestReason, n)
		}
		asked = len(r.prompts())
	}
}

// TestTheSiteBoundsRunningTurns: fewer slots let what runs go on and start nothing; more start what waits.
func TestTheSiteBoundsRunningTurns(t *testing.T) {
	began, goOn := make(chan struct{}, 8), make(chan struct{})
	hold := &probe{name: "hold", run: func(ctx context.Context, _ chat.Env, _ json.RawMessage) chat.Result {
		began <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return chat.Result{Content: "done"}
	}}
	r := newRig(t, setup{bounds: engine.Bounds{RunningTurns: 2}, tools: []chat.Tool{hold}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) > 0 {
			return scripted.Text("over")
		}
		return scripted.Calls(toolCall("hold", `{}`))
	}}})
	r.engine.Behave(chat.BehaviourConfig{RunningTurns: 1})
	first, second, third := r.create("one"), r.create("two"), r.create("three")
	<-began
	for _, id := range []chat.ID{second, third} {
		if v := r.view(id); v.Chat.State != chat.Pending {
			t.Errorf("%s while one may run", v.Chat.State)
		}
	}
	r.engine.Behave(chat.BehaviourConfig{})
	<-began
	if v := r.view(third); v.Chat.State != chat.Pending {
		t.Errorf("%s while two may run", v.Chat.State)
	}
	r.engine.Behave(chat.BehaviourConfig{RunningTurns: 3})
	<-began
	close(goOn)
	for _, id := range []chat.ID{first, second, third} {
		r.rest(id)
	}
}
