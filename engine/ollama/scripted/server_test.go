package scripted

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func post(t *testing.T, r *Running, path, body string) (int, string) {
	t.Helper()
	resp, err := r.Client.Post(r.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func memory(t *testing.T, o Options) (*Running, *Server) {
	t.Helper()
	s := New(o)
	r := Memory(s)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, s
}

// TestScriptsAreChosen follows a Turn: text, results, how often.
func TestScriptsAreChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Model{Name: "m", Scripts: []Script{
			{User: "go", Results: 0, Times: 1, Reply: Text("first")},
			{User: "go", Results: 0, Reply: Text("again")},
			{User: "go", Results: 1, Reply: Text("one result")},
			{Contains: "part", Results: Any, Reply: Text("partly")},
		}}
		r, s := memory(t, Options{Models: []Model{m}, Record: true})
		user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
		const called = `,{"role":"assistant","tool_calls":[{"function":{"name":"x","arguments":{}}}]},{"role":"tool","content":"ok"}`
		for _, c := range []struct{ messages, want string }{
			{user("go"), "first"}, {user("go"), "again"}, {user("go") + called, "one result"}, {user("go") + called + called, Fallback},
			{user("a part of it") + called, "partly"}, {user("a") + called + "," + user("go"), "again"},
			{user("go") + called + "," + user("Your last reply was empty. Answer in text or call a tool."), "one result"},
			{`{"role":"system","content":"x"}`, Fallback},
		} {
			status, body := post(t, r, "/api/chat", `{"model":"m","messages":[`+c.messages+`]}`)
			if got := content(t, body); status != http.StatusOK || got != c.want {
				t.Errorf("%s: %d, %q", c.messages, status, got)
			}
		}
		if n := len(s.Requests("/api/chat")); n != 8 {
			t.Errorf("%d recorded", n)
		}
	})
}

func content(t *testing.T, body string) string {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(body) {
		var f wireFrame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text.WriteString(f.Message.Content)
	}
	return text.String()
}

func TestWindowIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := memory(t, Options{Models: []Model{{Name: "m", Answer: func(*Prompt) Reply { return Endless("more") }}}})
		long := `"messages":[{"role":"user","content":"` + strings.Repeat("x", 3000) + `"}]`
		if status, body := post(t, r, "/api/chat", `{"model":"m","truncate":false,"options":{"num_ctx":500},`+long+`}`); status != 400 || !strings.Contains(body, overflowText) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := post(t, r, "/api/chat", `{"model":"m","options":{"num_ctx":500},`+long+`}`); status != 200 || !strings.Contains(body, `"prompt_eval_count":500`) {
			t.Errorf("it is not cut: %d %s", status, body)
		}
		_, body := post(t, r, "/api/chat", `{"model":"m","truncate":false,"options":{"num_ctx":1200,"num_predict":9999},`+long+`}`)
		if !strings.Contains(body, `"done_reason":"length"`) || strings.Count(body, "more") != 1200-1003 {
			t.Errorf("%d pieces", strings.Count(body, "more"))
		}
		if _, body = post(t, r, "/api/chat", `{"model":"m","options":{"num_predict":7},"messages":[]}`); strings.Count(body, "more") != 7 {
			t.Errorf("%s", body)
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := memory(t, Options{Models: []Model{{Name: "m", Capabilities: []string{"completion"}}, {Name: "thinks"}}})
		for _, c := range []struct {
			path, body string
			status     int
			says       string
		}{
			{"/api/chat", `{"model":"m","tools":[{"function":{"name":"x"}}]}`, 400, "does not support tools"},
			{"/api/chat", `{"model":"m","think":true}`, 400, "does not support thinking"},
			{"/api/chat", `{"model":"thinks","think":"high"}`, 400, "is not supported for this model"},
			{"/api/chat", `{"model":"m","think":false}`, 200, "script"},
			{"/api/chat", `{"model":"nope"}`, 404, "try pulling it first"},
			{"/api/chat", ``, 400, "missing request body"},
			{"/api/chat", `{`, 400, "unexpected EOF"},
			{"/api/show", `{"model":"nope"}`, 404, "not found"},
			{"/api/create", `{"model":"x","files":{"a":"sha256:00"}}`, 400, "does not exist"},
			{"/api/create", `{"model":"x"}`, 400, "neither"},
			{"/api/blobs/sha256:00", "bytes", 400, "mismatch"},
		} {
			if status, body := post(t, r, c.path, c.body); status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%s %s: %d %s", c.path, c.body, status, body)
			}
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := memory(t, Options{Models: []Model{{Name: "m", Load: time.Second, Pace: 10 * time.Millisecond,
			Answer: func(*Prompt) Reply { return Text("a b c d") }}}})
		for _, want := range []time.Duration{1040 * time.Millisecond, 40 * time.Millisecond} {
			began := time.Now()
			post(t, r, "/api/chat", `{"model":"m","messages":[]}`)
			if took := time.Since(began); took != want {
				t.Errorf("%v, want %v", took, want)
			}
		}
	})
}

// TestClientLeaves: a stalled or endless reply ends when nobody listens; the bubble fails if anything is left.
func TestClientLeaves(t *testing.T) {
	for name, reply := range map[string]Reply{"stall": {Stall: true}, "endless": {Frames: Words("x"), Loop: true}, "stall at the end": {End: EndStall}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := memory(t, Options{Models: []Model{{Name: "m", Window: 1 << 40, Pace: time.Second, Answer: func(*Prompt) Reply { return reply }}}})
				c := *r.Client
				c.Timeout = time.Minute
				resp, err := c.Post(r.URL+"/api/chat", "application/json", strings.NewReader(`{"model":"m","options":{"num_ctx":1000000},"messages":[]}`))
				if err != nil {
					return
				}
				defer resp.Body.Close()
				if _, err := io.ReadAll(resp.Body); err == nil {
					t.Error("the reply ended")
				}
			})
		})
	}
}

func TestListen(t *testing.T) {
	r, err := Listen("127.0.0.1:0", New(Options{Models: []Model{Demo()}}))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.Client.Get(r.URL + "/api/tags")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Contains(b, []byte(DemoName)) {
		t.Errorf("%v: %s", err, b)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Listen(strings.TrimPrefix(r.URL, "http://"), http.NotFoundHandler()); err == nil {
		t.Error("a taken port was taken again")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
