package ollama

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

const gig = 1 << 30

// crowded is a server with memory for one large model, or for a few small ones.
func crowded(t *testing.T, memory int64) (*Adapter, *scripted.Server) {
	t.Helper()
	named := func(name string, size int64) scripted.Model {
		m := slow()
		m.Name, m.Size = name, size
		return m
	}
	return serveWith(t, Options{Memory: func(context.Context) int64 { return memory }},
		scripted.Options{Record: true, Memory: memory, Models: []scripted.Model{named("big", 7*gig), named("other", 6*gig), named("small", gig), named("tiny", gig/2)}})
}

func of(model string, class chat.Class) *chat.Request {
	req := ask("go")
	req.Model, req.Class = model, class
	return req
}

func call1(t *testing.T, a *Adapter, model string, class chat.Class) error {
	t.Helper()
	_, err := a.Stream(t.Context(), of(model, class), func(chat.Delta) error { return nil })
	return err
}

func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := crowded(t, 10*gig)
		expect := func(when, model string, window int, want chat.Place) {
			t.Helper()
			if got := a.Seat(t.Context(), model, window); got.Place != want {
				t.Errorf("%s: %s has %q, want %q", when, model, got.Place, want)
			}
		}
		expect("empty", "big", 4096, chat.PlaceFits)
		if err := call1(t, a, "big", chat.ClassTurn); err != nil {
			t.Fatal(err)
		}
		expect("big is in", "big", 4096, chat.PlaceLoaded)
		expect("big is in", "other:latest", 4096, chat.PlaceEvicts)
		expect("big is in", "small", 4096, chat.PlaceFits)
		expect("the cache counts", "small", 16<<20, chat.PlaceEvicts)
		expect("nothing is known of it", "absent", 4096, chat.PlaceUnknown)
		if got := a.Seat(t.Context(), "BIG:latest", 8192); got.Window != 4096 || got.Size != 7*gig {
			t.Errorf("a loaded model has %+v", got)
		}
		if n := len(s.Evicted()); n != 0 {
			t.Errorf("looking pushed out %d", n)
		}

		unsure, _ := crowded(t, 0)
		if err := call1(t, unsure, "big", chat.ClassTurn); err != nil {
			t.Fatal(err)
		}
		if got := unsure.Seat(t.Context(), "small", 4096); got.Place != chat.PlaceUnknown {
			t.Errorf("with unknown memory: %+v", got)
		}
	})
}

// TestAModelOnItsWayCounts: what is being loaded is not listed yet, and what it will take is not known.
func TestAModelOnItsWayCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := slow()
		m.Name, m.Load = "coming", time.Minute
		other := slow()
		other.Name = "small"
		a, _ := serve(t, Options{Memory: func(context.Context) int64 { return 10 * gig }}, m, other)
		var o order
		var wg sync.WaitGroup
		o.startAs(&wg, a, "coming", chat.ClassTurn)
		if got := a.Seat(t.Context(), "small", 4096); got.Place != chat.PlaceUnknown {
			t.Errorf("%+v", got)
		}
		wg.Wait()
	})
}

func (o *order) startAs(wg *sync.WaitGroup, a *Adapter, model string, class chat.Class) {
	wg.Go(func() {
		_, err := a.Stream(context.Background(), of(model, class), func(chat.Delta) error { return nil })
		if err != nil {
			o.note("%s: %v", model, err)
			return
		}
		o.note("%s done", model)
	})
	synctest.Wait()
}

// TestQuickCallsPushNothingOut: with memory for one model a small job of another is refused, and the Chat's model stays.
func TestQuickCallsPushNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := crowded(t, 8*gig)
		if err := call1(t, a, "big", chat.ClassTurn); err != nil {
			t.Fatal(err)
		}
		var e *chat.Error
		if err := call1(t, a, "other", chat.ClassQuick); !errors.As(err, &e) || e.Kind != chat.KindBusy || e.Retryable || !strings.Contains(e.Message, "other") {
			t.Errorf("it gives %v", err)
		}
		if err := call1(t, a, "big", chat.ClassQuick); err != nil {
			t.Errorf("a quick call of the loaded model: %v", err)
		}
		if got := s.Evicted(); len(got) != 0 {
			t.Errorf("%v were pushed out", got)
		}
		// What a person asks for does push out.
		if err := call1(t, a, "other", chat.ClassProbe); err != nil {
			t.Error(err)
		}
		if got := s.Evicted(); !slices.Equal(got, []string{"big:latest"}) {
			t.Errorf("%v were pushed out", got)
		}
	})
}

// TestQuickCallsTakeTheLoadedWindow: another window would load the model anew.
func TestQuickCallsTakeTheLoadedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := crowded(t, 8*gig)
		for _, class := range []chat.Class{chat.ClassTurn, chat.ClassQuick} {
			req := of("big", class)
			req.Options.NumCtx = 8192 / (1 + int(class))
			if _, err := a.Stream(t.Context(), req, func(chat.Delta) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		for i, q := range s.Requests("/api/chat") {
			if !strings.Contains(string(q.Body), `"num_ctx":8192`) {
				t.Errorf("request %d: %s", i, q.Body)
			}
		}
	})
}

// TestATurnOfAnotherModelEndsQuickCalls: where both do not fit, the Turn need not wait for a small job of the other model.
func TestATurnOfAnotherModelEndsQuickCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := crowded(t, 8*gig)
		if err := call1(t, a, "big", chat.ClassTurn); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var o order
		var wg sync.WaitGroup
		o.startAs(&wg, a, "big", chat.ClassQuick)
		o.startAs(&wg, a, "other", chat.ClassTurn)
		wg.Wait()
		if got := o.String(); !strings.Contains(got, "other done") || !strings.Contains(got, "big: ") {
			t.Errorf("%s", got)
		}
		// A second until it is seen that the model is not there, three for the reply.
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the Turn took %v", took)
		}
		if got := s.Evicted(); !slices.Equal(got, []string{"big:latest"}) {
			t.Errorf("%v were pushed out", got)
		}
	})
}
