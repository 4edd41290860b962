//go:build e2e

package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/gguf"
	"holdfast/engine/slot"
)

// server is the real model server of all tests here.
type server struct {
	*gguf.Server
	file []byte
}

func startReal(t *testing.T) (*Adapter, *server) {
	t.Helper()
	file, err := gguf.File(gguf.Scripts())
	if err != nil {
		t.Fatal(err)
	}
	s, err := gguf.Start(t.Context(), os.Getenv(gguf.BinaryEnv), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, template := range map[string]string{"scripted": gguf.Template, "plain": gguf.PlainTemplate} {
		if err := s.Install(t.Context(), name, file, template); err != nil {
			t.Fatal(err)
		}
	}
	u, err := ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{URL: u, Client: &http.Client{Transport: &http.Transport{DisableCompression: true}}, TempDir: t.TempDir()}), &server{s, file}
}

func offers() []chat.ToolDef {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"a path"}},"required":["path"]}`)
	return []chat.ToolDef{{Name: "read_file", Description: "Read.", Schema: schema}, {Name: "list_files", Description: "List.", Schema: schema},
		{Name: "process_list", Description: "List processes.", Schema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)}}
}

func request(text string) *chat.Request {
	req := ask(text)
	req.Model, req.Tools, req.System, req.Think = "scripted", offers(), "You are Holdfast.", "false"
	return req
}

func TestRealServer(t *testing.T) {
	a, s := startReal(t)
	t.Run("management", func(t *testing.T) { realManagement(t, a, s) })
	t.Run("replies", func(t *testing.T) { realReplies(t, a) })
	t.Run("tool call, result, final text", func(t *testing.T) { realTurn(t, a) })
	t.Run("length and window", func(t *testing.T) { realLimits(t, a) })
	t.Run("cancel", func(t *testing.T) { realCancel(t, a) })
	t.Run("small calls cut", func(t *testing.T) { realCut(t, a) })
	t.Run("queue", func(t *testing.T) { realQueue(t, a) })
	t.Run("refusals", func(t *testing.T) { realRefusals(t, a) })
	t.Run("runner killed", func(t *testing.T) { realKill(t, a, s) })
	t.Run("server gone", func(t *testing.T) { realGone(t, a, s) })
}

func realManagement(t *testing.T, a *Adapter, s *server) {
	st := a.Status(t.Context())
	if !st.Reachable || st.Problem != "" || st.MemoryBytes < 1<<30 {
		t.Errorf("%+v", st)
	}
	list, err := a.Installed(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	for _, m := range list {
		if m.TrainedWindow != 65536 || m.SuggestedWindow != 32768 || m.Fits == nil || !*m.Fits || m.Family != "llama" || m.Digest == "" {
			t.Errorf("%+v", m)
		}
		full := m.Name == "scripted:latest"
		if m.Can("tools") != full || m.Can("thinking") != full || !m.Can("completion") {
			t.Errorf("%s can %v", m.Name, m.Capabilities)
		}
	}
	// The server asks a registry that nothing answers for; what it says depends on the network, that it fails does not.
	err = a.Pull(t.Context(), "127.0.0.1:1/no/such", func(chat.Progress) {})
	var e *chat.Error
	if !errors.As(err, &e) || e.Message == "" || e.Detail == "" {
		t.Errorf("pull: %v", err)
	}
	if err := a.Import(t.Context(), "imported", bytes.NewReader(s.file), int64(len(s.file)), func(chat.Progress) {}); err != nil {
		t.Fatal(err)
	}
	other := append(bytes.Clone(s.file), make([]byte, 32)...)
	var seen []string
	if err := a.Import(t.Context(), "longer", readFunc(bytes.NewReader(other).Read), int64(len(other)), func(p chat.Progress) {
		seen = append(seen, p.Status)
	}); err != nil || seen[len(seen)-1] != "success" {
		t.Errorf("import without seeking: %v, %v", err, seen)
	}
	broken := append([]byte("GGUF"), "rubbish"...)
	if err := a.Import(t.Context(), "broken", bytes.NewReader(broken), int64(len(broken)), func(chat.Progress) {}); !errors.As(err, &e) {
		t.Errorf("a broken file: %v", err)
	}
	list, err = a.Installed(t.Context())
	if err != nil || len(list) != 4 || !slices.ContainsFunc(list, func(m chat.InstalledModel) bool { return m.Name == "imported:latest" }) {
		t.Errorf("%v, %+v", err, list)
	}
	for _, name := range []string{"imported", "longer"} {
		if err := a.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if err := a.Delete(t.Context(), "imported"); kindOf(err) != chat.KindNotFound {
		t.Error(err)
	}
}

func realReplies(t *testing.T, a *Adapter) {
	for _, c := range []struct{ user, think, text, reasoning, calls string }{
		{"say hello", "false", "Hello! I am a scripted model and I reply in several chunks.", "", ""},
		{"tell me a joke", "false", gguf.Fallback, "", ""},
		{"think", "true", "Hi there, friend.", "The user wants a greeting.", ""},
		{"think and read", "true", "", "I need that file.", `read_file {"offset":2,"path":"hello.txt"}`},
		{"think and read at once", "true", "", "Quick.", `read_file {"path":"b.txt"}`},
		{"two calls", "false", "", "", `read_file {"offset":1,"path":"hello.txt"}; list_files {"depth":1,"path":"."}`},
		{"look and read", "false", "I look around first. ", "", `list_files {"path":"."}`},
		{"swallowed call", "false", "", "", ""},
		{"half a call", "false", "", "", ""},
		{"empty", "false", "", "", ""},
		{"call as text", "false", "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"hello.txt\"}}\n```", "", ""},
		{"emoji", "false", "ok 👍 done", "", ""},
	} {
		req := request(c.user)
		req.Think = c.think
		h, reply, err := listen(t, t.Context(), a, req)
		if err != nil {
			t.Errorf("%s: %v", c.user, err)
			continue
		}
		var calls []string
		ids := map[string]bool{}
		for _, made := range h.calls {
			var args map[string]any
			if err := json.Unmarshal(made.Args, &args); err != nil {
				t.Error(err)
			}
			sorted, _ := json.Marshal(args)
			calls = append(calls, made.Name+" "+string(sorted))
			ids[made.ID] = true
		}
		if len(ids) != len(h.calls) || ids[""] {
			t.Errorf("%s: ids %v", c.user, ids)
		}
		if strings.TrimSpace(h.text) != strings.TrimSpace(c.text) || h.reasoning != c.reasoning || strings.Join(calls, "; ") != c.calls {
			t.Errorf("%s: text %q, reasoning %q, calls %v", c.user, h.text, h.reasoning, calls)
		}
		if reply.FinishReason != "stop" || reply.Usage.InputTokens == nil || *reply.Usage.OutputTokens < 1 || *reply.Usage.ContextLimit != 4096 {
			t.Errorf("%s: %+v", c.user, reply)
		}
		if swallowed := c.user == "swallowed call"; swallowed && *reply.Usage.OutputTokens <= 3 {
			t.Errorf("a swallowed call counts %d tokens", *reply.Usage.OutputTokens)
		}
	}
	formatted := request("structured")
	formatted.Tools, formatted.Format = nil, json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"},"score":{"type":"integer"}},"required":["verdict","score"]}`)
	if h, _, err := listen(t, t.Context(), a, formatted); err != nil || h.text != `{"verdict": "allow", "score": 3}` {
		t.Errorf("%v, %q", err, h.text)
	}
	formatted.System, formatted.Format = "You name conversations.", json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
	if h, _, err := listen(t, t.Context(), a, formatted); err != nil || h.text != `{"title": "A scripted title"}` {
		t.Errorf("%v, %q", err, h.text)
	}
}

