package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func TestStream(t *testing.T) {
	call := scripted.Call{Name: "read_file", Args: json.RawMessage(`{"path":"a b.txt"}`)}
	cases := []struct {
		name            string
		reply           scripted.Reply
		text, reasoning string
		calls           string
		finish          string
		output          int64
	}{
		{"text", scripted.Text("Hello, you there."), "Hello, you there.", "", `null`, "stop", 4},
		{"reasoning first", scripted.Reply{Frames: append(scripted.Thoughts("let me see"), scripted.Words("Done.")...)},
			"Done.", "let me see", `null`, "stop", 5},
		{"both in one frame", scripted.Reply{Frames: []scripted.Frame{{Thinking: "hm", Text: "yes"}}}, "yes", "hm", `null`, "stop", 2},
		{"a call of an old server has an id", scripted.Calls(call), "", "", `[{"id":"?","name":"read_file","args":{"path":"a b.txt"}}]`, "stop", 2},
		{"a call of a new server keeps its id", scripted.Calls(scripted.Call{ID: "call_abc12345", Name: "x", Args: call.Args}), "", "",
			`[{"id":"call_abc12345","name":"x","args":{"path":"a b.txt"}}]`, "stop", 2},
		{"two calls with one id", scripted.Calls(scripted.Call{ID: "c1", Name: "x"}, scripted.Call{ID: "c1", Name: "y"}), "", "",
			`[{"id":"c1","name":"x","args":{}},{"id":"?","name":"y","args":{}}]`, "stop", 3},
		{"arguments in a text", scripted.Calls(scripted.Call{ID: "c", Name: "x", Args: json.RawMessage(`"{\"a\":1}"`)}), "", "",
			`[{"id":"c","name":"x","args":{"a":1}}]`, "stop", 2},
		{"arguments that are no object", scripted.Calls(scripted.Call{ID: "c", Name: "x", Args: json.RawMessage(`[1]`)}), "", "",
			`[{"id":"c","name":"x","args":null}]`, "stop", 2},
		{"text, then a call", scripted.Reply{Frames: []scripted.Frame{{Text: "I look."}, {Calls: []scripted.Call{{ID: "c", Name: "x"}}}}},
			"I look.", "", `[{"id":"c","name":"x","args":{}}]`, "stop", 3},
		{"a tag before the call", scripted.Reply{Frames: []scripted.Frame{{Text: "<tool_call>"}, {Calls: []scripted.Call{{ID: "c", Name: "x"}}}}},
			"", "", `[{"id":"c","name":"x","args":{}}]`, "stop", 3},
		{"a tag that is all", scripted.Reply{Frames: []scripted.Frame{{Text: "<tool_call>"}}}, "<tool_call>", "", `null`, "stop", 2},
		{"a tag in prose", scripted.Reply{Frames: []scripted.Frame{{Text: "<tool_call>"}, {Text: " is a tag"}}}, "<tool_call> is a tag", "", `null`, "stop", 3},
		{"length", scripted.Reply{Frames: scripted.Words("a b c"), Reason: "length"}, "a b c", "", `null`, "length", 4},
		{"endless", scripted.Endless("again "), strings.Repeat("again ", 250), "", `null`, "length", 501},
		{"swallowed", scripted.Swallowed(), "", "", `null`, "stop", 24},
		{"empty", scripted.Empty(), "", "", `null`, "stop", 1},
		{"content in the last frame", scripted.Reply{Frames: []scripted.Frame{{Raw: `{"message":{"content":"all"},"done":true,"done_reason":"stop","eval_count":9}` + "\n"}}},
			"all", "", `null`, "stop", 9},
		{"a rune over two frames", scripted.Reply{Frames: []scripted.Frame{{Raw: "{\"message\":{\"content\":\"ok \xf0\x9f\"}}\n"},
			{Raw: "{\"message\":{\"content\":\"\x91\x8d\\n!\"}}\n"}}}, "ok 👍\n!", "", `null`, "stop", 3},
		{"a rune that never ends", scripted.Reply{Frames: []scripted.Frame{{Raw: "{\"message\":{\"content\":\"a\xf0\x9f\"}}\n"}}}, "a\uFFFD", "", `null`, "stop", 2},
		{"bytes that are no runes", scripted.Reply{Frames: []scripted.Frame{{Raw: "{\"message\":{\"thinking\":\"a\xffb\"}}\n"}}}, "", "a\uFFFDb", `null`, "stop", 2},
		{"reasoning in the text", scripted.Reply{Frames: []scripted.Frame{{Text: "<thi"}, {Text: "nk>why"}, {Text: " not</"}, {Text: "think>\n\nSo."}}},
			"So.", "why not", `null`, "stop", 5},
		{"a tag that is text", scripted.Reply{Frames: []scripted.Frame{{Text: "<thi"}, {Text: "ng> and <think>"}}}, "<thing> and <think>", "", `null`, "stop", 3},
		{"a long line", scripted.Reply{Frames: []scripted.Frame{{Long: 1 << 20}}}, strings.Repeat("x", 1<<20), "", `null`, "stop", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := serve(t, Options{}, model(c.reply))
				req := ask("go")
				req.Tools = []chat.ToolDef{{Name: "x", Schema: json.RawMessage(`{"type":"object"}`)}}
				h, reply, err := listen(t, t.Context(), a, req)
				if err != nil {
					t.Fatal(err)
				}
				if h.text != c.text || h.reasoning != c.reasoning {
					t.Errorf("text %.80q, reasoning %.80q", h.text, h.reasoning)
				}
				for i := range h.calls {
					if strings.HasPrefix(h.calls[i].ID, "call_") && len(h.calls[i].ID) == 13 && h.calls[i].ID != "call_abc12345" {
						h.calls[i].ID = "?"
					}
				}
				if got, _ := json.Marshal(h.calls); string(got) != c.calls {
					t.Errorf("calls %s", got)
				}
				if reply.FinishReason != c.finish || *reply.Usage.OutputTokens != c.output || *reply.Usage.ContextLimit != 4096 {
					t.Errorf("finish %q, output %d, window %d", reply.FinishReason, *reply.Usage.OutputTokens, *reply.Usage.ContextLimit)
				}
			})
		})
	}
}

