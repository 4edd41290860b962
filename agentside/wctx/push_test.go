package wctx

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// receiver takes pushes and answers as a test says.
type receiver struct {
	mu      sync.Mutex
	got     []received
	answer  func(n int, s chat.Snapshot) (bool, string, error)
	reports []string
}

type received struct {
	version uint64
	initial bool
	at      time.Time
}

func (r *receiver) send(_ context.Context, s chat.Snapshot, initial bool) (bool, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, received{s.Version, initial, time.Now()})
	return r.answer(len(r.got), s)
}

func (r *receiver) report(problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, problem)
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// stage is what a play has: its Manager, who is pushed to, an edit that is published, and time that passes.
type stage struct {
	m      *Manager
	r      *receiver
	edit   func(string)
	elapse func(time.Duration)
}

// pushing plays a Push of a Manager without a watcher, in fake time.
func pushing(t *testing.T, answer func(n int, s chat.Snapshot) (bool, string, error), play func(stage), want error) {
	t.Helper()
	dir := tree(t, map[string]string{"AGENTS.md": "first"})
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Dir: dir})
		r := &receiver{answer: answer}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Push(ctx, m, r.send, PushOptions{Report: r.report}) }()
		synctest.Wait()
		if len(r.all()) != 0 {
			t.Error("a gated manager was pushed")
		}
		m.SetReady()
		edit := func(text string) {
			if text != "" {
				check(t, os.WriteFile(dir+"/AGENTS.md", []byte(text), 0o644))
			}
			_, err := m.Resync(t.Context())
			check(t, err)
			synctest.Wait()
		}
		edit("")
		play(stage{m, r, edit, func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}})
		if want == context.Canceled {
			cancel()
		} else {
			m.Close()
		}
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("push ended with %v", err)
		}
		cancel()
	})
}

func TestCase38InitialUntilAnswered(t *testing.T) {
	pushing(t, func(n int, _ chat.Snapshot) (bool, string, error) {
		if n < 3 {
			return false, "", io.ErrUnexpectedEOF
		}
		return true, "", nil
	}, func(p stage) {
		p.elapse(time.Minute)
		p.edit("second")
		got := p.r.all()
		if len(got) != 4 || !got[0].initial || !got[1].initial || !got[2].initial || got[3].initial {
			t.Fatalf("%+v", got)
		}
		for i, want := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond} {
			if waited := got[i+1].at.Sub(got[i].at); waited < want*8/10 || waited > want*12/10 {
				t.Errorf("wait %d is %s", i, waited)
			}
		}
		// The same again is not sent.
		p.edit("")
		p.edit("second")
		if n := len(p.r.all()); n != 4 {
			t.Errorf("%d pushes", n)
		}
		if last := p.r.reports[len(p.r.reports)-1]; p.r.reports[0] == "" || last != "" {
			t.Errorf("%q", p.r.reports)
		}
	}, nil)
}

func TestCase39OnlyTheNewestIsSent(t *testing.T) {
	pushing(t, func(n int, _ chat.Snapshot) (bool, string, error) {
		if n == 1 {
			return false, "", io.EOF
		}
		return true, "", nil
	}, func(p stage) {
		p.edit("second")
		p.edit("third")
		p.edit("fourth")
		p.elapse(time.Minute)
		if got := p.r.all(); len(got) != 2 || got[1].version != 4 || p.m.Snapshot().Version != 4 {
			t.Errorf("%+v", got)
		}
	}, context.Canceled)
}

func TestCase40Refusals(t *testing.T) {
	pushing(t, func(n int, _ chat.Snapshot) (bool, string, error) { return n > 1, "stale", nil }, func(p stage) {
		p.elapse(time.Hour)
		p.edit("")
		if got := p.r.all(); len(got) != 1 || p.r.reports[0] != "refused: stale" {
			t.Errorf("%+v, %q", got, p.r.reports)
		}
		p.edit("second")
		if got := p.r.all(); len(got) != 2 || got[1].initial {
			t.Errorf("%+v", got)
		}
	}, nil)
	pushing(t, func(int, chat.Snapshot) (bool, string, error) {
		return false, "", &chat.Error{Kind: chat.KindInvalid, Message: "no", Detail: "the hash is wrong"}
	}, func(p stage) {
		p.elapse(time.Hour)
		if got := p.r.all(); len(got) != 1 || len(p.r.reports) != 1 || p.r.reports[0] != "the hash is wrong" {
			t.Errorf("%+v, %q", got, p.r.reports)
		}
		p.edit("second")
		if got := p.r.all(); len(got) != 2 || !got[1].initial {
			t.Errorf("%+v", got)
		}
	}, nil)
	pushing(t, func(int, chat.Snapshot) (bool, string, error) { return false, "", ErrUnsupported }, func(p stage) {
		p.edit("second")
		p.elapse(time.Hour)
		if got := p.r.all(); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	}, nil)
}

func TestPushEndsDuringAPause(t *testing.T) {
	never := func(int, chat.Snapshot) (bool, string, error) { return false, "", io.EOF }
	for _, want := range []error{nil, context.Canceled} {
		pushing(t, never, func(p stage) {
			begin := time.Now()
			p.elapse(10 * time.Minute)
			// Doubling to 30 s.
			if n := len(p.r.all()); n < 20 || n > 32 {
				t.Errorf("%d tries in %s", n, time.Since(begin))
			}
		}, want)
	}
	m := New(Options{})
	if Push(t.Context(), m, nil, PushOptions{}) == nil || Push(t.Context(), nil, (&receiver{}).send, PushOptions{}) == nil {
		t.Error("nobody was pushed to")
	}
	m.Close()
}

func TestPushEndsDuringASend(t *testing.T) {
	m := New(Options{})
	m.SetReady()
	if _, err := m.Resync(t.Context()); err != nil {
		t.Fatal(err)
	}
	sending := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- Push(context.Background(), m, func(ctx context.Context, _ chat.Snapshot, _ bool) (bool, string, error) {
			close(sending)
			<-ctx.Done()
			return false, "", ctx.Err()
		}, PushOptions{})
	}()
	<-sending
	m.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
