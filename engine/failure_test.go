package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func TestCase53BusyThenSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{calls: call.Options{BaseDelay: time.Second}, model: scripted.Model{Answer: answers(scripted.QueueFull("3"), scripted.Text("here I am"))}})
		id := r.create("go")
		v := r.until(id, "a retry", func(v engine.View) bool { return v.Draft != nil && v.Draft.Retry != nil })
		retry := v.Draft.Retry
		if retry.Attempt != 1 || retry.Kind != chat.KindBusy || retry.DelayMS != 3000 || retry.StatusCode != 503 || v.Draft.Phase != chat.PhaseRetrying ||
			len(v.Draft.Parts) != 0 {
			t.Errorf("%+v, phase %s", retry, v.Draft.Phase)
		}
		// A late reader sees it too, and what follows replaces it.
		v = r.rest(id)
		said(t, v, "user: go", "assistant: here I am")
	})
}

func TestCase54ModelMissing(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"404":          {Status: 404, Error: `model "m:latest" not found, try pulling it first`},
		"inside a 503": {Status: 503, Error: `model "m:latest" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{model: scripted.Model{Answer: answers(reply)}})
			v := r.rest(r.create("go"))
			e := v.Chat.LastError
			if e == nil || e.Kind != chat.KindModelMissing || !strings.Contains(e.Message, "m:latest") || len(r.prompts()) != 1 {
				t.Errorf("%+v after %d requests", e, len(r.prompts()))
			}
		})
	}
}

func TestCase55TheServerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		down := func() bool { return time.Since(begun) < 5*time.Second }
		r := newRig(t, setup{calls: call.Options{BaseDelay: time.Second}, model: scripted.Model{Answer: func(*scripted.Prompt) scripted.Reply {
			if down() {
				return scripted.Reply{End: scripted.EndCut}
			}
			return scripted.Text("back")
		}}})
		id := r.create("go")
		var delays []int64
		v := r.until(id, "rest", func(v engine.View) bool {
			if v.Draft != nil && v.Draft.Retry != nil && (len(delays) == 0 || delays[len(delays)-1] != v.Draft.Retry.DelayMS) {
				delays = append(delays, v.Draft.Retry.DelayMS)
			}
			return v.Chat.State.AtRest()
		})
		said(t, v, "user: go", "assistant: back")
		if len(delays) < 3 || delays[0] != 1000 || delays[1] != 2000 || delays[2] != 4000 {
			t.Errorf("delays %v", delays)
		}
	})
}

func TestCase56ACutStreamLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{calls: call.Options{BaseDelay: time.Second}, model: scripted.Model{Answer: answers(
			scripted.Reply{Frames: scripted.Words("the first attempt"), End: scripted.EndCut},
			scripted.Reply{Frames: []scripted.Frame{{Text: "the second"}, {Text: " attempt", Delay: time.Second}}})}})
		id := r.create("go")
		first := int64(0)
		r.until(id, "the second attempt", func(v engine.View) bool {
			if v.Draft == nil {
				return false
			}
			text := ""
			for _, p := range v.Draft.Parts {
				text += p.Text
			}
			switch {
			case strings.HasPrefix(text, "the first"):
				first = v.Draft.Generation
			case strings.Contains(text, "first"):
				t.Errorf("both attempts in one draft: %q", text)
			case text != "" && first != 0 && v.Draft.Generation <= first:
				t.Errorf("the second attempt has generation %d after %d", v.Draft.Generation, first)
			}
			return strings.HasPrefix(text, "the second")
		})
		said(t, r.rest(id), "user: go", "assistant: the second attempt")
	})
}

func TestAttemptsUsedUpKeepTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{calls: call.Options{Attempts: 2}, model: scripted.Model{Answer: answers(
			scripted.Reply{Frames: scripted.Words("first try"), End: scripted.EndCut}, scripted.Reply{Frames: scripted.Words("last try"), End: scripted.EndCut})}})
		v := r.rest(r.create("go"))
		said(t, v, "user: go", "assistant [cut: error]: last try")
		if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindStreamCut {
			t.Errorf("%s %v", v.Chat.State, v.Chat.LastError)
		}
	})
}

func TestAnInterruptedRetryKeepsWhatTheFailedAttemptWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{calls: call.Options{BaseDelay: time.Hour, MaxDelay: time.Hour}, model: scripted.Model{Answer: answers(
			scripted.Reply{Frames: scripted.Words("as far as it got"), End: scripted.EndCut})}})
		id := r.create("go")
		r.until(id, "a retry", func(v engine.View) bool { return v.Draft != nil && v.Draft.Retry != nil && len(v.Draft.Parts) == 0 })
		r.interrupt(id)
		said(t, r.rest(id), "user: go", "assistant [cut: interrupted]: as far as it got")
	})
}

func TestInterruptEndsTheWaitForARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{calls: call.Options{BaseDelay: time.Hour, MaxDelay: time.Hour}, model: scripted.Model{Answer: answers(scripted.QueueFull(""))}})
		id := r.create("go")
		r.until(id, "a retry", func(v engine.View) bool { return v.Draft != nil && v.Draft.Retry != nil })
		begun := time.Now()
		r.interrupt(id)
		v := r.rest(id)
		if time.Since(begun) != 0 || v.Chat.RestReason != chat.RestInterrupted || len(v.Messages) != 1 {
			t.Errorf("%s after %s\n%s", v.Chat.RestReason, time.Since(begun), transcript(v.Messages))
		}
	})
}

func TestCase57ACallWrittenAsText(t *testing.T) {
	text := "I read the file.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\",}}\n```\n"
	r := newRig(t, setup{place: true, model: scripted.Model{Pace: 2 * time.Millisecond, Answer: answers(scripted.Text(text), scripted.Text("done"))}})
	r.write("a.txt", "line\n")
	id := r.create("go")
	v := r.until(id, "rest", func(v engine.View) bool {
		if v.Draft == nil {
			return v.Chat.State.AtRest()
		}
		shown, card := "", false
		for _, p := range v.Draft.Parts {
			shown += p.Text
			card = card || p.Type == chat.PartToolCall
		}
		if card && strings.Contains(shown, "arguments") {
			t.Errorf("the JSON and the card are shown together: %q", shown)
		}
		return v.Chat.State.AtRest()
	})
	p := v.Messages[1].Content
	if len(p) != 2 || p[0].Text != "I read the file." || !p[1].Repaired || p[1].ToolName != "read_file" || !strings.Contains(transcript(v.Messages), "1\\tline") {
		t.Errorf("%s", transcript(v.Messages))
	}
}

func TestCase58Loops(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("again", "same")}, model: scripted.Model{Answer: answers(scripted.Calls(toolCall("again", `{"n":1}`)))}})
	id := r.create("go")
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindLoop {
		t.Fatalf("%s %v", v.Chat.State, v.Chat.LastError)
	}
	p := r.prompts()
	if len(p) != 5 {
		t.Fatalf("%d requests", len(p))
	}
	nudge := chat.TextLoop(3)
	for i, want := range []int{0, 0, 0, 1, 1} {
		n := 0
		for _, m := range p[i].Messages {
			if m.Content == nudge {
				n++
			}
		}
		if n != want {
			t.Errorf("request %d has text:loop %d times", i+1, n)
		}
	}
	if got := strings.Count(transcript(r.all(id)), "user (model): "+nudge); got != 1 || len(v.Messages) != 11 {
		t.Errorf("text:loop is stored %d times, %d messages are shown", got, len(v.Messages))
	}
}

