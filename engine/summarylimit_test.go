package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestASummaryIsBounded: a model that falls silent within a summary, or writes it for ever, holds its Chat up for a bounded time.
func TestASummaryIsBounded(t *testing.T) {
	slow := scripted.Reply{Loop: true, Frames: []scripted.Frame{{Delay: time.Minute, Text: "and "}}}
	for name, c := range map[string]struct {
		reply scripted.Reply
		says  string
		after time.Duration
	}{
		"silent": {stalled(scripted.Words("half a summary")), "The model stopped writing the summary.", 90 * time.Second},
		"late":   {slow, "The summary was not written within 10 minutes.", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{model: scripted.Model{Answer: summarises(c.reply)}})
				id := r.create("one")
				r.rest(id)
				if _, err := r.engine.Compact(t.Context(), r.who, engine.CompactInput{ChatID: id}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after - time.Second)
				if v := r.view(id); v.Chat.State != chat.Running {
					t.Errorf("it is %s before its time", v.Chat.State)
				}
				time.Sleep(3 * time.Second)
				r.send(id, "two", "")
				said(t, r.rest(id), "user: one", "assistant: re: one", `assistant (user): chat_summarized({"source":"manual","threshold_percent":70})`,
					`tool (user): chat_summarized = {"error":"`+c.says+`"}`, "user: two", "assistant: re: two")
			})
		})
	}
}