func TestMisbehaviour(t *testing.T) {
	words := scripted.Words("one two")
	cases := []struct {
		name    string
		reply   scripted.Reply
		status  int
		text    string
		cut     bool
		started bool
		after   time.Duration
	}{
		{"ends without done", scripted.Reply{Frames: words, End: scripted.EndClean}, 0, "broke off", true, true, 0},
		{"nothing at all", scripted.Reply{End: scripted.EndClean}, 0, "broke off", true, false, 0},
		{"cut", scripted.Reply{Frames: words, End: scripted.EndCut}, 0, "broke off", true, true, 0},
		{"cut before the headers", scripted.Reply{End: scripted.EndCut}, 0, "no answer", true, false, 0},
		{"bad JSON", scripted.Reply{Frames: append(words[:1:1], scripted.Frame{Raw: "}{\n"})}, 0, "broke off", true, true, 0},
		{"half a line", scripted.Reply{Frames: []scripted.Frame{{Raw: `{"message":{"content":"hal`}}, End: scripted.EndClean}, 0, "broke off", true, false, 0},
		{"half a line, cut", scripted.Reply{Frames: []scripted.Frame{{Raw: `{"message":{"content":"hal`}}, End: scripted.EndCut}, 0, "broke off", true, false, 0},
		{"a line of 100 MB", scripted.Reply{Frames: []scripted.Frame{{Text: "a"}, {Long: 100 << 20}}}, 0, "broke off", false, true, 0},
		{"error line", scripted.RunnerDied(words...), 200, "unexpected EOF", false, true, 0},
		{"error line at once", scripted.RepeatLimit(), 200, "token repeat limit reached", false, false, 0},
		{"parser error line", scripted.ParserErrorLine(words...), 200, "error parsing tool call", false, true, 0},
		{"parser error", scripted.ParserError(), 500, "error parsing tool call", false, false, 0},
		{"too long a prompt", scripted.Overflow(), 400, "the input length exceeds the context length", false, false, 0},
		{"too long a prompt, new", scripted.OverflowNew(), 400, "context length currently available", false, false, 0},
		{"out of memory", scripted.OutOfMemory(), 500, "requires more system memory", false, false, 0},
		{"runner failed", scripted.RunnerFailed(), 500, "llama runner process has terminated", false, false, 0},
		{"queue full", scripted.QueueFull("7"), 503, "server busy", false, false, 7 * time.Second},
		{"queue full for ages", scripted.QueueFull("18446744073710"), 503, "server busy", false, false, mostSeconds * time.Second},
		{"queue full since long", scripted.QueueFull("-9223372037"), 503, "server busy", false, false, 0},
		{"queue full, no time", scripted.QueueFull(""), 503, "server busy", false, false, 0},
		{"empty 500", scripted.EmptyFailure(), 500, "status 500 without a text", false, false, 0},
		{"not found", scripted.Reply{Status: 404, Error: "gone"}, 404, "gone", false, false, 0},
		{"refused", scripted.Reply{Status: 400, Error: "invalid option"}, 400, "invalid option", false, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := serve(t, Options{}, model(c.reply))
				_, _, err := listen(t, t.Context(), a, ask("go"))
				f := fault(t, err)
				if f.Status != c.status || f.Started != c.started || f.RetryAfter != c.after || f.Loading {
					t.Errorf("status %d, started %v, after %v, loading %v", f.Status, f.Started, f.RetryAfter, f.Loading)
				}
				if !strings.Contains(f.Text, c.text) || f.Address != "scripted.internal" {
					t.Errorf("text %q, address %q", f.Text, f.Address)
				}
				if cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); cut != c.cut {
					t.Errorf("cut is %v: %v", cut, err)
				}
			})
		})
	}
}

func TestPartialIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, model(scripted.Reply{Frames: scripted.Words("half a sen"), End: scripted.EndCut}))
		h, _, err := listen(t, t.Context(), a, ask("go"))
		if fault(t, err); h.text != "half a sen" {
			t.Errorf("%q", h.text)
		}
	})
}

func TestUnknownModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{})
		_, _, err := listen(t, t.Context(), a, ask("go"))
		if f := fault(t, err); f.Status != http.StatusNotFound || !strings.Contains(f.Text, "not found") {
			t.Error(f)
		}
	})
}

func TestNoTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, scripted.Model{Name: "m", Capabilities: []string{"completion"}})
		req := ask("go")
		req.Tools = []chat.ToolDef{{Name: "execute", Schema: json.RawMessage(`{}`)}}
		req.Think = "true"
		_, _, err := listen(t, t.Context(), a, req)
		if f := fault(t, err); f.Status != http.StatusBadRequest || !strings.Contains(f.Text, "does not support tools") {
			t.Error(f)
		}
		req.Tools = nil
		if h, _, err := listen(t, t.Context(), a, req); err != nil || h.text != scripted.Fallback {
			t.Errorf("a model that cannot think was asked to: %v", err)
		}
	})
}

func TestOverflowIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, model(scripted.Text("hi")))
		req := ask(strings.Repeat("word ", 3000))
		req.Options.NumCtx = 512
		_, _, err := listen(t, t.Context(), a, req)
		if f := fault(t, err); f.Status != http.StatusBadRequest || !strings.Contains(f.Text, "exceeds the context") {
			t.Error(f)
		}
	})
}

func TestWindowIsClamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := serve(t, Options{}, scripted.Model{Name: "m", Window: 2048})
		_, reply, err := listen(t, t.Context(), a, ask("go"))
		if err != nil || *reply.Usage.ContextLimit != 2048 {
			t.Fatalf("%v, window %d", err, *reply.Usage.ContextLimit)
		}
		if body := string(s.Requests("/api/chat")[0].Body); !strings.Contains(body, `"num_ctx":2048,`) {
			t.Error(body)
		}
	})
}

