package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/ollama/scripted"
)

// sent is a request's messages and tools as bytes of the wire.
type sent struct {
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	Options  struct {
		NumCtx int `json:"num_ctx"`
	} `json:"options"`
}

func (r *rig) wire() []sent {
	r.t.Helper()
	var out []sent
	for _, q := range r.server.Requests("/api/chat") {
		var s sent
		if err := json.Unmarshal(q.Body, &s); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// TestCase47TheStablePrefix: each request of a Turn, and the first one of the next Turn and of a restarted appliance, begins byte for byte
// as the one before.
func TestCase47TheStablePrefix(t *testing.T) {
	odd := "{\"b\": 1,  \"a\" : \"<x> & é\"}"
	var n atomic.Int32
	r := newRig(t, setup{place: true, tools: []chat.Tool{instant("odd", odd)}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch n.Add(1) {
		case 1:
			return scripted.Calls(toolCall("odd", `{ "n" : 1 }`))
		case 2:
			return scripted.Calls(toolCall("write_file", `{"path": "a.txt", "content": "x\n<b>\n"}`), toolCall("read_file", `{"path":"a.txt"}`))
		case 3:
			return scripted.Empty()
		case 4:
			return scripted.Reply{Frames: append(scripted.Thoughts("so"), scripted.Frame{Text: "Look: "}, scripted.Frame{Calls: []scripted.Call{toolCall("nothing", `{}`)}})}
		case 5:
			return scripted.Calls(toolCall("execute", `{"command":"ls"}`))
		}
		return scripted.Text("done")
	}}})
	id := r.create("go")
	r.rest(id)
	r.send(id, "and again", "")
	r.rest(id)
	r.reopen()
	r.start()
	r.send(id, "and after a restart", "")
	r.rest(id)
	all := r.wire()
	if len(all) != 8 {
		t.Fatalf("%d requests", len(all))
	}
	for i := 1; i < len(all); i++ {
		was, is := all[i-1], all[i]
		if !bytes.Equal(was.Tools, is.Tools) || was.Options.NumCtx != is.Options.NumCtx || is.Options.NumCtx != 32768 {
			t.Errorf("request %d: other tools, or num_ctx %d", i, is.Options.NumCtx)
		}
		if len(is.Messages) <= len(was.Messages) {
			t.Fatalf("request %d has %d messages after %d", i, len(is.Messages), len(was.Messages))
		}
		for j := range was.Messages {
			if !bytes.Equal(was.Messages[j], is.Messages[j]) {
				t.Errorf("message %d of request %d was\n%s\nand is\n%s", j, i, was.Messages[j], is.Messages[j])
			}
		}
	}
}

func TestCase48And49NothingIsSentThatCannotFit(t *testing.T) {
	r := newRig(t, setup{config: window(4096), model: scripted.Model{Answer: echo}})
	id := r.create(strings.Repeat("too long ", 3000))
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindContextFull || !strings.Contains(v.Chat.LastError.Detail, `the message "too long`) {
		t.Fatalf("%s %+v", v.Chat.State, v.Chat.LastError)
	}
	if n := len(r.server.Requests("/api/chat")); n != 0 || len(v.Messages) != 1 {
		t.Errorf("%d requests were sent", n)
	}
}

func window(tokens int64) func(*chat.ModelConfig) {
	return func(m *chat.ModelConfig) { m.ContextLimit = &tokens }
}

// half is a window of 16,384 that is summarised when half of it is full.
func half(m *chat.ModelConfig) {
	window(16384)(m)
	threshold := 50
	m.CompactionThreshold = &threshold
}

// isSummary says whether a prompt asks for a summary.
func isSummary(p *scripted.Prompt) bool {
	return strings.HasPrefix(p.Messages[len(p.Messages)-1].Content, "The conversation is about to be shortened")
}