func TestLoopsOfToolsThatWaitAreFine(t *testing.T) {
	wait := instant("again", "same")
	wait.waits = true
	var n atomic.Int32
	r := newRig(t, setup{tools: []chat.Tool{wait}, model: scripted.Model{Answer: func(*scripted.Prompt) scripted.Reply {
		if n.Add(1) > 8 {
			return scripted.Text("done")
		}
		return scripted.Calls(toolCall("again", `{"n":1}`))
	}}})
	if v := r.rest(r.create("go")); v.Chat.State != chat.Waiting {
		t.Errorf("%s %v", v.Chat.State, v.Chat.LastError)
	}
}

func TestCase59EmptyReplies(t *testing.T) {
	for name, c := range map[string]struct {
		replies []scripted.Reply
		tools   string
		nudge   string
		kind    chat.Kind
		says    []string
	}{
		"empty, then text":     {[]scripted.Reply{scripted.Empty(), scripted.Text("here")}, "auto", chat.TextEmpty, "", []string{"assistant: here"}},
		"empty twice":          {[]scripted.Reply{scripted.Empty(), scripted.Empty()}, "auto", chat.TextEmpty, chat.KindEmptyReply, nil},
		"only reasoning twice": {[]scripted.Reply{{Frames: scripted.Thoughts("hm"), Eval: 1}}, "auto", chat.TextEmpty, chat.KindEmptyReply, []string{"assistant [cut: error]: <hm>"}},
		"a swallowed call":     {[]scripted.Reply{scripted.Swallowed(), scripted.Text("here")}, "auto", chat.TextSwallowed(append([]string{"probe"}, chatTools...)), "", []string{"assistant: here"}},
		"swallowed without tools": {[]scripted.Reply{scripted.Swallowed(), scripted.Text("here")}, "off", chat.TextEmpty, "",
			[]string{"assistant: here"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{tools: []chat.Tool{instant("probe", "x")}, config: func(m *chat.ModelConfig) { m.Tools = c.tools },
				model: scripted.Model{Answer: answers(c.replies...)}})
			id := r.create("go")
			v := r.rest(id)
			said(t, v, append([]string{"user: go"}, c.says...)...)
			if got := strings.Count(transcript(r.all(id)), "user (model): "+c.nudge+"\n"); got != 1 {
				t.Errorf("the nudge is stored %d times:\n%s", got, transcript(r.all(id)))
			}
			if e := v.Chat.LastError; c.kind == "" && e != nil || c.kind != "" && (e == nil || e.Kind != c.kind) {
				t.Errorf("%v, want %s", e, c.kind)
			}
			if len(r.prompts()) != 2 || len(r.usage(id)) != 2 {
				t.Errorf("%d requests, usage %v", len(r.prompts()), r.usage(id))
			}
		})
	}
}