func TestCancel(t *testing.T) {
	reason := chat.CauseInterrupted
	cases := map[string]scripted.Reply{
		"before the headers": {Stall: true},
		"in the middle":      {Frames: scripted.Words("a b c"), End: scripted.EndStall},
		"after the headers":  {Frames: []scripted.Frame{{Raw: "\n"}}, End: scripted.EndStall},
	}
	for name, reply := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := serve(t, Options{}, model(reply))
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(30*time.Second, func() { cancel(reason) })
				_, _, err := listen(t, ctx, a, ask("go"))
				if err != error(reason) {
					t.Errorf("%v", err)
				}
				if n := a.Status(t.Context()).Queue; n != 0 || !a.slots.Idle() {
					t.Error("the slot is kept")
				}
			})
		})
	}
}

func TestYieldEndsTheCall(t *testing.T) {
	stop := errors.New("enough")
	for _, at := range []chat.Phase{chat.PhaseReading, chat.PhaseLoading, chat.PhaseStreaming} {
		t.Run(string(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := model(scripted.Endless("more "))
				m.Load = time.Minute
				a, _ := serve(t, Options{}, m)
				_, err := a.Stream(t.Context(), ask("go"), func(d chat.Delta) error {
					if d.Phase == at {
						return stop
					}
					return nil
				})
				if err != stop {
					t.Error(err)
				}
			})
		})
	}
}

func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(scripted.Reply{Before: 5 * time.Second, Frames: []scripted.Frame{{Text: "hi"}, {Calls: []scripted.Call{{Name: "x"}}}}})
		m.Load = 10 * time.Second
		a, _ := serve(t, Options{}, m)
		began := time.Now()
		h, _, err := listen(t, t.Context(), a, ask("go"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "reading_prompt, loading_model, reading_prompt, streaming, call x"; h.phases() != want {
			t.Errorf("%s", h.phases())
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("the watch of the load delayed the reply: %v", took)
		}
		if h, _, _ = listen(t, t.Context(), a, ask("go")); h.phases() != "reading_prompt, streaming, call x" {
			t.Errorf("warm: %s", h.phases())
		}
	})
}

// TestLoadingOfAListedModel: the server lists the model before it is loaded, but its expiry moves with the clock.
func TestLoadingOfAListedModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(scripted.Reply{Before: 5 * time.Second, Frames: scripted.Words("hi")})
		m.Load, m.Early = 10*time.Second, true
		a, _ := serve(t, Options{}, m)
		h, _, err := listen(t, t.Context(), a, ask("go"))
		if want := "reading_prompt, loading_model, reading_prompt, streaming"; err != nil || h.phases() != want {
			t.Errorf("%v: %s", err, h.phases())
		}
	})
}

func TestFaultWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(scripted.OutOfMemory())
		m.Load = 3500 * time.Millisecond
		a, _ := serve(t, Options{}, m)
		_, _, err := listen(t, t.Context(), a, ask("go"))
		if f := fault(t, err); !f.Loading {
			t.Error("not marked as loading")
		}
	})
}

func TestUnreachable(t *testing.T) {
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseURL(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	a := New(Options{URL: u, Client: &http.Client{}})
	_, _, err = listen(t, t.Context(), a, ask("go"))
	if f := fault(t, err); f.Status != 0 || f.Err == nil || !strings.Contains(f.Error(), "connection refused") {
		t.Errorf("%v", f)
	}
	if s := a.Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "does not answer") {
		t.Errorf("%+v", s)
	}
}

func TestSilentCapabilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		running := scripted.Memory(stall)
		defer running.Close()
		u, _ := ParseURL(running.URL)
		a := New(Options{URL: u, Client: running.Client})
		_, _, err := listen(t, t.Context(), a, ask("go"))
		if f := fault(t, err); !strings.Contains(f.Text, "in time") {
			t.Error(f)
		}
	})
}