// TestCase49And51CompactionBeforeTheNextStep: a Result fills the window, so the history is summarised in the same Turn.
func TestCase49And51CompactionBeforeTheNextStep(t *testing.T) {
	var steps atomic.Int32
	r := newRig(t, setup{config: func(m *chat.ModelConfig) { window(16384)(m); off := 100; m.CompactionThreshold = &off },
		tools: []chat.Tool{instant("big", strings.Repeat("word ", 20000))},
		model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if isSummary(p) {
				return scripted.Text("Goal: find the word. Open: say it.")
			}
			if steps.Add(1) < 4 {
				return scripted.Calls(toolCall("big", fmt.Sprintf(`{"n":%d}`, steps.Load())))
			}
			return scripted.Text("done")
		}}})
	id := r.create("find the word")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting {
		t.Fatalf("%s %+v\n%.2000s", v.Chat.State, v.Chat.LastError, transcript(v.Messages))
	}
	p := r.prompts()
	at := -1
	for i := range p {
		if isSummary(&p[i]) {
			at = i
			break
		}
	}
	if at < 1 || at+1 >= len(p) {
		for i, s := range p {
			t.Logf("request %d has %d bytes", i, size(s))
		}
		t.Logf("%+v\n%.600s", v.Chat.Used, transcript(v.Messages))
		t.Fatalf("no compaction among %d requests", len(p))
	}
	before, after := p[at], p[at+1]
	if after.Messages[0].Content != before.Messages[0].Content {
		t.Error("the system text changed")
	}
	if size(after) >= size(before) {
		t.Errorf("the request after the compaction has %d bytes, the one before %d", size(after), size(before))
	}
	all := transcript(r.all(id))
	for _, want := range []string{"user (model): The earlier part of this conversation was summarised", "assistant (user): chat_summarized(",
		"tool (user): chat_summarized = "} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%.3000s", want, all)
		}
	}
	// The request that is not answered yet follows the summary verbatim.
	if last := after.Messages[len(after.Messages)-1]; last.Role != "user" || last.Content != "find the word" {
		t.Errorf("the request ends with %+v", last)
	}
	if kinds := strings.Join(r.usage(id), " "); !strings.Contains(kinds, "compaction") {
		t.Errorf("usage: %s", kinds)
	}
	if v.Chat.Turn.Steps != 4 || v.Chat.Turn.Compactions == 0 {
		t.Errorf("%+v", v.Chat.Turn)
	}
}

func size(p scripted.Prompt) (n int) {
	for _, m := range p.Messages {
		n += len(m.Content)
	}
	return n
}

// TestCase50TheThreshold: at the threshold it runs, below it does not and shows nothing.
func TestCase50TheThreshold(t *testing.T) {
	for _, c := range []struct {
		eval int
		runs bool
	}{{1, false}, {8500, true}} {
		r := newRig(t, setup{config: half, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if isSummary(p) {
				return scripted.Text("a summary")
			}
			return scripted.Reply{Frames: scripted.Words("re: " + p.User()), Eval: c.eval}
		}}})
		id := r.create("one")
		r.rest(id)
		r.send(id, "two", "")
		v := r.rest(id)
		if got := strings.Contains(transcript(v.Messages), chat.SummaryTool); got != c.runs || v.Chat.State != chat.Waiting {
			t.Errorf("with %d tokens of output: %v, %s %v\n%s", c.eval, got, v.Chat.State, v.Chat.LastError, transcript(v.Messages))
		}
	}
}

func TestCase52AnEmptySummary(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isSummary(p) {
			return scripted.Empty()
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	n := len(r.prompts())
	if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	v := r.rest(id)
	said(t, v, "user: one", "assistant: re: one", `assistant (user): chat_summarized({"source":"manual","threshold_percent":70})`,
		`tool (user): chat_summarized = {"error":"The model wrote no summary."}`)
	p := r.prompts()[n:]
	if len(p) != 2 || v.Chat.State != chat.Waiting || v.Chat.LastError != nil || v.Chat.Intent != "" {
		t.Errorf("%d summary requests, %s %v", len(p), v.Chat.State, v.Chat.LastError)
	}
	if got := r.usage(id); !slices.Equal(got, []string{"turn", "compaction", "compaction"}) {
		t.Errorf("usage: %v", got)
	}
}

// TestARetryOfASummaryIsSeen: as one of a Step is, beside the card, and it is counted.
func TestARetryOfASummaryIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metric.New()
		tries := 0
		r := newRig(t, setup{metrics: m, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if !isSummary(p) {
				return echo(p)
			}
			if tries++; tries == 1 {
				return scripted.Reply{Status: 503, Error: "server busy, please try again. maximum pending requests exceeded"}
			}
			return scripted.Reply{Before: time.Second, Frames: scripted.Words("short")}
		}}})
		id := r.create("one")
		r.rest(id)
		if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
			t.Fatal(err)
		}
		card := func(v engine.View) bool {
			return v.Draft != nil && len(v.Draft.Parts) == 1 && v.Draft.Parts[0].ToolName == chat.SummaryTool
		}
		v := r.until(id, "the retry", func(v engine.View) bool { return card(v) && v.Draft.Retry != nil })
		if v.Draft.Phase != chat.PhaseRetrying || v.Draft.Retry.Kind != chat.KindBusy || v.Draft.Retry.Attempt != 1 {
			t.Errorf("%s, %+v", v.Draft.Phase, v.Draft.Retry)
		}
		r.until(id, "the next try", func(v engine.View) bool {
			return card(v) && v.Draft.Retry == nil && v.Draft.Phase == chat.PhaseCompacting
		})
		if v = r.rest(id); !strings.Contains(transcript(v.Messages), `"summary":"short"`) {
			t.Errorf("%s", transcript(v.Messages))
		}
		if body := scrape(t, m); !strings.Contains(body, `holdfast_retries_total{kind="busy"} 1`) || !strings.Contains(body, `holdfast_compactions_total{result="ok"} 1`) {
			t.Error("the retry or the compaction is not counted")
		}
	})
}

