package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// diary notes the order in which Calls begin and end.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// timed is a probe that takes n seconds of the bubble's time, as its arguments say.
func (d *diary) timed(name string, writes bool) *probe {
	p := &probe{name: name, writes: writes}
	p.run = func(ctx context.Context, _ chat.Env, args json.RawMessage) chat.Result {
		var in struct{ N int }
		if err := json.Unmarshal(args, &in); err != nil {
			return chat.Result{Content: err.Error(), IsError: true}
		}
		d.note("%s %d begins", name, in.N)
		timer := time.NewTimer(time.Duration(in.N) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		d.note("%s %d ends", name, in.N)
		return chat.Result{Content: fmt.Sprint(in.N)}
	}
	return p
}

func TestCase32ResultsInCallOrderWithTheirOwnTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		r := newRig(t, setup{tools: []chat.Tool{d.timed("take", false)}, model: scripted.Model{Answer: answers(
			scripted.Reply{Before: 7 * time.Second, Frames: scripted.Calls(toolCall("take", `{"n":5}`), toolCall("take", `{"n":2}`)).Frames},
			scripted.Text("done"))}})
		id := r.create("go")
		v := r.rest(id)
		said(t, v, "user: go", `assistant: take({"n":5}) take({"n":2})`, `tool: take = 5`, `tool: take = 2`, "assistant: done")
		took := func(i int) time.Duration {
			p := v.Messages[i].Content[0]
			return p.CompletedAt.Sub(*p.CreatedAt)
		}
		if took(2) != 5*time.Second || took(3) != 2*time.Second || !v.Messages[2].Content[0].CreatedAt.Equal(*v.Messages[3].Content[0].CreatedAt) {
			t.Errorf("the calls took %s and %s", took(2), took(3))
		}
		if ms := *v.Messages[1].RuntimeMS; ms != 12000 {
			t.Errorf("runtime_ms is %d, want the model's 7 s and the tools' 5 s", ms)
		}
		if v.Messages[2].Content[0].CallID == v.Messages[3].Content[0].CallID {
			t.Error("two calls have one id")
		}
	})
}

// TestWritesInABatch: a Call that writes waits for all before it and holds up all behind it.
func TestWritesInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		r := newRig(t, setup{tools: []chat.Tool{d.timed("read", false), d.timed("write", true)}, model: scripted.Model{Answer: answers(
			scripted.Calls(toolCall("read", `{"n":3}`), toolCall("read", `{"n":1}`), toolCall("write", `{"n":2}`), toolCall("write", `{"n":1}`),
				toolCall("read", `{"n":4}`)), scripted.Text("done"))}})
		r.rest(r.create("go"))
		got := strings.Join(d.lines[2:], ", ")
		want := "read 1 ends, read 3 ends, write 2 begins, write 2 ends, write 1 begins, write 1 ends, read 4 begins, read 4 ends"
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// TestAtMostEightCallsAtOnce: the ninth waits.
func TestAtMostEightCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		var calls []scripted.Call
		for range 9 {
			calls = append(calls, toolCall("take", `{"n":1}`))
		}
		r := newRig(t, setup{tools: []chat.Tool{d.timed("take", false)},
			model: scripted.Model{Answer: answers(scripted.Calls(calls...), scripted.Text("done"))}})
		begun := time.Now()
		r.rest(r.create("go"))
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("nine calls of a second took %s", took)
		}
	})
}

func TestCase33PanicInATool(t *testing.T) {
	boom := &probe{name: "boom", run: func(context.Context, chat.Env, json.RawMessage) chat.Result { panic("no luck") }}
	r := newRig(t, setup{tools: []chat.Tool{boom, instant("fine", "ok")}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("boom", `{}`), toolCall("fine", `{}`)), scripted.Text("done"))}})
	v := r.rest(r.create("go"))
	said(t, v, "user: go", "assistant: boom({}) fine({})", `tool: boom = {"error":"tool panicked: no luck"}`, `tool: fine = {"output":"ok"}`,
		"assistant: done")
	if !v.Messages[2].Content[0].IsError || v.Messages[3].Content[0].IsError {
		t.Error("the wrong result is an error")
	}
}

