package call

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
)

// onTheWire puts a Model in front of the real adapter and a server that plays these replies in turn, the last one again and again.
func onTheWire(t *testing.T, o Options, replies ...scripted.Reply) (*Model, *scripted.Server) {
	t.Helper()
	var scripts []scripted.Script
	for i, r := range replies {
		times := 1
		if i == len(replies)-1 {
			times = 0
		}
		scripts = append(scripts, scripted.Script{Results: scripted.Any, Times: times, Reply: r})
	}
	s := scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m:1b", Scripts: scripts}}, Record: true})
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
	return New(ollama.New(ollama.Options{URL: u, Client: running.Client, TempDir: t.TempDir()}), o), s
}

func wireRequest() *chat.Request {
	req := request()
	req.Tools = []chat.ToolDef{{Name: "execute", Description: "Run.", Schema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)}}
	return req
}

// TestWire runs the error table over the real protocol: what a server does, and what a caller gets of it.
func TestWire(t *testing.T) {
	good := scripted.Text("all is well")
	for _, c := range []struct {
		name    string
		replies []scripted.Reply
		// kinds of the retries, then text, or the kind of the final error.
		retried []chat.Kind
		text    string
		final   chat.Kind
	}{
		{"queue full, then well", []scripted.Reply{{Status: 503, Error: "server busy, please try again.  maximum pending requests exceeded"}, good},
			[]chat.Kind{chat.KindBusy}, "all is well", ""},
		{"500 with an empty body, then well", []scripted.Reply{{Status: 500}, good}, []chat.Kind{chat.KindServer}, "all is well", ""},
		{"cut in the middle, then well", []scripted.Reply{{Frames: scripted.Words("some lost words"), End: scripted.EndCut}, good},
			[]chat.Kind{chat.KindStreamCut}, "all is well", ""},
		{"no last frame, then well", []scripted.Reply{{Frames: scripted.Words("lost"), End: scripted.EndClean}, good},
			[]chat.Kind{chat.KindStreamCut}, "all is well", ""},
		{"bad JSON, then well", []scripted.Reply{{Frames: []scripted.Frame{{Raw: "{\"message\":\n"}}}, good}, []chat.Kind{chat.KindStreamCut},
			"all is well", ""},
		{"no headers, then well", []scripted.Reply{{Stall: true}, good}, []chat.Kind{chat.KindSlowStart}, "all is well", ""},
		{"silence in the middle, then well", []scripted.Reply{{Frames: scripted.Words("lost"), End: scripted.EndStall}, good},
			[]chat.Kind{chat.KindSilent}, "all is well", ""},
		{"a runner that died, then well", []scripted.Reply{{Frames: []scripted.Frame{{Text: "lost"},
			{Error: "an error was encountered while running the model: unexpected EOF"}}}, good}, []chat.Kind{chat.KindStreamCut}, "all is well", ""},
		{"no memory twice", []scripted.Reply{{Status: 500, Error: "model requires more system memory (9.0 GiB) than is available (4.0 GiB)"}},
			[]chat.Kind{chat.KindOutOfMemory}, "", chat.KindOutOfMemory},
		{"too long", []scripted.Reply{{Status: 400, Error: "the input length exceeds the context length"}}, nil, "", chat.KindContextFull},
		{"no tools", []scripted.Reply{{Status: 400, Error: "registry.ollama.ai/library/m:latest does not support tools"}}, nil, "", chat.KindNoTools},
		{"refused", []scripted.Reply{{Status: 400, Error: "invalid options"}}, nil, "", chat.KindConfig},
		{"endless", []scripted.Reply{scripted.Endless("again ")}, nil, strings.Repeat("again ", 2000), chat.KindLoop},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, server := onTheWire(t, Options{}, c.replies...)
				var h heard
				req := wireRequest()
				req.MaxTokens = 8000
				_, err := m.Stream(t.Context(), req, h.yield)
				if c.final != "" {
					if e := kindOf(t, err); e.Kind != c.final {
						t.Errorf("%v", e)
					}
				} else if err != nil {
					t.Fatal(err)
				}
				var kinds []chat.Kind
				for _, r := range h.retries {
					kinds = append(kinds, r.Kind)
				}
				if len(kinds) != len(c.retried) || len(kinds) > 0 && kinds[0] != c.retried[0] {
					t.Errorf("retried %v, want %v", kinds, c.retried)
				}
				if c.final != chat.KindLoop && h.text != c.text || !strings.HasPrefix(h.text, c.text) {
					t.Errorf("text %q", h.text)
				}
				sameBodies(t, server)
			})
		})
	}
}

// sameBodies: the request is the same, byte for byte, in each attempt.
func sameBodies(t *testing.T, s *scripted.Server) {
	t.Helper()
	sent := s.Requests("/api/chat")
	for i := range sent {
		if string(sent[i].Body) != string(sent[0].Body) {
			t.Errorf("attempt %d sent\n%s\nthe first\n%s", i+1, sent[i].Body, sent[0].Body)
		}
	}
}

func TestUnknownModelOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := onTheWire(t, Options{}, scripted.Text("x"))
		req := wireRequest()
		req.Model = "nobody:7b"
		_, err := m.Stream(t.Context(), req, (&heard{}).yield)
		if e := kindOf(t, err); e.Kind != chat.KindModelMissing || e.Message != "nobody:7b is not on the model server. Pull or import it." {
			t.Errorf("%v", e)
		}
	})
}

func TestInterruptOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, reply := range []scripted.Reply{{Stall: true}, {Frames: scripted.Words("half a"), End: scripted.EndStall}, {Status: 500}} {
			m, _ := onTheWire(t, Options{}, reply)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(700*time.Millisecond, func() { cancel(chat.CauseInterrupted) })
			began := time.Now()
			_, err := m.Stream(ctx, wireRequest(), (&heard{}).yield)
			if err != chat.CauseInterrupted || time.Since(began) > time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
	})
}
