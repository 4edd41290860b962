package ui

import (
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/health"
)

func TestTheSystemPageSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		report        health.Report
		problem, next string
	}{
		"well":      {health.Report{State: "ok", Total: -1}, "", ""},
		"full":      {health.Report{State: "no_space", Path: "/data", Total: 9}, "is full", "/data"},
		"nearly":    {health.Report{State: "ok", Low: true, Path: "/data", Total: 9}, "nearly full", "/data"},
		"read only": {health.Report{State: "read_only", Reason: "sync failed", Total: 9}, "sync failed", "Restart"},
	} {
		p := healthView(tt.report)
		if !strings.Contains(p.Problem, tt.problem) || !strings.Contains(p.Next, tt.next) || (p.Problem == "") != (tt.problem == "") {
			t.Errorf("%s: %q, %q", name, p.Problem, p.Next)
		}
	}
	chatID := chat.ID("c")
	rows := healthView(health.Report{State: "ok", Damages: []health.Damage{{Noun: "message", Chat: chatID, Message: 7, Reason: "the sum does not fit"},
		{Noun: "term", Key: "ab", Reason: "short"}, {Noun: "user", Key: "cd", Reason: "short"}}}).Damages
	if rows[0].What != "message 7 of chat c" || rows[0].Href != "/chats/c" || !strings.Contains(rows[1].Next, "made anew") || rows[2].What != "user cd" {
		t.Errorf("%+v", rows)
	}
}
