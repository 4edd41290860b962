package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine/chat"
	memory "holdfast/engine/ollama/scripted"
	"holdfast/engine/openai/scripted"
)

const canary = "sk-canary-0123456789"

// serve starts a scripted server in memory and an Adapter in front of it that sends key; both end with the test.
func serve(t testing.TB, o scripted.Options, key string) (*Adapter, *scripted.Server) {
	t.Helper()
	s := scripted.New(o)
	return adapterTo(t, s, key), s
}

func adapterTo(t testing.TB, h http.Handler, key string) *Adapter {
	t.Helper()
	running := memory.Memory(h)
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(running.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{URL: u, Client: running.Client,
		Key: func(context.Context, chat.ModelConfigID) (chat.Secret, error) { return chat.NewSecret(key), nil }})
}

func ask(text string) *chat.Request {
	return &chat.Request{Provider: chat.ProviderOpenAI, Model: "m", Options: chat.Options{NumCtx: 4096}, MaxTokens: 500,
		Tools:    []chat.ToolDef{{Name: "read_file", Description: "Read.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}},
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: text}}}
}

// heard is a reply put together, with the order of what came.
type heard struct {
	text, reasoning string
	calls           []chat.Call
	log             []string
}

func (h *heard) take(d chat.Delta) error {
	switch {
	case d.Phase == chat.PhaseQueued:
		h.log = append(h.log, fmt.Sprintf("queued %d", d.Place))
	case d.Phase != "":
		h.log = append(h.log, string(d.Phase))
	case d.Call != nil:
		h.calls = append(h.calls, *d.Call)
	case d.Text != "":
		h.text += d.Text
	case d.Reasoning != "":
		h.reasoning += d.Reasoning
	default:
		return errors.New("a Delta without content")
	}
	return nil
}

// words are the calls on one line each.
func (h *heard) words() string {
	var out []string
	for _, c := range h.calls {
		out = append(out, c.Name+string(c.Args))
	}
	return strings.Join(out, " ")
}

func listen(t testing.TB, a *Adapter, req *chat.Request) (heard, chat.Reply, error) {
	t.Helper()
	var h heard
	reply, err := a.Stream(t.Context(), req, h.take)
	return h, reply, err
}

func fault(t testing.TB, err error) *chat.Fault {
	t.Helper()
	var f *chat.Fault
	if !errors.As(err, &f) {
		t.Fatalf("%v (%T) is not a Fault", err, err)
	}
	return f
}

// hanging answers nothing until the client leaves.
type hanging struct{}

func (hanging) ServeHTTP(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
