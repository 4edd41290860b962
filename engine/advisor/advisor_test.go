package advisor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// wise is a chat.Model that answers with a text and keeps what it was asked.
type wise struct {
	mu    sync.Mutex
	text  string
	err   error
	asked []*chat.Request
}

func (w *wise) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, req)
	if ctx.Err() != nil {
		return chat.Reply{}, context.Cause(ctx)
	}
	if w.err != nil {
		return chat.Reply{}, w.err
	}
	return chat.Reply{FinishReason: "stop"}, yield(chat.Delta{Text: w.text})
}

func options(m chat.Model) Options {
	req := &chat.Request{ModelConfigID: "c", Model: "m", Options: chat.Options{NumCtx: 32768},
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: "the task"}}, Tools: []chat.ToolDef{{Name: "act"}}}
	return Options{Model: m, Advises: chat.ModelConfig{ID: "a", Model: "wise"}, Window: 32768, StepCap: 1200,
		Snapshot: func() Snapshot { return Snapshot{Request: req, Sections: []string{"base"}} },
		Spend:    func(chat.Reply, time.Duration) *int64 { return nil }, Notice: func(chat.Delta) {}, Begin: func(context.Context, int) {}, Now: time.Now}
}

func made(t *testing.T, o Options) *Runtime {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func env() chat.Env {
	return chat.Env{MaxText: 8 << 10, Output: func(string) {}, Restart: func() {}}
}

func question(q string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"question": q})
	if err != nil {
		panic(err)
	}
	return b
}

func TestEligible(t *testing.T) {
	on, root := chat.AdvisorConfig{Enabled: true}, &chat.Chat{}
	for name, got := range map[string]bool{
		"on": Eligible(on, root, true), "off": !Eligible(chat.AdvisorConfig{}, root, true), "no model": !Eligible(on, root, false),
		"a child": !Eligible(on, &chat.Chat{ParentID: "p"}, true), "a plan": Eligible(on, &chat.Chat{PlanMode: "plan"}, true),
		"negative uses":   !Eligible(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: -1}, root, true),
		"negative tokens": !Eligible(chat.AdvisorConfig{Enabled: true, MaxOutputTokens: -1}, root, true),
	} {
		if !got {
			t.Error(name)
		}
	}
}

// TestWithoutARuntimeTheToolSaysWhy: making one fails on each thing that is missing.
func TestWithoutARuntimeTheToolSaysWhy(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no model":  func(o *Options) { o.Model = nil },
		"no name":   func(o *Options) { o.Advises.Model = "" },
		"no uses":   func(o *Options) { o.StepCap = 0 },
		"no window": func(o *Options) { o.Window = 1 },
		"no prompt": func(o *Options) { o.Snapshot = nil },
	} {
		o := options(&wise{text: "x"})
		change(&o)
		r, err := New(o)
		if err == nil {
			t.Fatal(name)
		}
		got := NewTool(r, err).Run(t.Context(), env(), question("which?"))
		if !got.IsError || got.Content != "the advisor is not available: "+err.Error() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUsesUnderConcurrency: 50 at once never take more than there are, and failures give all back.
func TestUsesUnderConcurrency(t *testing.T) {
	m := &wise{text: "advice"}
	o := options(m)
	o.Config.MaxUsesPerRun, o.Used = 12, 2
	r := made(t, o)
	m.err = errors.New("broken")
	ask := func() (given int) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 50 {
			all.Go(func() {
				out, _, err := r.consult(t.Context(), "q", func(string) {}, func() {})
				mu.Lock()
				defer mu.Unlock()
				if err != nil || out.RemainingUses < 0 {
					t.Errorf("%+v, %v", out, err)
				}
				if out.Type == chat.AdviceGiven {
					given++
				}
			})
		}
		all.Wait()
		return given
	}
	if n := ask(); n != 0 || r.left.Load() != 10 {
		t.Errorf("%d given, %d left after failures", n, r.left.Load())
	}
	m.err = nil
	if n := ask(); n != 10 || r.left.Load() != 0 {
		t.Errorf("%d given, %d left", n, r.left.Load())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(chat.CauseInterrupted)
	r.left.Store(1)
	if _, _, err := r.consult(ctx, "q", func(string) {}, func() {}); err != chat.CauseInterrupted || r.left.Load() != 1 {
		t.Errorf("a cancelled one: %v, %d left", err, r.left.Load())
	}
}

// TestCase44NoToolsLeave: a request that somebody gave Tools is a fault, and no call is made.
func TestCase44NoToolsLeave(t *testing.T) {
	m := &wise{text: "advice"}
	r := made(t, options(m))
	req := r.request("q")
	if len(req.Tools) != 0 || req.Class != chat.ClassTurn {
		t.Fatalf("%+v", req)
	}
	req.Tools = []chat.ToolDef{{Name: "act"}}
	_, err := r.send(t.Context(), req, func(chat.Delta) error { return nil })
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindInternal || len(m.asked) != 0 {
		t.Errorf("%v after %d calls", err, len(m.asked))
	}
	if asking := r.o.Snapshot().Request; len(asking.Tools) != 1 || len(asking.Messages) != 1 {
		t.Error("the asking request was changed")
	}
}

// TestTheBudgets: sections newest first, one that is too large is skipped; messages stop at the first that does not fit.
func TestTheBudgets(t *testing.T) {
	sections := []string{"base", strings.Repeat("a", 7000), "<advisor-guidance>\nask\n</advisor-guidance>", strings.Repeat("b", 11000), "last",
		"# Calling tools\nYou call a tool by ending your reply with JSON."}
	s := Snapshot{Request: &chat.Request{}, Sections: sections}
	for i := range 6 {
		size := 10
		if i == 2 {
			size = 11900
		}
		s.Request.Messages = append(s.Request.Messages, chat.PromptMessage{Role: chat.RoleUser, Content: strings.Repeat(string(rune('0'+i)), size)})
	}
	system, messages := handoff(s, "q", 32768)
	if system != "base\n\n"+strings.Repeat("b", 11000)+"\n\nlast\n\n"+advisorPrompt {
		t.Errorf("kept of the system text is %d bytes", len(system))
	}
	if len(messages) != 4 || messages[0].Content != "3333333333" || messages[3].Content != "q" {
		t.Errorf("%d messages", len(messages))
	}
	// A quarter of a small window is less than either budget.
	system, messages = handoff(s, "q", 4096)
	if strings.Contains(system, "bbb") || !strings.HasPrefix(system, "base\n\nlast") || len(messages) != 4 {
		t.Errorf("in a small window: %q, %d messages", system[:20], len(messages))
	}
}

// TestTheNewestIsAlwaysThere, cut where it must be, and valid text.
func TestTheNewestIsAlwaysThere(t *testing.T) {
	for _, content := range []string{strings.Repeat("é", 20000), strings.Repeat("\n\"", 10000), strings.Repeat("x", 11999)} {
		s := Snapshot{Request: &chat.Request{Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: "old"}, {Role: chat.RoleTool, ToolName: "act", Content: content}}}}
		_, messages := handoff(s, "q", 32768)
		if len(messages) != 2 || encodedSize(&messages[0]) > recentBytes || !utf8.ValidString(messages[0].Content) ||
			!strings.HasPrefix(messages[0].Content, "[Result of act]\n") || !strings.Contains(messages[0].Content, "bytes left out") {
			t.Errorf("%d messages, the newest has %d bytes", len(messages), encodedSize(&messages[0]))
		}
	}
}

