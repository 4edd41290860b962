package prompt

import (
	"testing"

	"holdfast/engine/chat"
)

func TestNudge(t *testing.T) {
	tools := []string{"execute", "read_file"}
	for _, c := range []struct {
		name    string
		offered []string
		usage   chat.Usage
		want    string
	}{
		{"no tools", nil, chat.Usage{OutputTokens: count(50)}, chat.TextEmpty},
		{"the end token alone", tools, chat.Usage{OutputTokens: count(3)}, chat.TextEmpty},
		{"lost output", tools, chat.Usage{OutputTokens: count(4)}, chat.TextSwallowed(tools)},
		{"no count", tools, chat.Usage{}, chat.TextEmpty},
		{"reasoning", tools, chat.Usage{OutputTokens: count(90), ReasoningTokens: count(88)}, chat.TextEmpty},
	} {
		if got := Nudge(c.offered, c.usage); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	for _, c := range []struct {
		parts []chat.Part
		want  bool
	}{
		{nil, true}, {[]chat.Part{text(" \n")}, true}, {[]chat.Part{{Type: chat.PartReasoning, Text: "hm"}}, true},
		{[]chat.Part{text("x")}, false}, {[]chat.Part{call("a", "b", "")}, false},
	} {
		if got := Empty(c.parts); got != c.want {
			t.Errorf("Empty(%+v) = %v", c.parts, got)
		}
	}
}

func TestGoOnIsNeededOnlyAfterAPartialReply(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(h *told)
		want bool
	}{
		{"partial", func(h *told) { h.assistant(text("half")).Partial = true }, true},
		{"whole", func(h *told) { h.assistant(text("all")) }, false},
		{"already nudged", func(h *told) { h.assistant(text("half")).Partial = true; h.nudge(chat.TextGoOn) }, false},
		{"partial with an answered Call", func(h *told) {
			h.assistant(call("a", "execute", "")).Partial = true
			h.result("a", "execute", `1`)
		}, false},
		{"nothing was said", func(h *told) { h.assistant(text(" ")).Partial = true }, false},
		{"a card of the person after it", func(h *told) {
			h.assistant(text("half")).Partial = true
			h.nudge("card").Visibility = chat.VisibleUser
		}, true},
		{"cleared", func(h *told) { h.assistant(text("half")).Partial = true; h.nudge("").Boundary = chat.BoundaryClear }, false},
	} {
		h := &told{}
		c.tell(h)
		if got := NeedsGoOn(h.msgs); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
