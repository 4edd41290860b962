package wctx

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"holdfast/engine/chat"
)

// Timing of a watcher; zero is the default.
type Timing struct {
	// Debounce is how long it must be quiet after a change, Longest how long one that is not quiet is waited for.
	Debounce, Longest time.Duration
	// Retry is how often watches are asked for anew that the system did not have.
	Retry time.Duration
}

func (t Timing) orDefault() Timing {
	def := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	def(&t.Debounce, 250*time.Millisecond)
	def(&t.Longest, 2*time.Second)
	def(&t.Retry, 5*time.Minute)
	return t
}

// watchOptions are what a watcher needs.
type watchOptions struct {
	timing Timing
	build  func() (notifier, error)
	// surround finds the directories of roots, relevant says whether a base name matters.
	surround func(context.Context, []root) (surroundings, error)
	relevant func(base string) bool
	// changed is called after changes, recovered when directories are watched that were not: nobody knows what happened there.
	changed, recovered func()
	log                *slog.Logger
}

// watcher tells of changes around roots. run is its only goroutine; the callbacks run there, one at a time.
type watcher struct {
	o        watchOptions
	notifier notifier
	broken   string
	// turn is held by who changes the watches.
	turn       chan struct{}
	wake, stop chan struct{}

	// mu guards state.
	mu    sync.Mutex
	state watchState
}

// watchState is what a watcher watches.
type watchState struct {
	armed   map[string]bool
	targets map[string]bool
	roots   []root
	epoch   uint64
	// reason is why not everything is watched; short when the system had no more watches.
	reason string
	short  bool
	closed bool
}

// newWatcher makes a watcher; one without a notifier works, watches nothing and says why.
func newWatcher(o watchOptions) (*watcher, error) {
	if o.changed == nil || o.recovered == nil {
		return nil, errors.New("watch: nobody is told of changes")
	}
	w := &watcher{o: o, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	w.state.armed = map[string]bool{}
	var err error
	if w.notifier, err = o.build(); err != nil {
		w.broken = "changes are not seen, refresh by hand: " + reason(err)
	}
	return w, nil
}

// Reason is why changes are not seen everywhere, "" when they are.
func (w *watcher) Reason() string {
	if w.broken != "" {
		return w.broken
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.reason
}

// Sync makes the watched directories those of the roots. A call with an older epoch than one before does nothing.
func (w *watcher) Sync(ctx context.Context, roots []root, epoch uint64) error {
	if w.broken != "" {
		return nil
	}
	set, err := w.o.surround(ctx, roots)
	if err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, short := w.apply(set, roots, epoch); short {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// apply asks the notifier; the caller has the turn. It gives how many directories are new, and whether there was no room for all.
func (w *watcher) apply(set surroundings, roots []root, epoch uint64) (news int, short bool) {
	drop, ok := w.begin(set, roots, epoch)
	if !ok {
		return 0, false
	}
	for _, dir := range drop {
		// A directory that is gone has lost its watch already.
		if err := w.notifier.remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			w.o.log.Debug("a watch was not given back", chat.LogDirectory, dir, chat.LogError, err)
		}
	}
	var problems []string
	for _, dir := range set.dirs {
		// Adding again costs a call and finds a directory that was replaced by another of the same name.
		err := w.notifier.add(dir)
		switch {
		case err == nil:
			if w.arm(dir) {
				news++
			}
			continue
		case exhausted(err):
			problems = append(problems, "changes are not seen everywhere, the system has no more watches; refresh by hand, or raise the limit")
			short = true
		case errors.Is(err, fs.ErrPermission):
			problems = append(problems, "changes in "+shownPath(dir)+" are not seen: "+reason(err))
		case !errors.Is(err, fs.ErrNotExist):
			w.o.log.Warn("a directory cannot be watched", chat.LogDirectory, dir, chat.LogError, err)
		}
		if short {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.reason, w.state.short = strings.Join(problems, "; "), short
	return news, short
}

// begin takes an epoch and gives the directories that are not to be watched any more; false when the epoch is an old one.
func (w *watcher) begin(set surroundings, roots []root, epoch uint64) (drop []string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.state
	if s.closed || epoch < s.epoch {
		return nil, false
	}
	s.epoch, s.roots, s.targets = epoch, roots, set.targets
	wanted := make(map[string]bool, len(set.dirs))
	for _, dir := range set.dirs {
		wanted[dir] = true
	}
	for dir := range s.armed {
		if !wanted[dir] {
			delete(s.armed, dir)
			drop = append(drop, dir)
		}
	}
	return drop, true
}

func (w *watcher) arm(dir string) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh = !w.state.armed[dir]
	w.state.armed[dir] = true
	return fresh
}

// run hears the notifier until Close. The end of ctx ends what it reads just now.
func (w *watcher) run(ctx context.Context) {
	if w.broken != "" {
		<-w.stop
		return
	}
	beat := newPulse(w.o.timing)
	retry := time.NewTimer(w.o.timing.Retry)
	retry.Stop()
	defer retry.Stop()
	defer beat.stop()
	for {
		select {
		case <-w.stop:
			return
		case e, ok := <-w.notifier.events:
			if !ok {
				return
			}
			if w.hear(e) {
				beat.touch()
			}
		case err, ok := <-w.notifier.errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				beat.touch()
				continue
			}
			w.o.log.Warn("watching directories", chat.LogError, err)
		case <-beat.timer.C:
			beat.pending = false
			w.o.changed()
		case <-w.wake:
			retry.Reset(w.o.timing.Retry)
		case <-retry.C:
			if w.again(ctx) {
				retry.Reset(w.o.timing.Retry)
			}
		}
	}
}

// hear says whether an event matters. A watched directory that goes away leaves the set at once.
func (w *watcher) hear(e fsnotify.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.state.armed, e.Name)
		return true
	}
	return e.Has(fsnotify.Create) || w.state.targets[e.Name] || w.o.relevant(filepath.Base(e.Name))
}

// again asks once more for the watches that the system did not have, and says whether some are still missing.
func (w *watcher) again(ctx context.Context) (short bool) {
	w.mu.Lock()
	roots, epoch, before := w.state.roots, w.state.epoch, w.state.reason
	w.mu.Unlock()
	set, err := w.o.surround(ctx, roots)
	if err != nil {
		return true
	}
	select {
	case w.turn <- struct{}{}:
	case <-w.stop:
		return false
	}
	news, short := w.apply(set, roots, epoch)
	<-w.turn
	if news > 0 || w.Reason() != before {
		w.o.recovered()
	}
	return short
}

// Close ends run, which the caller joins. Afterwards Sync does nothing.
func (w *watcher) Close() error {
	w.mu.Lock()
	if w.state.closed {
		w.mu.Unlock()
		return nil
	}
	w.state.closed = true
	w.mu.Unlock()
	close(w.stop)
	// Whoever has the turn would speak to a notifier that is closed.
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.broken != "" {
		return nil
	}
	return w.notifier.close()
}

// pulse fires a while after the last of several touches, but not later than a longer while after the first.
type pulse struct {
	timing  Timing
	timer   *time.Timer
	first   time.Time
	pending bool
}

func newPulse(t Timing) *pulse {
	p := &pulse{timing: t, timer: time.NewTimer(t.Debounce)}
	p.timer.Stop()
	return p
}

func (p *pulse) touch() {
	now := time.Now()
	if !p.pending {
		p.pending, p.first = true, now
	}
	p.timer.Reset(min(p.timing.Debounce, p.first.Add(p.timing.Longest).Sub(now)))
}

func (p *pulse) stop() { p.timer.Stop() }
