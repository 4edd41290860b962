package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// gate holds up the committer at its next commits until it is opened.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
	armed   atomic.Bool
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 1), open: make(chan struct{})} }

func (g *gate) faults() faults {
	return faults{at: func(point string) error {
		if point == "commit" && g.armed.CompareAndSwap(true, false) {
			g.arrived <- struct{}{}
			<-g.open
		}
		return nil
	}}
}

// hold makes the committer wait in a commit of its own, so that what comes next forms one group.
func (g *gate) hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	g.armed.Store(true)
	done := make(chan error, 1)
	go func() {
		done <- s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite("gate", 1) })
	}()
	<-g.arrived
	return func() {
		close(g.open)
		if err := <-done; err != nil {
			t.Errorf("the gate's own update: %v", err)
		}
	}
}

// waitQueued yields until n calls wait in the committer's queue.
func waitQueued(s *Store, n int) {
	for len(s.committer.queue) < n {
		runtime.Gosched()
	}
}

func siteKeys(t *testing.T, s *Store) map[string]bool {
	keys := map[string]bool{}
	view(t, s, func(tx *Tx) error {
		return tx.t.scan(bSite, nil, nil, func(r row) (bool, error) {
			keys[string(r.key)] = true
			return true, nil
		})
	})
	return keys
}

func Test12GroupOf100IsolatesAnErrorAndAPanic(t *testing.T) {
	for _, writes := range []bool{true, false} {
		t.Run(fmt.Sprintf("failing ones write %v", writes), func(t *testing.T) {
			g := newGate()
			s := openTest(t, t.TempDir(), g.faults())
			release := g.hold(t, s)
			before := s.Stats().Commits
			errFifty := errors.New("fifty")
			outcomes := make([]error, 100)
			runs := make([]atomic.Int32, 100)
			var wg sync.WaitGroup
			for n := range 100 {
				wg.Go(func() {
					outcomes[n] = s.Update(context.Background(), func(tx *Tx) error {
						runs[n].Add(1)
						if n != 50 && n != 51 || writes {
							if err := tx.PutSite(fmt.Sprint("key ", n), n); err != nil {
								return err
							}
						}
						switch n {
						case 50:
							return errFifty
						case 51:
							panic("fifty-one")
						}
						return nil
					})
				})
				waitQueued(s, n+1)
			}
			release()
			wg.Wait()
			keys := siteKeys(t, s)
			for n, err := range outcomes {
				var p *PanicError
				switch n {
				case 50:
					if !errors.Is(err, errFifty) {
						t.Errorf("function 50 got %v", err)
					}
				case 51:
					if !errors.As(err, &p) || p.Value != "fifty-one" || !bytes.Contains(p.Stack, []byte("commit_test.go")) {
						t.Errorf("function 51 got %v", err)
					}
				default:
					if err != nil {
						t.Errorf("function %d got its neighbour's error %v", n, err)
					}
				}
				if has, want := keys[fmt.Sprint("key ", n)], n != 50 && n != 51; has != want {
					t.Errorf("function %d left its record: %v", n, has)
				}
			}
			if got := s.Stats().Commits - before; got != 2 {
				t.Errorf("%d commits, want 2: the gate's and one for the group", got)
			}
			if got := runs[0].Load(); writes && got != 2 || !writes && got != 1 {
				t.Errorf("function 0 ran %d times", got)
			}
		})
	}
}

// Many failures in one group must not cost a run of the group each.
func TestManyFailingFunctionsCostTwoRuns(t *testing.T) {
	g := newGate()
	s := openTest(t, t.TempDir(), g.faults())
	release := g.hold(t, s)
	var runs atomic.Int32
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			err := s.Update(context.Background(), func(tx *Tx) error {
				runs.Add(1)
				if err := tx.PutSite(fmt.Sprint(n), n); err != nil {
					return err
				}
				if n%2 == 0 {
					return errors.New("even")
				}
				return nil
			})
			if (err != nil) != (n%2 == 0) {
				t.Errorf("function %d got %v", n, err)
			}
		})
	}
	waitQueued(s, 200)
	release()
	wg.Wait()
	if got := runs.Load(); got > 401 {
		t.Errorf("200 functions ran %d times", got)
	}
	if keys := siteKeys(t, s); len(keys) != 101 {
		t.Errorf("%d records, want 100 and the gate's", len(keys))
	}
}

