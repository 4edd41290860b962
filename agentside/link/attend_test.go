package link

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestChangesWithoutEndReadTheStoreOnceASecond: an Agent that names Workspaces that are not its own, or its own over and over.
func TestChangesWithoutEndReadTheStoreOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		m := madeBeside{of: func() ([]chat.WorkspaceID, error) { reads++; return []chat.WorkspaceID{"w1"}, nil }}
		began := time.Now()
		for range 1000 {
			if has, err := m.has(t.Context(), "w1"); !has || err != nil {
				t.Fatal(has, err)
			}
		}
		if reads != 1 || time.Since(began) != 0 {
			t.Errorf("its own: %d reads in %v", reads, time.Since(began))
		}
		for range 1000 {
			if has, err := m.has(t.Context(), "w2"); has || err != nil {
				t.Fatal(has, err)
			}
		}
		if took := time.Since(began); reads != 1001 || took != 1000*lookEvery {
			t.Errorf("another's: %d reads in %v", reads, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if has, err := m.has(ctx, "w2"); has || err == nil {
			t.Errorf("at the end: %v %v", has, err)
		}
	})
}

// TestChangesAreFollowedAgainOverTheSameLink: the streams of an Agent break while its link is up; what changed meanwhile is told, too, for its own
// Workspace and for those that were made beside it.
func TestChangesAreFollowedAgainOverTheSameLink(t *testing.T) {
	o := newOffice(t, quick())
	o.appliance.o.Made = func(context.Context, chat.AgentID) ([]chat.WorkspaceID, error) { return []chat.WorkspaceID{"m1"}, nil }
	sink := &taker{changed: make(chan chat.WorkspaceID, 100)}
	o.appliance.o.Sink = sink
	// Each stream breaks once, after its first line.
	var own, made atomic.Int32
	stream := func(asked *atomic.Int32) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "\n")
			if http.NewResponseController(w).Flush() == nil && asked.Add(1) > 1 {
				<-r.Context().Done()
			}
		}
	}
	api := http.NewServeMux()
	api.HandleFunc("/api/v0/git/watch", stream(&own))
	api.HandleFunc("/api/v0/places/changes", stream(&made))
	api.HandleFunc("/api/v0/places", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(headerBoot, "b1")
		_, _ = io.WriteString(w, "[]")
	})
	wire := &wiring{}
	a, err := NewAgent(AgentOptions{Dialling: Dialling{URL: o.url(), connect: wire.dial}, Identity: o.enrolled("a1"), API: api, Log: o.log, Times: o.times,
		Hello: Hello{Capabilities: []string{CapGit, CapPlaces}, BootID: "b1", BinaryVersion: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	defer running.Wait()
	defer cancel()
	heard, late := map[chat.WorkspaceID]int{}, time.After(patience)
	for heard["w1"] < 2 || heard["m1"] < 2 {
		select {
		case id := <-sink.changed:
			heard[id]++
		case <-late:
			t.Fatalf("heard of %v", heard)
		}
	}
}
