package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/openai/scripted"
	"holdfast/engine/slot"
)

func TestAReplyIsPutTogether(t *testing.T) {
	a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(scripted.Reply{
		Frames: []scripted.Frame{{Raw: ": a comment\nevent: x\nid: 7\n\n"}, {Reasoning: "Let me "}, {Delta: `{"reasoning":"see."}`}, {Text: "It is "},
			{Raw: "data:{\"choices\":[{\"delta\":{\"content\":\"well.\"}}]}\r\n\r\n"}, {Delta: `{"content":[{"type":"text","text":" Bye."}]}`}},
		Usage: `{"prompt_tokens":20,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":12},"completion_tokens_details":{"reasoning_tokens":2}}`,
		Extra: `"timings":{"cache_n":3,"prompt_ms":150.5,"predicted_ms":2000}`})}, "")
	h, reply, err := listen(t, a, ask("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if h.text != "It is well. Bye." || h.reasoning != "Let me see." || strings.Join(h.log, " ") != "reading_prompt streaming" {
		t.Errorf("%q, %q, %v", h.text, h.reasoning, h.log)
	}
	u := reply.Usage
	if reply.FinishReason != "stop" || *u.InputTokens != 20 || *u.OutputTokens != 6 || *u.TotalTokens != 26 || *u.CacheReadTokens != 12 ||
		*u.ReasoningTokens != 2 || *u.ContextLimit != 4096 || reply.Prompt != 150500*time.Microsecond || reply.Eval != 2*time.Second {
		t.Errorf("%+v", reply)
	}
}

func TestThinkTagsAreReasoning(t *testing.T) {
	a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(scripted.Reply{Frames: []scripted.Frame{{Text: "<th"}, {Text: "ink>why</think>\n\nSo."}}})}, "")
	if h, _, err := listen(t, a, ask("x")); err != nil || h.reasoning != "why" || h.text != "So." {
		t.Errorf("%q %q %v", h.reasoning, h.text, err)
	}
}

func TestCallsArePutTogether(t *testing.T) {
	one := `read_file{"path":"a"}`
	for name, c := range map[string]struct {
		frames []string
		want   string
		ids    string
	}{
		"by index": {[]string{`{"index":0,"id":"a","function":{"name":"read_file","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"path\":"}}`,
			`{"index":1,"id":"b","function":{"name":"ls","arguments":""}}`, `{"index":0,"function":{"arguments":"\"a\"}"}}`}, one + " ls{}", "a b"},
		"all of index 0, told apart by id": {[]string{`{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`,
			`{"index":0,"id":"b","function":{"name":"read_file","arguments":"{\"path\""}}`, `{"index":0,"function":{"arguments":":\"a\"}"}}`}, one + " " + one, "a b"},
		"all of index 0, whole and without ids": {[]string{`{"index":0,"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`,
			`{"index":0,"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`}, one + " " + one, "- -"},
		"no index, ids": {[]string{`{"id":"a","function":{"name":"read_file"}}`, `{"function":{"arguments":"{\"path\":\"a\"}"}}`,
			`{"id":"b","function":{"name":"ls","arguments":"{}"}}`}, one + " ls{}", "a b"},
		"neither index nor id": {[]string{`{"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`, `{"function":{"name":"ls","arguments":"{}"}}`},
			one + " ls{}", "- -"},
		"name and id in each piece": {[]string{`{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":"}}`,
			`{"index":0,"id":"a","function":{"name":"read_file","arguments":"\"a\"}"}}`, `{"index":0,"id":"a","function":{"name":"read_file","arguments":""}}`}, one, "a"},
		"the id comes late":            {[]string{`{"index":0,"function":{"name":"read_file","arguments":""}}`, `{"index":0,"id":"a","function":{"arguments":"{\"path\":\"a\"}"}}`}, one, "a"},
		"arguments as an object":       {[]string{`{"index":0,"id":"a","function":{"name":"read_file","arguments":{"path":"a"}}}`}, one, "a"},
		"no arguments at all":          {[]string{`{"index":0,"id":"a","function":{"name":"ls","arguments":null}}`}, "ls{}", "a"},
		"the same id twice":            {[]string{`{"index":0,"id":"a","function":{"name":"ls"}}`, `{"index":1,"id":"a","function":{"name":"ls"}}`}, "ls{} ls{}", "a -"},
		"an id of the prompt":          {[]string{`{"index":0,"id":"old","function":{"name":"ls"}}`}, "ls{}", "-"},
		"arguments that are no object": {[]string{`{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\": "}}`}, "read_file", "a"},
		"nothing in it":                {[]string{`{"index":0}`}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var r scripted.Reply
			for _, f := range c.frames {
				r.Frames = append(r.Frames, scripted.Frame{Call: f})
			}
			a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(r)}, "")
			req := ask("x")
			req.Messages = append(req.Messages, chat.PromptMessage{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "old", Name: "ls"}}},
				chat.PromptMessage{Role: chat.RoleTool, CallID: "old", ToolName: "ls", Content: "x"})
			h, _, err := listen(t, a, req)
			if err != nil || h.words() != c.want {
				t.Fatalf("%s, %v, want %s", h.words(), err, c.want)
			}
			var ids []string
			for _, made := range h.calls {
				id := made.ID
				if strings.HasPrefix(id, "call_") {
					id = "-"
				}
				ids = append(ids, id)
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("ids %s, want %s", got, c.ids)
			}
		})
	}
}

