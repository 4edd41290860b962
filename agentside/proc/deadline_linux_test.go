package proc

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestDeadline: a process whose time is over is ended and says so, also one that does not want to; one that ends in time says nothing.
func TestDeadline(t *testing.T) {
	b := newBench(t)
	for _, command := range []string{"sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000"} {
		info := b.start(chat.ProcessStart{Command: command, Deadline: 50 * time.Millisecond})
		out, err := b.scope.Output(t.Context(), info.ChatID, info.ID, 0, time.Minute)
		if err != nil || out.Running || !strings.Contains(out.Error, "longer than the 50ms") || out.ExitCode != 143 && out.ExitCode != 137 {
			t.Errorf("%s: %+v, %v", command, out, err)
		}
	}
	info := b.start(chat.ProcessStart{Command: "echo in time", Deadline: time.Hour})
	out, err := b.scope.Output(t.Context(), info.ChatID, info.ID, 0, time.Minute)
	if err != nil || out.Running || out.Error != "" || out.ExitCode != 0 {
		t.Errorf("in time: %+v, %v", out, err)
	}
	// The site's own bound is the lower one, or not.
	b.manager.opts.MaxRuntime = func() time.Duration { return 50 * time.Millisecond }
	for _, given := range []time.Duration{0, time.Hour} {
		info := b.start(chat.ProcessStart{Command: "sleep 1000", Deadline: given})
		out, err := b.scope.Output(t.Context(), info.ChatID, info.ID, 0, time.Minute)
		if err != nil || out.Running || !strings.Contains(out.Error, "longer than the 50ms") {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