func TestCase34UnknownAndBadCalls(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("read_fil", `{"path":"x"}`), toolCall("read_file", `{"path":7}`), toolCall("Read-File", `{"path":"a.txt","offset":"1"}`)),
		scripted.Reply{Frames: []scripted.Frame{{Raw: `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":"{\"path\": \"a"}}]}}` + "\n"}}},
		scripted.Text("done"))}})
	r.write("a.txt", "line\n")
	v := r.rest(r.create("go"))
	results := map[string]string{}
	for i, m := range v.Messages {
		if m.Role == chat.RoleTool {
			results[fmt.Sprint(i)] = string(m.Content[0].Result)
		}
	}
	unknown := `{"error":"unknown tool \"read_fil\". Available tools: execute, process_output, process_list, process_signal, read_file, write_file, edit_files, list_files, search_files, ` + strings.Join(chatTools, ", ") + `, attach_file."}`
	if results["2"] != unknown {
		t.Errorf("unknown: %s", results["2"])
	}
	if got := results["3"]; !strings.HasPrefix(got, `{"error":"invalid arguments for \"read_file\": `) || !strings.Contains(got, `Expected: {\"type\":\"object\"`) {
		t.Errorf("bad arguments: %s", got)
	}
	if got := results["4"]; !strings.Contains(got, "line") || strings.Contains(got, "error") {
		t.Errorf("a name in another form and a number as text: %s", got)
	}
	if got := results["6"]; !strings.HasPrefix(got, `{"error":"invalid arguments for \"read_file\": `) {
		t.Errorf("truncated arguments: %s", got)
	}
	if last := v.Messages[len(v.Messages)-1]; chat.PlainText(last.Content) != "done" {
		t.Errorf("the turn ended with %s", transcript(v.Messages))
	}
}

// TestCase34ExecuteThatOutlivesItsTimeout: the process goes on and is known by its id to the other Tools.
func TestCase34ExecuteThatOutlivesItsTimeout(t *testing.T) {
	var process string
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		results := p.Results()
		switch len(results) {
		case 0:
			return scripted.Calls(toolCall("execute", `{"command":"echo begun; sleep 600","timeout":"1s"}`))
		case 1:
			var out struct {
				ID string `json:"process_id"`
			}
			if err := json.Unmarshal([]byte(results[0].Content), &out); err != nil {
				return scripted.Text("unreadable: " + results[0].Content)
			}
			process = out.ID
			return scripted.Calls(toolCall("process_output", `{"process_id":"`+out.ID+`","wait_timeout":"0s"}`), toolCall("process_signal", `{"process_id":"`+out.ID+`","signal":"kill"}`))
		}
		return scripted.Text("done")
	}}})
	v := r.rest(r.create("go"))
	got := transcript(v.Messages)
	for _, want := range []string{`"success":false`, `"exit_code":-1`, "begun"} {
		if !strings.Contains(string(v.Messages[2].Content[0].Result), want) {
			t.Errorf("execute: no %s in %s", want, v.Messages[2].Content[0].Result)
		}
	}
	if process == "" || len(v.Messages) != 7 {
		t.Fatalf("%s", got)
	}
	for _, m := range v.Messages[4:6] {
		if m.Content[0].IsError {
			t.Errorf("%s refused the process: %s", m.Content[0].ToolName, m.Content[0].Result)
		}
	}
}

func TestCase27BytesThatAreNoText(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("odd", "bad \xff\xfe bytes")}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("odd", `{}`)), scripted.Text("done"))}})
	id := r.create("nul \x00 here \xff")
	v := r.rest(id)
	said(t, v, "user: nul \x00 here \uFFFD", "assistant: odd({})", "tool: odd = {\"output\":\"bad \uFFFD bytes\"}", "assistant: done")
	for _, q := range r.server.Requests("/api/chat") {
		if strings.Contains(string(q.Body), `\u0000`) || strings.Contains(string(q.Body), "\x00") {
			t.Error("a NUL went to the model")
		}
	}
}

func TestCase29ALargeResultIsCutOnce(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("big", strings.Repeat("é", 500_000))}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("big", `{}`)), scripted.Text("done"))}})
	v := r.rest(r.create("go"))
	p := v.Messages[2].Content[0]
	var out struct{ Output string }
	if err := json.Unmarshal(p.Result, &out); err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(out.Output, "\n[... ")
	_, tail, _ = strings.Cut(tail, " ...]\n")
	if !ok || !p.Truncated || p.FullBytes != 1_000_000 || len(head)+len(tail) > 32768 || len(head) < 2*len(tail)-4 || strings.Trim(head+tail, "é") != "" {
		t.Errorf("head %d, tail %d, truncated %v, full %d", len(head), len(tail), p.Truncated, p.FullBytes)
	}
}

// TestLiveOutputIsSeenBeforeTheResult: what a command prints shows in the Draft while it runs.
func TestLiveOutputIsSeenBeforeTheResult(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("execute", `{"command":"echo here it comes; while [ ! -e go ]; do sleep 0.05; done; echo gone"}`)), scripted.Text("done"))}})
	id := r.create("go")
	r.until(id, "live output", func(v engine.View) bool {
		return v.Draft != nil && v.Draft.Phase == chat.PhaseRunningTools && len(v.Draft.Parts) == 2 && strings.Contains(v.Draft.Parts[1].Live, "here it comes")
	})
	r.write("go", "")
	v := r.rest(id)
	if got := string(v.Messages[2].Content[0].Result); !strings.Contains(got, `here it comes\ngone`) {
		t.Errorf("%s", got)
	}
}