// TestEnds plays every way in which a stream ends: whole replies, and Faults that say what came before.
func TestEnds(t *testing.T) {
	words := scripted.Words("some words")
	for name, c := range map[string]struct {
		reply   scripted.Reply
		text    string
		reason  string
		fault   string
		started bool
		took    time.Duration
	}{
		"done":                        {scripted.Reply{Frames: words}, "some words", "stop", "", true, 0},
		"length":                      {scripted.Reply{Frames: words, Finish: "length"}, "some words", "length", "", true, 0},
		"a finish_reason, no [DONE]":  {scripted.Reply{Frames: words, End: scripted.EndFinish}, "some words", "stop", "", true, 0},
		"a finish_reason, then open":  {scripted.Reply{Frames: words, End: scripted.EndOpen}, "some words", "stop", "", true, drainLimit},
		"[DONE], no finish_reason":    {scripted.Reply{Frames: words, End: scripted.EndBare}, "some words", "stop", "", true, 0},
		"nothing of both":             {scripted.Reply{Frames: words, End: scripted.EndClean}, "some words", "", "without [DONE]", true, 0},
		"nothing at all":              {scripted.Reply{End: scripted.EndClean}, "", "", "without [DONE]", false, 0},
		"cut":                         {scripted.Reply{Frames: words, End: scripted.EndCut}, "some words", "", "broke off", true, 0},
		"bad JSON":                    {scripted.Reply{Frames: append(words, scripted.Frame{Raw: "data: {\"choices\":[{\n\n"})}, "some words", "", "unreadable", true, 0},
		"a line too long":             {scripted.Reply{Frames: []scripted.Frame{{Raw: "data: " + strings.Repeat("x", maxLine)}}}, "", "", "too long", false, 0},
		"half a line":                 {scripted.Reply{Frames: append(words, scripted.Frame{Raw: "data: {\"cho"}), End: scripted.EndClean}, "some words", "", "unreadable", true, 0},
		"no event in the middle":      {scripted.Reply{Frames: append(words, scripted.Frame{Raw: "Internal Server Error\n\n"})}, "some words", "", "no event", true, 0},
		"the engine gave up":          {scripted.Reply{Frames: words, Finish: "abort"}, "some words", "", "ended the reply: abort", true, 0},
		"an open think tag, then cut": {scripted.Reply{Frames: []scripted.Frame{{Text: "<thi"}}, End: scripted.EndClean}, "<thi", "", "without [DONE]", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(c.reply)}, "")
				began := time.Now()
				h, reply, err := listen(t, a, ask("x"))
				if h.text != c.text || reply.FinishReason != c.reason || time.Since(began) != c.took {
					t.Errorf("%q, %+v, after %v", h.text, reply, time.Since(began))
				}
				if c.fault == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				f := fault(t, err)
				if !strings.Contains(f.Error(), c.fault) || f.Started != c.started || !errors.Is(err, io.ErrUnexpectedEOF) || f.Address == "" {
					t.Errorf("%+v", f)
				}
				if !a.slots.Idle() {
					t.Error("the slot is kept")
				}
			})
		})
	}
}

