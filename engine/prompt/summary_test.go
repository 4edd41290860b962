package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

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
	s.Failure, s.Text = "", " \n"
	if blank := SummaryMessages(s); len(blank) != 2 || !blank[1].Content[0].IsError {
		t.Errorf("%+v", blank)
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

// TestSummaryOfMoreThanTheWindow: a chat that came from a model with a larger window can still be summarised.
func TestSummaryOfMoreThanTheWindow(t *testing.T) {
	h := &told{}
	for n := range 400 {
		h.user(fmt.Sprint("question ", n))
		h.assistant(text(strings.Repeat("words ", 100)), call(fmt.Sprint("c", n), "execute", "{}"))
		h.result(fmt.Sprint("c", n), "execute", `{"output": "done"}`)
	}
	h.user("the newest")
	b := Build(h.input(t))
	window := int64(b.Request.Options.NumCtx)
	if b.Tokens <= window {
		t.Fatalf("%d tokens fit into %d", b.Tokens, window)
	}
	req, ok := SummaryRequest(b, false)
	if !ok {
		t.Fatal("no request")
	}
	if req.Messages[0].Content != leftOut || req.Messages[1].Role == chat.RoleTool {
		t.Errorf("begins with %q and %q", req.Messages[0].Content, req.Messages[1].Role)
	}
	last := req.Messages[len(req.Messages)-2:]
	if last[0].Content != "the newest" || last[1].Content != summaryAsk {
		t.Errorf("ends with %q and %q", last[0].Content, last[1].Content)
	}
	var size int64
	for i := range req.Messages {
		size += MessageBytes(&req.Messages[i])
	}
	if tokens := size/bytesPerToken + int64(req.MaxTokens); tokens > window || tokens < window/2 {
		t.Errorf("about %d tokens for a window of %d", tokens, window)
	}
	if len(b.Request.Messages) != 1201 || b.Request.Messages[0].Content == leftOut {
		t.Error("the prompt itself was changed")
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

// TestSummaryOfWhatAModelWrote: long arguments and thoughts are shortened like Results, at the rate at which the server counts them, and the prompt
// itself keeps them.
func TestSummaryOfWhatAModelWrote(t *testing.T) {
	h := &told{}
	h.user("write it")
	h.assistant(call("a", "write_file", `{"path":"a.txt","content":"`+strings.Repeat("word ", 40_000)+`"}`))
	h.result("a", "write_file", `{"output": "done"}`)
	in := h.input(t)
	b := Build(in)
	// Nearly a token for each byte.
	b.Tokens = b.Bytes - 1
	for _, withoutTools := range []bool{false, true} {
		req, ok := SummaryRequest(b, withoutTools)
		if !ok {
			t.Fatal("no request")
		}
		args := req.Messages[1].Calls[0].Args
		if req.Messages[0].Content != "write it" || !json.Valid(args) || len(args) > 2*keptOfResult || !strings.Contains(string(args), "bytes left out") {
			t.Errorf("it begins with %q, the call has %.3000s", req.Messages[0].Content, args)
		}
		if n := RequestBytes(req) + int64(req.MaxTokens); n > int64(req.Options.NumCtx) {
			t.Errorf("%d tokens for a window of %d", n, req.Options.NumCtx)
		}
	}
	if len(b.Request.Messages[1].Calls[0].Args) < 200_000 {
		t.Error("the prompt itself was changed")
	}
}
