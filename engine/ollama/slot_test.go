package ollama

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/slot"
)

// order notes what happens on several goroutines.
type order struct {
	mu  sync.Mutex
	log []string
}

func (o *order) note(format string, a ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, fmt.Sprintf(format, a...))
}

func (o *order) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.log, "; ")
}

// start runs a call named by its text, and waits until it runs or stands in the queue.
func (o *order) start(wg *sync.WaitGroup, ctx context.Context, a *Adapter, class chat.Class, name string) {
	wg.Go(func() {
		req := ask(name)
		req.Class = class
		_, err := a.Stream(ctx, req, func(d chat.Delta) error {
			switch d.Phase {
			case chat.PhaseQueued:
				o.note("%s at %d", name, d.Place)
			case chat.PhaseReading:
				o.note("%s runs", name)
			}
			return nil
		})
		var f *chat.Fault
		switch {
		case errors.Is(err, slot.ErrPreempted) && errors.As(err, &f):
			o.note("%s preempted", name)
		case err != nil:
			o.note("%s: %v", name, err)
		default:
			o.note("%s done", name)
		}
	})
	synctest.Wait()
}

func slow() scripted.Model {
	m := model(scripted.Text("one two three"))
	m.Pace = time.Second
	return m
}

func TestTurnsGoInOrderAndBeforeQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, slow())
		var o order
		var wg sync.WaitGroup
		o.start(&wg, t.Context(), a, chat.ClassTurn, "A")
		o.start(&wg, t.Context(), a, chat.ClassQuick, "q")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "B")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "C")
		if n := a.Status(t.Context()).Queue; n != 3 {
			t.Errorf("%d wait", n)
		}
		wg.Wait()
		want := "A runs; q at 1; B at 1; q at 2; C at 2; q at 3; "
		if !strings.HasPrefix(o.String(), want) {
			t.Errorf("%s", &o)
		}
		var ran []string
		for _, l := range o.log {
			if name, ok := strings.CutSuffix(l, " runs"); ok {
				ran = append(ran, name)
			}
		}
		if got := strings.Join(ran, ""); got != "ABCq" {
			t.Errorf("they ran as %s: %s", got, &o)
		}
		if !a.slots.Idle() {
			t.Error("lanes are kept")
		}
	})
}

func TestTurnPreemptsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, slow())
		var o order
		var wg sync.WaitGroup
		began := time.Now()
		o.start(&wg, t.Context(), a, chat.ClassQuick, "q")
		o.start(&wg, t.Context(), a, chat.ClassQuick, "r")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "A")
		wg.Wait()
		got := o.String()
		for _, want := range []string{"q preempted", "A runs", "A done", "r done"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %s", want, got)
			}
		}
		if strings.Index(got, "r runs") < strings.Index(got, "A runs") {
			t.Errorf("a quick call went before the Turn: %s", got)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("the Turn waited: %v", took)
		}
	})
}

func TestSlotsAreBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := slow()
		other.Name = "other"
		a, _ := serve(t, Options{Slots: 2}, slow(), other)
		var o order
		var wg sync.WaitGroup
		o.start(&wg, t.Context(), a, chat.ClassQuick, "q")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "A")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "B")
		wg.Wait()
		if got := o.String(); !strings.HasPrefix(got, "q runs; A runs; B at 1; ") || !strings.Contains(got, "q preempted; ") {
			t.Errorf("%s", got)
		}
	})
}

func TestCancelLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, slow())
		var o order
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancelCause(t.Context())
		o.start(&wg, t.Context(), a, chat.ClassTurn, "A")
		o.start(&wg, ctx, a, chat.ClassTurn, "B")
		o.start(&wg, t.Context(), a, chat.ClassTurn, "C")
		cancel(chat.CauseInterrupted)
		synctest.Wait()
		if got, want := o.String(), "A runs; B at 1; C at 2; B: interrupted; C at 1"; got != want && got != "A runs; B at 1; C at 2; C at 1; B: interrupted" {
			t.Errorf("%s", got)
		}
		if n := a.Status(t.Context()).Queue; n != 1 {
			t.Errorf("%d wait", n)
		}
		wg.Wait()
	})
}

func TestYieldErrorLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, slow())
		var o order
		var wg sync.WaitGroup
		o.start(&wg, t.Context(), a, chat.ClassTurn, "A")
		stop := errors.New("enough")
		_, err := a.Stream(t.Context(), ask("B"), func(d chat.Delta) error { return stop })
		if err != stop || a.slots.Queued() != 0 {
			t.Errorf("%v, %d wait", err, a.slots.Queued())
		}
		wg.Wait()
	})
}

// TestManyCalls runs calls of both classes at once; each ends in one of three ways, and nothing of them is left.
func TestManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(scripted.Text("a b c d e f"))
		m.Pace = 10 * time.Millisecond
		a, _ := serve(t, Options{Slots: 3}, m)
		var wg sync.WaitGroup
		var mu sync.Mutex
		done, preempted, cancelled := 0, 0, 0
		for i := range 60 {
			wg.Go(func() {
				ctx := t.Context()
				if i%10 == 9 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(i)*time.Millisecond, chat.CauseShutdown)
					defer cancel()
				}
				req := ask("go")
				req.Class = chat.Class(i % 2)
				_, err := a.Stream(ctx, req, func(chat.Delta) error { return nil })
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					done++
				case errors.Is(err, slot.ErrPreempted):
					preempted++
				case errors.Is(err, chat.CauseShutdown):
					cancelled++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if done+preempted+cancelled != 60 || done < 30 || cancelled == 0 {
			t.Errorf("%d done, %d preempted, %d cancelled", done, preempted, cancelled)
		}
		if !a.slots.Idle() {
			t.Error("lanes are kept")
		}
	})
}