func realTurn(t *testing.T, a *Adapter) {
	req := request("look and read")
	var used int64
	for step, result := range []string{`{"output":"hello.txt"}`, `{"content":"1\thello"}`, ""} {
		h, reply, err := listen(t, t.Context(), a, req)
		if err != nil {
			t.Fatal(err)
		}
		if *reply.Usage.InputTokens <= used {
			t.Errorf("step %d counts %d after %d", step, *reply.Usage.InputTokens, used)
		}
		used = *reply.Usage.InputTokens
		if result == "" {
			if h.text != "Two steps are finished." || len(h.calls) != 0 {
				t.Errorf("%+v", h)
			}
			return
		}
		if len(h.calls) != 1 {
			t.Fatalf("step %d: %+v", step, h)
		}
		req.Messages = append(req.Messages,
			chat.PromptMessage{Role: chat.RoleAssistant, Content: h.text, Calls: h.calls},
			chat.PromptMessage{Role: chat.RoleTool, Content: result, CallID: h.calls[0].ID, ToolName: h.calls[0].Name})
	}
}

func realLimits(t *testing.T, a *Adapter) {
	req := request("loop forever")
	req.MaxTokens = 40
	h, reply, err := listen(t, t.Context(), a, req)
	if err != nil || reply.FinishReason != "length" || *reply.Usage.OutputTokens != 40 || !strings.Contains(h.text, "tock four. tick one") {
		t.Errorf("%v, %+v, %q", err, reply, h.text)
	}
	_, _, err = listen(t, t.Context(), a, request("repeat yourself"))
	if f := fault(t, err); !f.Started {
		t.Errorf("the repeat guard: %v", f)
	}
	// This server is older than truncate and shift: it cuts the prompt and says so by the count alone. Newer ones refuse.
	long := request(strings.Repeat("many words ", 100))
	long.Options.NumCtx, long.Tools = 256, nil
	_, reply, err = listen(t, t.Context(), a, long)
	var f *chat.Fault
	switch {
	case errors.As(err, &f):
		if f.Status != 400 {
			t.Errorf("%v", f)
		}
	case err != nil:
		t.Error(err)
	case *reply.Usage.InputTokens > 256 || *reply.Usage.ContextLimit != 256:
		t.Errorf("%d of %d", *reply.Usage.InputTokens, *reply.Usage.ContextLimit)
	}
}

