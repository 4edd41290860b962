package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// serve starts a scripted server in memory and an Adapter in front of it; both end with the test.
func serve(t testing.TB, o Options, models ...scripted.Model) (*Adapter, *scripted.Server) {
	t.Helper()
	return serveWith(t, o, scripted.Options{Models: models, Record: true})
}

func serveWith(t testing.TB, o Options, so scripted.Options) (*Adapter, *scripted.Server) {
	t.Helper()
	s := scripted.New(so)
	running := scripted.Memory(s)
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.URL, o.Client = u, running.Client
	if o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	return New(o), s
}

// model is one with a single reply to everything.
func model(reply scripted.Reply) scripted.Model {
	return scripted.Model{Name: "m", Scripts: []scripted.Script{{Results: scripted.Any, Reply: reply}}}
}

func ask(text string) *chat.Request {
	return &chat.Request{Model: "m", Options: chat.Options{NumCtx: 4096}, MaxTokens: 500,
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
		h.log = append(h.log, "call "+d.Call.Name)
	case d.Text != "":
		h.text += d.Text
	case d.Reasoning != "":
		h.reasoning += d.Reasoning
	default:
		return errors.New("a Delta without content")
	}
	return nil
}

func (h *heard) phases() string { return strings.Join(h.log, ", ") }

func listen(t testing.TB, ctx context.Context, a *Adapter, req *chat.Request) (heard, chat.Reply, error) {
	t.Helper()
	var h heard
	reply, err := a.Stream(ctx, req, h.take)
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