// A failing function must leave nothing of what it replaced, removed or counted.
func TestFailedFunctionIsTakenBackWhole(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	c := newChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	first := appendText(t, s, c.ID, "kept")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			err := s.Update(context.Background(), func(tx *Tx) error {
				var m chat.MessageID
				if err := errors.Join(appendIn(tx, c.ID, "lost", &m), tx.DeleteFamily(c.ID)); err != nil {
					return err
				}
				return errors.New("no")
			})
			if err == nil {
				t.Error("a failing function succeeded")
			}
		})
	}
	wg.Wait()
	next := appendText(t, s, c.ID, "next")
	if next != first+1 {
		t.Errorf("failed functions used up ids: %d follows %d", next, first)
	}
	view(t, s, func(tx *Tx) error {
		ms, err := tx.Messages(c.ID, MessageQuery{})
		if got := strings.Join(texts(ms), " "); got != "kept next" {
			t.Errorf("history is %q", got)
		}
		return err
	})
}

func TestGoexitInAFunctionEndsOnlyItsCall(t *testing.T) {
	g := newGate()
	s := openTest(t, t.TempDir(), g.faults())
	release := g.hold(t, s)
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			err := s.Update(context.Background(), func(tx *Tx) error {
				if n == 10 {
					runtime.Goexit()
				}
				return tx.PutSite(fmt.Sprint(n), n)
			})
			if (err != nil) != (n == 10) {
				t.Errorf("function %d got %v", n, err)
			}
		})
	}
	waitQueued(s, 20)
	release()
	wg.Wait()
	if keys := siteKeys(t, s); len(keys) != 20 {
		t.Errorf("%d records, want 19 and the gate's", len(keys))
	}
}

func TestContextBeforeAndAfterTheFunctionIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := openTest(t, t.TempDir(), g.faults())
		cause := errors.New("typed cause")

		over, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if err := s.Update(over, func(*Tx) error { panic("ran") }); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("a context that was over gave %v", err)
		}

		release := g.hold(t, s)
		waiting, cancel := context.WithCancelCause(context.Background())
		outcome := make(chan error)
		go func() {
			outcome <- s.Update(waiting, func(tx *Tx) error { return tx.PutSite("withdrawn", 1) })
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-outcome; !errors.Is(err, cause) {
			t.Errorf("a waiting call that was cancelled gave %v", err)
		}
		release()
		update(t, s, func(tx *Tx) error { return tx.PutSite("after", 1) })
		if keys := siteKeys(t, s); keys["withdrawn"] || !keys["after"] {
			t.Errorf("records: %v", keys)
		}
	})
}

func TestUnknownOutcomeAndLateOutcome(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late %v", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				s := openTest(t, t.TempDir(), g.faults())
				ctx, cancel := context.WithCancel(context.Background())
				g.armed.Store(true)
				outcome := make(chan error)
				go func() {
					outcome <- s.Update(ctx, func(tx *Tx) error { return tx.PutSite("taken", 1) })
				}()
				<-g.arrived
				cancel()
				synctest.Wait()
				if late {
					<-time.After(unknownWait / 2)
					close(g.open)
					if err := <-outcome; err != nil {
						t.Errorf("an outcome that came in time gave %v", err)
					}
					return
				}
				if err := <-outcome; !errors.Is(err, ErrUnknown) {
					t.Errorf("an outcome that did not come gave %v", err)
				}
				close(g.open)
				synctest.Wait()
				if !siteKeys(t, s)["taken"] {
					t.Error("the function was not committed; the test shows nothing")
				}
			})
		})
	}
}

func TestFullQueueMakesCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := openTest(t, t.TempDir(), g.faults())
		release := g.hold(t, s)
		var wg sync.WaitGroup
		var done atomic.Int32
		for n := range queueSize {
			wg.Go(func() {
				if err := s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite(fmt.Sprint(n%10), n) }); err != nil {
					t.Error(err)
				}
				done.Add(1)
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := s.Update(ctx, func(*Tx) error { panic("ran") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller behind a full queue got %v", err)
		}
		release()
		wg.Wait()
		if done.Load() != queueSize {
			t.Errorf("%d of %d done", done.Load(), queueSize)
		}
		if c := s.Stats(); c.Functions/c.Commits < groupCalls/2 {
			t.Errorf("%d functions in %d commits: they were not grouped", c.Functions, c.Commits)
		}
	})
}

func TestGroupIsBoundInBytes(t *testing.T) {
	g := newGate()
	s := openTest(t, t.TempDir(), g.faults())
	release := g.hold(t, s)
	var wg sync.WaitGroup
	const n, size = 300, 60 << 10
	value := strings.Repeat("x", size)
	for i := range n {
		wg.Go(func() {
			if err := s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite(fmt.Sprint(i), value) }); err != nil {
				t.Error(err)
			}
		})
	}
	waitQueued(s, n)
	release()
	wg.Wait()
	if got, want := s.Stats().Commits, int64(n*size/groupBytes); got < want {
		t.Errorf("%d commits for %d bytes, want at least %d", got, n*size, want)
	}
}

// TestWhatOnlyReadsIsNotCommitted: a refusal and a key that is known cost no sync; one write in the group, or a number taken, does.
func TestWhatOnlyReadsIsNotCommitted(t *testing.T) {
	refused := errors.New("refused")
	g := newGate()
	s := openTest(t, t.TempDir(), g.faults())
	write := func(tx *Tx) error { return tx.PutSite("a", 1) }
	for _, c := range []struct {
		name    string
		fn      func(*Tx) error
		want    error
		commits int64
	}{
		{"a write", write, nil, 1},
		{"a read", func(tx *Tx) error { var n int; _, err := tx.Site("a", &n); return err }, nil, 0},
		{"a refusal", func(*Tx) error { return refused }, refused, 0},
		{"a deletion of nothing", func(tx *Tx) error { return tx.t.delete(bSite, []byte("nothing")) }, nil, 0},
		{"a deletion", func(tx *Tx) error { return tx.t.delete(bSite, []byte("a")) }, nil, 1},
		{"a number", func(tx *Tx) error { _, err := tx.t.takeID(); return err }, nil, 1},
	} {
		before := s.Stats().Commits
		if err := s.Update(t.Context(), c.fn); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := s.Stats().Commits - before; got != c.commits {
			t.Errorf("%s made %d commits, not %d", c.name, got, c.commits)
		}
	}
	release := g.hold(t, s)
	before := s.Stats().Commits
	done := make(chan error, 2)
	go func() { done <- s.Update(context.Background(), func(*Tx) error { return nil }) }()
	go func() { done <- s.Update(context.Background(), write) }()
	waitQueued(s, 2)
	release()
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
	// The gate's own is one of them.
	if got := s.Stats().Commits - before; got != 2 || !siteKeys(t, s)["a"] {
		t.Errorf("a group of which one writes: %d commits, %v", got, siteKeys(t, s))
	}
}

