package link

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"

	"holdfast/agentside/conformance"
	"holdfast/engine/chat"
)

// stranger calls as an Agent with a protocol of its own.
func stranger(t *testing.T, o *office, id chat.AgentID) *yamux.Session {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), o.url().JoinPath(linkPath).String(), &websocket.DialOptions{HTTPHeader: http.Header{headerAgent: {string(id)}}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(maxFrame)
	config := yamux.DefaultConfig()
	config.LogOutput = io.Discard
	mux, err := yamux.Client(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mux.Close()
		_ = ws.CloseNow()
	})
	return mux
}

// patientOffice gives a caller all the time in the world, so that nothing but its own doing ends its link.
func patientOffice(t *testing.T) *office {
	times := quick()
	times.Proof, times.Silence = time.Hour, time.Hour
	return newOffice(t, times)
}

func gone(t *testing.T, mux *yamux.Session) {
	t.Helper()
	select {
	case <-mux.CloseChan():
	case <-time.After(patience):
		t.Fatal("the link still stands")
	}
}

// TestWhoHasProvenNothingSendsLittle: what comes before the proof is not kept for it.
func TestWhoHasProvenNothingSendsLittle(t *testing.T) {
	o := patientOffice(t)
	o.enrolled("a1")
	mux := stranger(t, o, "a1")
	for range 4 {
		stream, err := mux.Open()
		if err != nil {
			break
		}
		if _, err := stream.Write(make([]byte, 100<<10)); err != nil {
			break
		}
	}
	gone(t, mux)
}

// TestStreamsThatNobodyEnds: each holds memory of the appliance, so there are not any number of them.
func TestStreamsThatNobodyEnds(t *testing.T) {
	o := patientOffice(t)
	id := o.enrolled("a1")
	mux := stranger(t, o, "a1")
	stream, err := mux.AcceptStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := prove(stream, "a1", id.Key(), PeerKey{}, patience); err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	for len(open) <= 4*maxHeld {
		stream, err := mux.Open()
		if err != nil {
			break
		}
		open = append(open, stream)
	}
	if len(open) > 4*maxHeld {
		t.Fatalf("%d streams are open", len(open))
	}
	gone(t, mux)
}

// answering is the Agent "a1" whose calls h answers.
func answering(t *testing.T, o *office, h http.Handler) {
	t.Helper()
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	o.until("a1", "online", online)
	d.stop()
	o.until("a1", "offline", offline)
	d.agent.o.API = h
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.agent.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	o.until("a1", "online", online)
}

// floods answers every call with text that has no end.
type floods struct {
	boot string
	sent atomic.Int64
}

func (f *floods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(headerBoot, f.boot)
	w.Header().Set(headerPath, `"a.txt"`)
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for r.Context().Err() == nil {
		n, err := w.Write(piece)
		f.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// TestAnAgentThatAnswersWithTooMuch: nothing is taken beyond what was asked for, and the call ends.
func TestAnAgentThatAnswersWithTooMuch(t *testing.T) {
	o := newOffice(t, quick())
	f := &floods{boot: "b1"}
	answering(t, o, f)
	ws := o.open("a1")
	if got, err := ws.Files().Raw(t.Context(), "a.txt", 1000); err == nil || len(got.Bytes) > 0 {
		t.Errorf("a file: %d bytes, %v", len(got.Bytes), err)
	}
	if got, err := ws.Files().Lines(t.Context(), chat.LinesQuery{Path: "a.txt"}); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Errorf("lines: %d bytes, %v", len(got.Content), err)
	}
	if _, err := ws.Processes().Output(t.Context(), "c1", "p1", 0, 0); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Errorf("output: %v", err)
	}
	if sent := f.sent.Load(); sent > maxAnswer {
		t.Errorf("%d bytes were taken", sent)
	}
}

// exactly answers with a body of so many bytes.
type exactly struct {
	boot  string
	bytes int
}

func (e exactly) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set(headerBoot, e.boot)
	w.Header().Set(headerPath, `"a.txt"`)
	_, _ = w.Write(make([]byte, e.bytes))
}

// TestAFileThatIsLongerThanAsked is refused also where it would fit.
func TestAFileThatIsLongerThanAsked(t *testing.T) {
	o := newOffice(t, quick())
	answering(t, o, exactly{"b1", 1001})
	if got, err := o.open("a1").Files().Raw(t.Context(), "a.txt", 1000); conformance.Kind(err) != "too_large" || len(got.Bytes) > 0 {
		t.Errorf("%d bytes, %v", len(got.Bytes), err)
	}
	if got, err := o.open("a1").Files().Raw(t.Context(), "a.txt", 1001); err != nil || len(got.Bytes) != 1001 {
		t.Errorf("%d bytes, %v", len(got.Bytes), err)
	}
}

// TestAProcessOfAnotherName: what an Agent calls its processes leads nowhere else than to them.
func TestAProcessOfAnotherName(t *testing.T) {
	o := newOffice(t, quick())
	var said atomic.Pointer[processShape]
	answering(t, o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerBoot, "b1")
		if strings.HasSuffix(r.URL.Path, "/list") {
			writeJSON(w, http.StatusOK, []*processShape{said.Load()})
			return
		}
		writeJSON(w, http.StatusOK, said.Load())
	}))
	all := o.open("a1").Processes()
	start := chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "true"}
	for name, c := range map[string]struct {
		said       processShape
		own, lists bool
	}{
		"as it is":       {processShape{ID: "p1", ChatID: "c1"}, true, true},
		"an address":     {processShape{ID: "../../../users/u1/admin?", ChatID: "c1"}, false, false},
		"none":           {processShape{ChatID: "c1"}, false, false},
		"another":        {processShape{ID: "p2", ChatID: "c1"}, false, true},
		"another chat's": {processShape{ID: "p1", ChatID: "c2"}, false, false},
	} {
		said.Store(&c.said)
		if _, err := all.Start(t.Context(), start); (err == nil) != c.own {
			t.Errorf("%s, started: %v", name, err)
		}
		if _, err := all.Output(t.Context(), "c1", "p1", 0, 0); (err == nil) != c.own {
			t.Errorf("%s, output: %v", name, err)
		}
		if list, err := all.List(t.Context(), "c1"); (err == nil) != c.lists || err != nil && len(list) > 0 {
			t.Errorf("%s, listed: %+v, %v", name, list, err)
		}
	}
}
