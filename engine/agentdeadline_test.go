package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/ollama/scripted"
)

// TestToolsCase23AtTheDeadline: tools.md case 23. A Sub-agent that ends as the wait does has its report told.
func TestToolsCase23AtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: family(func(*scripted.Prompt) scripted.Reply {
			return scripted.Reply{Frames: []scripted.Frame{{Delay: 2*time.Second - time.Nanosecond, Text: "just in time"}}}
		}, toolCall("spawn_agent", `{"prompt":"slow"}`), toolCall("wait_agent", `{"chat_id":"$ID","timeout_seconds":2}`))}})
		got := resultParts(r.rest(r.create("go")))
		if len(got) != 2 || got[1].IsError || !strings.Contains(string(got[1].Result), `"report":"just in time"`) {
			t.Errorf("%+v", got)
		}
	})
}