func TestCloseCommitsWhatWasAcceptedAndRefusesTheRest(t *testing.T) {
	dir := t.TempDir()
	g := newGate()
	s := openTest(t, dir, g.faults())
	release := g.hold(t, s)
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			if err := s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite(fmt.Sprint(n), n) }); err != nil {
				t.Errorf("an accepted function got %v", err)
			}
		})
	}
	waitQueued(s, 50)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.committer.closing
	if err := s.Update(context.Background(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("an update after close got %v", err)
	}
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := s.View(context.Background(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a view after close got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
	s = openTest(t, dir, faults{})
	if keys := siteKeys(t, s); len(keys) != 51 {
		t.Errorf("%d records, want 50 and the gate's", len(keys))
	}
}

func TestTxIsOverWhenItsFunctionIs(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	var kept *Tx
	update(t, s, func(tx *Tx) error { kept = tx; return nil })
	if _, _, err := kept.Chat(newID[chat.ID]()); !errors.Is(err, ErrTxDone) {
		t.Errorf("a read after Update gave %v", err)
	}
	if err := kept.PutSite("a", 1); !errors.Is(err, ErrTxDone) {
		t.Errorf("a write after Update gave %v", err)
	}
	err := s.View(context.Background(), func(tx *Tx) error { return tx.PutSite("a", 1) })
	if !errors.Is(err, ErrNotWritable) {
		t.Errorf("a write in View gave %v", err)
	}
}

// failing makes commits fail with err while it is set.
type failing struct {
	err   atomic.Pointer[error]
	point string
	ticks chan time.Time
}

func (f *failing) set(err error) { f.err.Store(&err) }

func (f *failing) faults() faults {
	return faults{
		at: func(point string) error {
			if p := f.err.Load(); p != nil && point == f.point {
				return *p
			}
			return nil
		},
		after: func(time.Duration) <-chan time.Time { return f.ticks },
	}
}

func TestFullDiskIsAStateThatAProbeLifts(t *testing.T) {
	f := &failing{point: "commit", ticks: make(chan time.Time)}
	s := openTest(t, t.TempDir(), f.faults())
	update(t, s, func(tx *Tx) error { return tx.PutSite("before", 1) })
	f.set(fmt.Errorf("write: %w", syscall.ENOSPC))
	for range 3 {
		err := s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite("lost", 1) })
		if !errors.Is(err, ErrNoSpace) {
			t.Fatalf("a full disk gave %v", err)
		}
	}
	if state, reason := s.State(); state != StateNoSpace || reason == "" {
		t.Fatalf("state %q %q", state, reason)
	}
	if keys := siteKeys(t, s); !keys["before"] || keys["lost"] {
		t.Errorf("records: %v", keys)
	}
	f.ticks <- time.Time{}
	update(t, s, func(*Tx) error { f.set(nil); return nil })
	if state, _ := s.State(); state != StateNoSpace {
		t.Errorf("state %q before a probe went through", state)
	}
	f.ticks <- time.Time{}
	update(t, s, func(tx *Tx) error { return tx.PutSite("after", 1) })
	if state, reason := s.State(); state != StateOK || reason != "" {
		t.Errorf("state %q %q after the probe", state, reason)
	}
	if keys := siteKeys(t, s); !keys["after"] || len(keys) != 2 {
		t.Errorf("records: %v", keys)
	}
}

func TestFailedSyncMakesTheStoreReadOnlyForGood(t *testing.T) {
	for point, want := range map[string]error{"commit": ErrReadOnly, "committed": ErrUnknown} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			f := &failing{point: point}
			s := openTest(t, dir, f.faults())
			update(t, s, func(tx *Tx) error { return tx.PutSite("before", 1) })
			f.set(syscall.EIO)
			if err := s.Update(context.Background(), func(tx *Tx) error { return tx.PutSite("x", 1) }); !errors.Is(err, want) {
				t.Errorf("the failed commit gave %v", err)
			}
			f.set(nil)
			if err := s.Update(context.Background(), func(*Tx) error { panic("ran") }); !errors.Is(err, ErrReadOnly) {
				t.Errorf("the next update gave %v", err)
			}
			if state, _ := s.State(); state != StateReadOnly {
				t.Errorf("state %q", state)
			}
			if !siteKeys(t, s)["before"] {
				t.Error("reading does not work")
			}
			mustBeClean(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if m := metaOf(t, dir); m.Clean {
				t.Error("a read-only store was marked clean: the next start would not check it")
			}
		})
	}
}
