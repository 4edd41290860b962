package prompt

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// made writes Calls as letters: each letter is a Tool of that name with a Result of its own.
func (h *told) calls(letters string) {
	for _, l := range letters {
		id := fmt.Sprint("c", len(h.msgs))
		h.assistant(call(id, string(l), `{"b":1, "a":2}`))
		h.result(id, string(l), `{"output":"`+string(l)+`","wall_duration_ms":`+fmt.Sprint(len(h.msgs))+`}`)
	}
}

func TestFindLoop(t *testing.T) {
	nudge := func(n int) string { return chat.TextLoop(n) }
	for _, c := range []struct {
		name  string
		tell  func(h *told)
		count int
		nudge string
		end   bool
	}{
		{"nothing", func(h *told) {}, 0, "", false},
		{"twice", func(h *told) { h.calls("aa") }, 2, "", false},
		{"three times", func(h *told) { h.calls("xaaa") }, 3, nudge(3), false},
		{"three times, told already", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)) }, 3, "", false},
		{"a fourth time, told already", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("a") }, 4, "", false},
		{"four at once, not told", func(h *told) { h.calls("aaaa") }, 4, nudge(4), false},
		{"five times", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("aa") }, 5, "", true},
		{"a cycle of two", func(h *told) { h.calls("ababab") }, 3, nudge(3), false},
		{"a cycle of two, shifted after it was told", func(h *told) { h.calls("ababab"); h.nudge(nudge(3)); h.calls("a") }, 3, "", false},
		{"a cycle of three", func(h *told) { h.calls("abcabcabcabcabc") }, 5, "", true},
		{"a cycle of four is none", func(h *told) { h.calls("abcdabcdabcd") }, 1, "", false},
		{"another loop after the first", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("bbb") }, 3, nudge(3), false},
		{"other Results", func(h *told) {
			for i := range 4 {
				h.assistant(call(fmt.Sprint(i), "a", `{}`))
				h.result(fmt.Sprint(i), "a", fmt.Sprintf(`{"output":"%d"}`, i))
			}
		}, 1, "", false},
		{"other order of keys", func(h *told) {
			h.calls("aa")
			h.assistant(call("last", "a", `{"a":2,"b":1}`))
			h.result("last", "a", `{"wall_duration_ms":9,"output":"a"}`)
		}, 3, nudge(3), false},
		{"waiting Tools", func(h *told) { h.calls("wwwwww") }, 0, "", false},
		{"waiting Tools between", func(h *told) { h.calls("awawa") }, 3, nudge(3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &told{}
			c.tell(h)
			if got := FindLoop(stored(t, h.msgs), map[string]bool{"w": true}); got != (Loop{c.count, c.nudge, c.end}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

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

func TestSummaryMessages(t *testing.T) {
	h := &told{}
	h.user("answered")
	h.assistant(text("yes"))
	h.user("first open")
	h.assistant(call("c", "execute", "{}"))
	h.nudge("engine's own")
	h.user("second open")
	h.assistant(text("cut")).Partial = true
	open := Unanswered(h.msgs)
	if fmt.Sprint(open) != "[3 6]" {
		t.Fatalf("unanswered %v", open)
	}
	s := Summary{ChatID: "c", CallID: "card", Text: "what happened", Source: SourceManual, Threshold: 70,
		Used: chat.ContextUse{Tokens: 50, Limit: 100}, Unanswered: open}
	got := SummaryMessages(s)
	if len(got) != 3 {
		t.Fatalf("%d messages", len(got))
	}
	a, b, c := got[0], got[1], got[2]
	if a.Role != chat.RoleUser || a.Visibility != chat.VisibleModel || a.Boundary != chat.BoundarySummary || len(a.Unanswered) != 2 ||
		!strings.HasSuffix(chat.PlainText(a.Content), "\n\nwhat happened") {
		t.Errorf("(a) %+v", a)
	}
	if b.Role != chat.RoleAssistant || b.Visibility != chat.VisibleUser ||
		string(b.Content[0].Args) != `{"source":"manual","threshold_percent":70}` || b.Content[0].CallID != "card" {
		t.Errorf("(b) %+v", b)
	}
	if c.Role != chat.RoleTool || c.Visibility != chat.VisibleUser || c.Content[0].CallID != "card" || string(c.Content[0].Result) !=
		`{"summary":"what happened","source":"manual","threshold_percent":70,"usage_percent":50,"context_tokens":50,"context_limit_tokens":100}` {
		t.Errorf("(c) %+v %s", c, c.Content[0].Result)
	}
	for _, m := range got {
		if !m.Compressed || m.ContentVersion != 1 {
			t.Errorf("%+v", m)
		}
	}
	s.Failure = "the model gave no summary"
	failed := SummaryMessages(s)
	if len(failed) != 2 || failed[0].Boundary != "" || !failed[1].Content[0].IsError ||
		string(failed[1].Content[0].Result) != `{"error": "the model gave no summary"}` {
		t.Errorf("%+v", failed)
	}
}

func TestSummaryRequestKeepsThePrefix(t *testing.T) {
	h := &told{}
	h.user("task")
	h.assistant(text("working"))
	b := Build(h.input(t))
	req, ok := SummaryRequest(b, false)
	if !ok || len(req.Messages) != 3 || len(req.Tools) != 2 || req.Options.NumCtx != b.Request.Options.NumCtx {
		t.Fatalf("%+v", req)
	}
	was, now := encoded(t, b.Request), encoded(t, req)
	for i := range was {
		if was[i] != now[i] {
			t.Errorf("entry %d changed", i)
		}
	}
	if again, _ := SummaryRequest(b, true); len(again.Tools) != 0 || again.System != req.System {
		t.Errorf("the second try: %+v", again)
	}
}

// TestTwoCompactions: what the first summary named is still sent after the second, if it is still open.
func TestTwoCompactions(t *testing.T) {
	h := &told{}
	compact := func(summary string) {
		for _, m := range SummaryMessages(Summary{ChatID: "c", Text: summary, Unanswered: Unanswered(h.msgs)}) {
			m.ID = chat.MessageID(len(h.msgs) + 1)
			h.msgs = append(h.msgs, m)
		}
	}
	h.user("the open task")
	h.calls("a")
	compact("one")
	h.calls("b")
	compact("two")
	got := contents(messages(t, h))
	if want := "user:" + summaryPreface + "\n\ntwo\nuser:the open task"; got != want {
		t.Errorf("got\n%s", got)
	}
	h.assistant(text("finished"))
	compact("three")
	if got, want := contents(messages(t, h)), "user:"+summaryPreface+"\n\nthree"; got != want {
		t.Errorf("got\n%s", got)
	}
}