// TestTheStepIsCut to its last runes, text and reasoning each.
func TestTheStepIsCut(t *testing.T) {
	s := Snapshot{Request: &chat.Request{}, Text: strings.Repeat("é", 5000) + "end", Reasoning: strings.Repeat("ß", 5000) + "fin"}
	_, messages := handoff(s, "q", 32768)
	now := messages[0].Content
	if n := utf8.RuneCountInString(now); !strings.HasSuffix(now, "end") || !strings.Contains(now, "fin\n\n[Written") || n > 2*snapshotRunes+60 || n < 2*snapshotRunes {
		t.Errorf("%d runes", n)
	}
}

// TestTheResultIsWholeJSON whatever the advice holds and however little room there is.
func TestTheResultIsWholeJSON(t *testing.T) {
	for _, advice := range []string{"short", strings.Repeat("long ", 4000), strings.Repeat("\x01\"\n", 8000)} {
		o := options(&wise{text: advice})
		o.Config.MaxUsesPerRun = 1
		e := env()
		e.MaxText = 4 << 10
		got := NewTool(made(t, o), nil).Run(t.Context(), e, question("q"))
		var out chat.AdvisorResult
		if err := json.Unmarshal([]byte(got.Content), &out); err != nil || out.Type != chat.AdviceGiven || len(got.Content) > e.MaxText {
			t.Errorf("%d bytes, %+v, %v", len(got.Content), out.Type, err)
		}
		if cut := len(advice) > e.MaxText; cut != (got.FullBytes > 0) || cut != strings.Contains(out.Advice, "bytes left out") {
			t.Errorf("cut %v, full %d", cut, got.FullBytes)
		}
		if !strings.Contains(got.Content, `"remaining_uses":0`) {
			t.Error("remaining_uses is not there")
		}
	}
}

// TestAdviceThatWasCutSaysSo.
func TestAdviceThatWasCutSaysSo(t *testing.T) {
	r := made(t, options(lengthy{}))
	out, _, err := r.consult(t.Context(), "q", func(string) {}, func() {})
	if err != nil || !strings.HasSuffix(out.Advice, "the longest that is allowed.]") {
		t.Errorf("%+v, %v", out, err)
	}
	if limits := []int{r.request("q").MaxTokens, defaultTokens}; slices.Max(limits) != defaultTokens || limits[0] > 16384 {
		t.Errorf("%v", limits)
	}
}

type lengthy struct{}

func (lengthy) Stream(_ context.Context, _ *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	return chat.Reply{FinishReason: "length"}, yield(chat.Delta{Text: "half of"})
}