// TestErrorsInTheStream: a broken stream yields no half calls, and the error is the server's own text.
func TestErrorsInTheStream(t *testing.T) {
	half := scripted.Frame{Call: `{"index":0,"id":"a","function":{"name":"ls","arguments":"{"}}`}
	for name, c := range map[string]struct {
		raw    string
		text   string
		status int
	}{
		"an object":         {`data: {"error":{"message":"boom","type":"server_error","code":500}}`, "boom (server_error)", 500},
		"a word as code":    {`data: {"error":{"message":"too long","code":"context_length_exceeded"}}`, "too long (context_length_exceeded)", 200},
		"a text":            {`data: {"error":"boom"}`, "boom", 200},
		"vLLM":              {`data: {"object":"error","message":"boom","type":"BadRequestError","code":400}`, "boom (BadRequestError)", 400},
		"beside a choice":   {`data: {"error":{"message":"boom"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "boom", 200},
		"older llama.cpp":   {`error: {"code":500,"message":"boom","type":"server_error"}`, "boom (server_error)", 500},
		"a field, no JSON":  {`error: boom`, "boom", 200},
		"LM Studio's event": {"event: error\ndata: {\"error\":{\"message\":\"boom\"}}", "boom", 200},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(scripted.Reply{Frames: []scripted.Frame{{Text: "so "}, half, {Raw: c.raw + "\n\n"}}})}, "")
			h, _, err := listen(t, a, ask("x"))
			f := fault(t, err)
			if f.Text != c.text || f.Status != c.status || !f.Started || len(h.calls) != 0 || h.text != "so " {
				t.Errorf("%+v, %+v", f, h)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reply  scripted.Reply
		status int
		text   string
		after  time.Duration
	}{
		"busy":              {scripted.Reply{Status: 429, Header: map[string]string{"Retry-After": "7"}, Body: `{"error":{"message":"slow down"}}`}, 429, "slow down", 7 * time.Second},
		"busy for ages":     {scripted.Reply{Status: 429, Header: map[string]string{"Retry-After": "1e300"}, Body: `{"error":{"message":"slow down"}}`}, 429, "slow down", mostSeconds * time.Second},
		"loading":           {scripted.Reply{Status: 503, Body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`}, 503, "Loading model (unavailable_error)", 0},
		"detail":            {scripted.Reply{Status: 404, Body: `{"detail":"Not Found"}`}, 404, "Not Found", 0},
		"a missing path":    {scripted.Reply{Status: 404, Body: "404 page not found"}, 404, "there is no /v1/chat/completions; look whether the base URL must end in /v1", 0},
		"a page":            {scripted.Reply{Status: 502, Body: "<html><h1>Bad Gateway"}, 502, "status 502 with a web page", 0},
		"an empty body":     {scripted.Reply{Status: 500}, 500, "status 500 without a text", 0},
		"plain text":        {scripted.Reply{Status: 400, Body: "no\xff"}, 400, "no\uFFFD", 0},
		"a redirect":        {scripted.Reply{Status: 307, Header: map[string]string{"Location": "https://other/v1"}}, 307, "the server points to another address (https://other/v1); enter that one as the base URL", 0},
		"LM Studio's 200":   {scripted.Reply{Body: `{"error":"Unexpected endpoint or method. (POST /x)"}`}, 404, "Unexpected endpoint or method. (POST /x)", 0},
		"a page with 200":   {scripted.Reply{Body: "<!doctype html>\n<p>hello"}, 404, "what answers there is not a model server", 0},
		"other JSON":        {scripted.Reply{Body: `{"status":"ok"}`}, 404, "what answers there gives no reply of a model", 0},
		"an error with 200": {scripted.Reply{Body: `{"error":{"message":"no"}}`}, 200, "no", 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := serve(t, scripted.Options{Answer: scripted.InTurn(c.reply)}, "")
			_, _, err := listen(t, a, ask("x"))
			if f := fault(t, err); f.Status != c.status || f.Text != c.text || f.RetryAfter != c.after || f.Started {
				t.Errorf("%+v", f)
			}
			if n := len(s.Requests("/v1/chat/completions")); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestAReplyInOnePiece(t *testing.T) {
	a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(scripted.Reply{Body: "{\n \"choices\": [{\"index\":0,\"finish_reason\":\"tool_calls\",\"message\":" +
		"{\"role\":\"assistant\",\"content\":\"Hm.\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}],\n" +
		"\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":7}}\n"})}, "")
	h, reply, err := listen(t, a, ask("x"))
	if err != nil || h.text != "Hm." || h.words() != "ls{}" || *reply.Usage.TotalTokens != 7 {
		t.Errorf("%+v %+v %v", h, reply, err)
	}
}

func TestCancelEndsTheCallWithItsCause(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"before the headers":      {Stall: true},
		"in the middle":           {Frames: scripted.Words("some words"), End: scripted.EndStall},
		"after the finish_reason": {Frames: scripted.Words("some words"), End: scripted.EndOpen},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(reply)}, "")
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := a.Stream(ctx, ask("x"), func(chat.Delta) error { return nil })
					ended <- err
				}()
				synctest.Wait()
				cancel(chat.CauseInterrupted)
				if err := <-ended; err != chat.CauseInterrupted {
					t.Errorf("%v", err)
				}
			})
		})
	}
	a, _ := serve(t, scripted.Options{}, "")
	stop := errors.New("enough")
	if _, err := a.Stream(t.Context(), ask("x"), func(chat.Delta) error { return stop }); err != stop || !a.slots.Idle() {
		t.Errorf("%v", err)
	}
}

func TestATurnTakesTheSlotOfAQuickCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Text("one two three")
		slow.Pace = time.Second
		a, _ := serve(t, scripted.Options{Answer: scripted.InTurn(slow)}, "")
		var wg sync.WaitGroup
		wg.Go(func() {
			quick := ask("q")
			quick.Class = chat.ClassQuick
			_, _, err := listen(t, a, quick)
			if f := fault(t, err); !errors.Is(err, slot.ErrPreempted) || f.Text != "busy" {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		if _, _, err := listen(t, a, ask("t")); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// TestTheKeyGoesToTheHeaderAlone has a server that says the key back in every way.
func TestTheKeyGoesToTheHeaderAlone(t *testing.T) {
	a, s := serve(t, scripted.Options{Key: canary}, canary)
	if _, _, err := listen(t, a, ask("x")); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Requests("/v1/chat/completions") {
		if r.Header.Get("Authorization") != "Bearer "+canary || strings.Contains(string(r.Body)+r.Path, canary) {
			t.Errorf("%+v", r)
		}
	}
	wrong := adapterTo(t, scripted.New(scripted.Options{Key: "another"}), canary)
	_, _, err := listen(t, wrong, ask("x"))
	if f := fault(t, err); f.Status != 401 || !strings.Contains(f.Text, "Invalid API Key: ***") {
		t.Errorf("%+v", f)
	}
	if status := wrong.Server(chat.NewSecret(canary)).Status(t.Context()); status.Reachable || strings.Contains(status.Problem, canary) {
		t.Errorf("%+v", status)
	}
	for _, r := range []scripted.Reply{{Frames: []scripted.Frame{{Raw: "data: {\"error\":\"" + canary + "\"}\n\n"}}}, {Status: 500, Body: canary},
		{Status: 302, Header: map[string]string{"Location": "http://x/?" + canary}}} {
		bad, _ := serve(t, scripted.Options{Answer: scripted.InTurn(r)}, canary)
		if _, _, err := listen(t, bad, ask("x")); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%v", err)
		}
	}
	odd := adapterTo(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 "+canary+"\r\n\r\n")
		_ = conn.Close()
	}), canary)
	if _, _, err := listen(t, odd, ask("x")); err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "***") {
		t.Errorf("%v", err)
	}
}

func TestWithoutItsKeyNothingIsSent(t *testing.T) {
	a, s := serve(t, scripted.Options{}, "")
	lost := &chat.Error{Kind: chat.KindAuth, Message: "The key must be entered again."}
	a.key = func(context.Context, chat.ModelConfigID) (chat.Secret, error) { return chat.Secret{}, lost }
	if _, _, err := listen(t, a, ask("x")); err != lost || len(s.Requests("/v1/chat/completions")) != 0 {
		t.Errorf("%v", err)
	}
}