// TestNoTools: a model without tools gets them as text, in the same Step, and its Calls are read from its text.
func TestNoTools(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Capabilities: []string{"completion"}, Answer: answers(
		scripted.Text("```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"made\\n\"}}\n```"), scripted.Text("done"))}})
	id := r.create("go")
	v := r.rest(id)
	if r.read("a.txt") != "made\n" || v.Chat.State != chat.Waiting {
		t.Fatalf("%q, %s %v", r.read("a.txt"), v.Chat.State, v.Chat.LastError)
	}
	p := r.prompts()
	last := p[len(p)-1]
	if len(last.Tools) != 0 || !strings.Contains(last.Messages[0].Content, "write_file") {
		t.Error("the last request offers native tools, or none as text")
	}
	if m := last.Messages[len(last.Messages)-1]; m.Role != "user" || !strings.HasPrefix(m.Content, "Result of write_file:") {
		t.Errorf("the result is %+v", m)
	}
}

func TestNoToolsWithNative(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("probe", "x")}, config: func(m *chat.ModelConfig) { m.Tools = "native" },
		model: scripted.Model{Capabilities: []string{"completion"}}})
	v := r.rest(r.create("go"))
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindNoTools {
		t.Errorf("%s %v", v.Chat.State, v.Chat.LastError)
	}
}

func TestStepCapAndLength(t *testing.T) {
	r := newRig(t, setup{bounds: engine.Bounds{StepCap: 2}, tools: []chat.Tool{instant("again", "x")}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "cut me" {
			return scripted.Reply{Frames: scripted.Words("as long as it is"), Reason: "length"}
		}
		return scripted.Calls(toolCall("again", `{}`))
	}}})
	id := r.create("go")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestStepCap || len(r.prompts()) != 2 {
		t.Errorf("%s (%s) after %d requests", v.Chat.State, v.Chat.RestReason, len(r.prompts()))
	}
	id = r.create("cut me")
	v = r.rest(id)
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestLength || v.Messages[1].FinishReason != "length" || v.Messages[1].Partial {
		t.Errorf("%s (%s) %+v", v.Chat.State, v.Chat.RestReason, v.Messages[1])
	}
}