func realCancel(t *testing.T, a *Adapter) {
	ctx, cancel := context.WithCancelCause(t.Context())
	req := request("loop forever")
	req.Options.NumCtx, req.MaxTokens = 4096, 100_000
	var text string
	_, err := a.Stream(ctx, req, func(d chat.Delta) error {
		if text += d.Text; len(text) > 200 {
			cancel(chat.CauseInterrupted)
		}
		return nil
	})
	if err != error(chat.CauseInterrupted) || len(text) <= 200 {
		t.Errorf("%v, %q", err, text)
	}
	began := time.Now()
	if h, _, err := listen(t, t.Context(), a, request("say hello")); err != nil || !strings.HasPrefix(h.text, "Hello!") {
		t.Errorf("after the cancel: %v, %q", err, h.text)
	}
	t.Logf("the next reply took %v", time.Since(began))
}

// realQueue: a quick call gives way to a Turn; a second Turn waits for the first.
func realQueue(t *testing.T, a *Adapter) {
	quick := request("loop forever")
	quick.Class, quick.MaxTokens = chat.ClassQuick, 100_000
	running, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		_, err := a.Stream(t.Context(), quick, func(d chat.Delta) error {
			if d.Text != "" && first {
				first = false
				close(running)
			}
			return nil
		})
		ended <- err
	}()
	<-running
	h, _, err := listen(t, t.Context(), a, request("say hello"))
	if err != nil || !strings.HasPrefix(h.phases(), "queued 1, reading_prompt") || !strings.HasPrefix(h.text, "Hello!") {
		t.Errorf("%v, %s, %q", err, h.phases(), h.text)
	}
	if err := <-ended; !errors.Is(err, slot.ErrPreempted) {
		t.Error(err)
	}
}

func realRefusals(t *testing.T, a *Adapter) {
	req := request("say hello")
	req.Model = "plain"
	_, _, err := listen(t, t.Context(), a, req)
	if f := fault(t, err); f.Status != 400 || !strings.Contains(f.Text, "does not support tools") {
		t.Error(f)
	}
	req.Tools, req.Think = nil, "true"
	if h, _, err := listen(t, t.Context(), a, req); err != nil || !strings.HasPrefix(h.text, "Hello!") {
		t.Errorf("%v, %q", err, h.text)
	}
	req.Model = "absent"
	_, _, err = listen(t, t.Context(), a, req)
	if f := fault(t, err); f.Status != 404 || !strings.Contains(f.Text, "not found") {
		t.Error(f)
	}
}

func realKill(t *testing.T, a *Adapter, s *server) {
	req := request("loop forever")
	req.MaxTokens = 100_000
	var text string
	killed := 0
	_, err := a.Stream(t.Context(), req, func(d chat.Delta) error {
		if text += d.Text; len(text) > 100 && killed == 0 {
			var err error
			killed, err = s.KillRunner()
			return err
		}
		return nil
	})
	if f := fault(t, err); !f.Started || killed == 0 || len(text) < 100 {
		t.Errorf("%d killed, %d bytes of text: %v", killed, len(text), f)
	}
	t.Logf("the server says: %v", err)
	if h, reply, err := listen(t, t.Context(), a, request("say hello")); err != nil || !strings.HasPrefix(h.text, "Hello!") || reply.Load == 0 {
		t.Errorf("after the kill: %v, %q", err, h.text)
	}
}

func realGone(t *testing.T, a *Adapter, s *server) {
	req := request("loop forever")
	req.MaxTokens = 100_000
	var text string
	stopped := make(chan error, 1)
	_, err := a.Stream(t.Context(), req, func(d chat.Delta) error {
		if text == "" && d.Text != "" {
			go func() { stopped <- s.Close() }()
		}
		text += d.Text
		return nil
	})
	if f := fault(t, err); !f.Started {
		t.Error(f)
	}
	t.Logf("the end of the server looks like: %v", err)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	_, _, err = listen(t, t.Context(), a, request("say hello"))
	if f := fault(t, err); f.Status != 0 || !strings.Contains(f.Error(), "connection refused") {
		t.Error(f)
	}
}

// realCut cancels small calls at all moments, as Turns do; the server must answer after each.
func realCut(t *testing.T, a *Adapter) {
	small := request("say hello")
	small.Class, small.Tools, small.MaxTokens = chat.ClassQuick, nil, 64
	small.Format = json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
	for round := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round*300)*time.Microsecond)
		// How a cancelled call ends is tested elsewhere.
		_, _, _ = listen(t, ctx, a, small)
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		_, _, err := listen(t, ctx, a, request("say hello"))
		cancel()
		if err != nil {
			t.Fatalf("after the call that was cancelled in round %d: %v", round, err)
		}
	}
}