func TestCompactByHandAndClear(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("probe", "x")}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isSummary(p) {
			return scripted.Reply{Frames: []scripted.Frame{{Text: "short"}, {Calls: []scripted.Call{toolCall("probe", `{}`)}}}}
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	v := r.until(id, "the card", func(v engine.View) bool { return v.Chat.State.AtRest() && len(v.Messages) == 4 })
	if v.Chat.State != chat.Waiting || v.Chat.Intent != "" || v.Messages[2].Step == 0 || v.Messages[2].Step != v.Messages[3].Step {
		t.Errorf("%s, step %d and %d", v.Chat.State, v.Messages[2].Step, v.Messages[3].Step)
	}
	r.send(id, "two", "")
	r.rest(id)
	p := r.prompts()
	if last := p[len(p)-1]; len(last.Messages) != 3 || !strings.HasSuffix(last.Messages[1].Content, "short") || last.Messages[2].Content != "two" {
		t.Errorf("after compacting the model sees %+v", last.Messages)
	}
	if _, err := r.engine.Clear(context.Background(), r.who, engine.ClearInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	r.send(id, "three", "")
	v = r.rest(id)
	p = r.prompts()
	if last := p[len(p)-1]; len(last.Messages) != 2 || last.Messages[1].Content != "three" {
		t.Errorf("after clearing the model sees %+v", last.Messages)
	}
	if !strings.HasPrefix(transcript(v.Messages), "user: one\nassistant: re: one\n") {
		t.Error("the transcript is gone")
	}
}

// TestInterruptDuringACompaction stores nothing of it.
func TestInterruptDuringACompaction(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isSummary(p) {
			return stalled(scripted.Words("half a summary"))
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the card in the draft", func(v engine.View) bool {
		return v.Draft != nil && v.Draft.Phase == chat.PhaseCompacting && len(v.Draft.Parts) == 1 && v.Draft.Parts[0].ToolName == chat.SummaryTool
	})
	r.interrupt(id)
	v := r.rest(id)
	said(t, v, "user: one", "assistant: re: one")
	if v.Chat.Intent != "" || v.Chat.RestReason != chat.RestInterrupted {
		t.Errorf("%+v", v.Chat)
	}
}

// TestTheServerFindsThePromptTooLong: the engine compacts and goes on, once; what still does not fit is context_full.
func TestTheServerFindsThePromptTooLong(t *testing.T) {
	var refused atomic.Int32
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case isSummary(p):
			return scripted.Text("a summary")
		case p.User() == "two" && refused.Add(1) == 1, p.User() == "never":
			return scripted.Overflow()
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	r.send(id, "two", "")
	v := r.rest(id)
	if got := transcript(v.Messages); !strings.HasSuffix(got, "assistant: re: two\n") || !strings.Contains(got, chat.SummaryTool) {
		t.Errorf("%s %v\n%s", v.Chat.State, v.Chat.LastError, got)
	}
	r.send(id, "never", "")
	v = r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindContextFull {
		t.Errorf("%s %v", v.Chat.State, v.Chat.LastError)
	}
}
