package call

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestAMeasuredSpeedBoundsTheWait: what a capability test found counts until calls have shown more.
func TestAMeasuredSpeedBoundsTheWait(t *testing.T) {
	m := New(nil, Options{})
	req := &chat.Request{Model: "m", System: strings.Repeat("x", 30_000), MaxTokens: 9000, Tools: []chat.ToolDef{{}}}
	wait := func() (first, silent time.Duration) {
		c := &run{m: m, req: req}
		return c.firstPart(), c.silence()
	}
	if first, silent := wait(); first != DefaultFirstPart || silent != minToolSilence {
		t.Errorf("unmeasured: %v, %v", first, silent)
	}
	req.Speed = chat.Speed{Prefill: 100, Eval: 5}
	if first, silent := wait(); first != 300*time.Second || silent != 45*time.Minute {
		t.Errorf("measured: %v, %v", first, silent)
	}
	read, written := int64(10_000), int64(1000)
	m.speeds.learn(req, chat.Reply{Usage: chat.Usage{InputTokens: &read, OutputTokens: &written}, Load: time.Second, Prompt: 50 * time.Second, Eval: 100 * time.Second})
	if first, silent := wait(); first != 150*time.Second || silent != 22*time.Minute+30*time.Second {
		t.Errorf("seen since: %v, %v", first, silent)
	}
}
