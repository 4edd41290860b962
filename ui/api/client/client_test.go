package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// serve answers each connection with the next of the handlers, and stays with the last.
func serve(t *testing.T, handlers ...http.HandlerFunc) *Client {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(n.Add(1)), len(handlers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	c, err := New(s.URL, "hf_token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.wait = waits{silence: time.Minute, first: time.Millisecond, longest: time.Millisecond, giveUp: 5 * time.Millisecond}
	return c
}

func frames(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range texts {
			io.WriteString(w, text)
		}
	}
}

const status = `{"type":"status","status":"running","archived":false,"queue_held":false}`

func TestAStreamIsTakenUpBehindTheLastMessage(t *testing.T) {
	var mu sync.Mutex // guards asked
	var asked []string
	note := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Query().Get("after_id"))
			mu.Unlock()
			next(w, r)
		}
	}
	part := `{"type":"message_part","generation_attempt":2,"seq":1,"part_index":0,"offset":0,"role":"assistant","part":{"type":"text","text":"abc"}}`
	c := serve(t,
		note(frames(": ping\n\nid: 7\ndata: {\"chat_id\":\"c\",\"version\":1,\"events\":["+status+","+part+"]}\n\n", "id: 8\ndata: {\"half")),
		note(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }),
		note(frames("id: 9\ndata: {\"chat_id\":\"c\",\"version\":2,\"events\":["+status+","+part+",{\"type\":\"from_the_future\"}]}\n\n")))
	var held Transcript
	for f, err := range c.Stream(t.Context(), "c", 5) {
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Apply(f); err != nil || !f.First {
			t.Fatal(f, err)
		}
		if f.Version == 2 {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, " "); got != "5 7 7" || len(held.Parts) != 1 || held.Parts[0].Text != "abc" {
		t.Errorf("asked for %q, holds %+v", got, held.Parts)
	}
}

func TestWhatEndsAStream(t *testing.T) {
	refuse := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	first := frames("id: 1\ndata: {\"chat_id\":\"c\",\"version\":1,\"events\":[" + status + "]}\n\n")
	failure := frames("data: {\"chat_id\":\"c\",\"version\":0,\"events\":[{\"type\":\"error\",\"error\":{\"kind\":\"internal\",\"message\":\"broken\",\"retryable\":true}}]}\n\n")
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		kind     chat.Kind
	}{
		"not found":     {[]http.HandlerFunc{refuse(404, `{"kind":"not_found","message":"x"}`)}, chat.KindNotFound},
		"revoked later": {[]http.HandlerFunc{first, refuse(401, `{"kind":"unauthenticated","message":"x"}`)}, chat.KindUnauthenticated},
		"stopping":      {[]http.HandlerFunc{first, refuse(503, `{"kind":"stopping","message":"x"}`)}, chat.KindStopping},
		"a failed read": {[]http.HandlerFunc{first, failure}, chat.KindInternal},
		"no Holdfast":   {[]http.HandlerFunc{refuse(502, "<html>")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			for _, err := range serve(t, c.handlers...).Stream(t.Context(), "c", 0) {
				last = err
			}
			var refused *chat.Error
			if errors.As(last, &refused) != (c.kind != "") || refused != nil && refused.Kind != c.kind || last == nil {
				t.Errorf("ended with %v", last)
			}
		})
	}
}

func TestASilentStreamIsLeft(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c.wait.silence = 20 * time.Millisecond
	for _, err := range c.Stream(t.Context(), "c", 0) {
		if !errors.Is(err, errSilent) {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestTheEndOfTheContextEndsAStream(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		frames("id: 1\ndata: {\"chat_id\":\"c\",\"version\":1,\"events\":["+status+"]}\n\n")(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for f, err := range c.Stream(ctx, "c", 0) {
		if f.Version == 1 {
			cancel(why)
		}
		last = err
	}
	if !errors.Is(last, why) {
		t.Errorf("ended with %v", last)
	}
}

func TestRequestsCarryTokenAndKey(t *testing.T) {
	var mu sync.Mutex // guards seen
	var seen []http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header)
		mu.Unlock()
		io.WriteString(w, "{}")
	})
	for range 2 {
		if _, err := c.CreateChat(t.Context(), ChatCreate{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Send(WithKey(t.Context(), "mine"), "c", MessageSend{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateToken(t.Context(), TokenCreate{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	keys := []string{}
	for _, h := range seen {
		if h.Get("Authorization") != "Bearer hf_token" {
			t.Errorf("%v", h)
		}
		keys = append(keys, h.Get("Idempotency-Key"))
	}
	if keys[0] == "" || keys[0] == keys[1] || keys[2] != "mine" || keys[3] != "" {
		t.Errorf("keys %q", keys)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	})
	if _, err := c.System(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("%v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "localhost:8420", "ftp://x", "http://", "http://u:p@x", "http://x/path", "http://x?q=1"} {
		if _, err := New(bad, ""); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := New("http://127.0.0.1:8420/", ""); err != nil {
		t.Error(err)
	}
}

// A Transcript does not believe a stream with a gap or a double.
func TestTranscriptFindsGapsAndDoubles(t *testing.T) {
	piece := func(generation, seq int64, index int, offset int64) *PartEvent {
		return &PartEvent{Generation: generation, Seq: seq, PartIndex: index, Offset: offset, Part: Part{Type: chat.PartText, Text: "abc"}}
	}
	message := func(id chat.MessageID) *MessageEvent { return &MessageEvent{Message: Message{ID: id}} }
	for name, events := range map[string][]Event{
		"a message twice":    {message(1), message(1)},
		"an older message":   {message(2), message(1)},
		"a piece twice":      {piece(1, 1, 0, 0), piece(1, 1, 0, 3)},
		"a gap in a part":    {piece(1, 1, 0, 0), piece(1, 2, 0, 4)},
		"text again":         {piece(1, 1, 0, 0), piece(1, 2, 0, 0)},
		"a part is missing":  {piece(1, 1, 1, 0)},
		"a late generation":  {&PreviewResetEvent{Generation: 2}, piece(1, 1, 0, 0)},
		"begun in the midst": {piece(1, 1, 0, 9)},
	} {
		var held Transcript
		if err := held.Apply(Frame{Events: events}); err == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
	var held Transcript
	good := []Event{message(1), message(2), &HistoryResetEvent{}, message(1), piece(1, 1, 0, 0), piece(1, 2, 0, 3), &PreviewResetEvent{Generation: 2}, piece(2, 1, 0, 0)}
	if err := held.Apply(Frame{Events: good}); err != nil || fmt.Sprint(len(held.Messages), " ", held.Parts[0].Text) != "1 abc" {
		t.Errorf("%+v, %v", held, err)
	}
}
