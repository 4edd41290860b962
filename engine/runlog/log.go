package runlog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/engine/chat"
)

// Bounds of a Log.
const (
	MaxAge   = 14 * 24 * time.Hour
	MaxBytes = 1 << 30
	// waiting is how many calls, and waitingBytes how much text, may wait to be written; what comes then is left out.
	waiting      = 256
	waitingBytes = 32 << 20
	// maxText bounds each text of an answer, which a model that never ends would fill.
	maxText = 1 << 20
	// share is the writer's part of one core, one in so many: some hundred calls a second are noted, and Turns come first.
	share = 20
	// maxPause follows what took long by itself, such as a sweep.
	maxPause = 100 * time.Millisecond
)

// Options of Open. Zero values take the defaults.
type Options struct {
	// Clean takes secrets out of a text; nil leaves it as it is.
	Clean func(string) string
	// Room says whether the disk has room for what nobody needs to go on; nil is always.
	Room     func() bool
	MaxBytes int64
	Log      *slog.Logger
	Now      func() time.Time
}

// Log is the run log of one data directory. One goroutine writes; any may read. Close ends it.
type Log struct {
	dir     string
	o       Options
	off     atomic.Bool
	held    atomic.Int64
	dropped atomic.Int64
	queue   chan job
	closing chan struct{}
	done    sync.WaitGroup

	mu     sync.RWMutex // guards closed, so that nothing is put into a closed queue
	closed bool
}

// job is an entry to write, or a mark: done is closed when all before it is written. forget removes a Chat's entries.
type job struct {
	entry  *entry
	forget chat.ID
	done   chan struct{}
}

// entry is one call as it waits to be written.
type entry struct {
	run   Run
	body  []byte
	texts Texts
}

func (e *entry) bytes() int64 {
	const span = 160
	return int64(len(e.body) + len(e.texts.Text) + len(e.texts.Reasoning) + span*len(e.run.Spans))
}

// Open makes or opens the log in dir.
func Open(dir string, o Options) (*Log, error) {
	if o.Clean == nil {
		o.Clean = func(s string) string { return s }
	}
	if o.Room == nil {
		o.Room = func() bool { return true }
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &Log{dir: dir, o: o, queue: make(chan job, waiting), closing: make(chan struct{})}
	l.done.Go(l.write)
	return l, nil
}

// On says whether calls are noted.
func (l *Log) On() bool { return !l.off.Load() }

// Close writes what waits and ends the Log.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.closing)
		close(l.queue)
		l.done.Wait()
	}
}

// add leaves an entry to the writer. It never waits.
func (l *Log) add(e entry) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return
	}
	if l.held.Add(e.bytes()) > waitingBytes {
		l.drop(&e)
		return
	}
	select {
	case l.queue <- job{entry: &e}:
	default:
		l.drop(&e)
	}
}

// Trace notes what a run spent its time on. It never waits.
func (l *Log) Trace(t chat.Trace) {
	if !l.On() {
		return
	}
	l.add(entry{run: Run{ID: t.ID, ChatID: t.Chat, Purpose: purposeTrace, StartedAt: t.At, Times: Times{Total: t.Took}, FinishReason: t.Result,
		Message: t.Message, Spans: t.Spans}})
}

func (l *Log) drop(e *entry) {
	l.held.Add(-e.bytes())
	l.dropped.Add(1)
}

// Forget removes a Chat's entries, soon.
func (l *Log) Forget(id chat.ID) error { return l.put(context.Background(), job{forget: id}) }

// settle returns when all that was added before is written.
func (l *Log) settle(ctx context.Context) error {
	mark := job{done: make(chan struct{})}
	if err := l.put(ctx, mark); err != nil {
		return err
	}
	select {
	case <-mark.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errClosed: the appliance stops.
var errClosed = errors.New("runlog: closed")

func (l *Log) put(ctx context.Context, j job) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return errClosed
	}
	select {
	case l.queue <- j:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	// sweepEvery is how often the writer looks for what is too old.
	sweepEvery = time.Hour
	// quietAfter is how long nothing must have come before the writer lets its compressor go.
	quietAfter = 2 * time.Second
)

// write is the one goroutine that touches the files.
func (l *Log) write() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	w := writer{l: l}
	w.sweep()
	for {
		select {
		case j, open := <-l.queue:
			if !open {
				return
			}
			begun := time.Now()
			w.take(j)
			w.pause(time.Since(begun))
			quiet.Reset(quietAfter)
		case <-quiet.C:
			w.packer = packer{}
		case <-tick.C:
			w.sweep()
		}
	}
}

// writer knows how much all files hold, and what went wrong last.
type writer struct {
	l      *Log
	packer packer
	total  int64
	failed time.Time
}

func (w *writer) take(j job) {
	l := w.l
	switch {
	case j.entry != nil:
		l.held.Add(-j.entry.bytes())
		if !l.o.Room() {
			l.dropped.Add(1)
			return
		}
		n, err := l.append(j.entry, &w.packer)
		if w.total += n; err != nil {
			l.dropped.Add(1)
			w.complain("a model call could not be noted", err)
		}
		if w.total > l.o.MaxBytes {
			w.sweep()
		}
	case j.forget != "":
		days, err := l.days()
		for _, day := range days {
			if e := os.Remove(l.file(day, j.forget)); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			w.complain("the calls of a deleted chat were left", err)
		}
	}
	if j.done != nil {
		close(j.done)
	}
}

// pause keeps the writer to its share of a core, until the Log closes.
func (w *writer) pause(took time.Duration) {
	t := time.NewTimer(min(took*(share-1), maxPause))
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.l.closing:
	}
}

// complain tells of a failure once a minute: a full disk fails every time.
func (w *writer) complain(what string, err error) {
	if now := w.l.o.Now(); now.Sub(w.failed) >= time.Minute {
		w.failed = now
		w.l.o.Log.Warn(what, slog.Any(chat.LogError, err))
	}
}

// sweep removes days that are too old, then the oldest ones until all others fit; of the last day, the Chats that were quiet longest.
func (w *writer) sweep() {
	l := w.l
	days, err := l.days()
	if err != nil {
		w.complain("the run log cannot be read", err)
		return
	}
	oldest := l.o.Now().UTC().Add(-MaxAge).Format(time.DateOnly)
	type file struct {
		path string
		day  string
		size int64
		at   time.Time
	}
	var files []file
	w.total = 0
	for _, day := range days {
		dir := filepath.Join(l.dir, day)
		if day < oldest {
			err = errors.Join(err, os.RemoveAll(dir))
			continue
		}
		list, e := os.ReadDir(dir)
		err = errors.Join(err, e)
		for _, f := range list {
			if info, e := f.Info(); e == nil {
				files = append(files, file{filepath.Join(dir, f.Name()), day, info.Size(), info.ModTime()})
				w.total += info.Size()
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		if a.day != b.day {
			if a.day < b.day {
				return -1
			}
			return 1
		}
		return a.at.Compare(b.at)
	})
	// A tenth below the bound, so that not every call sweeps.
	room := l.o.MaxBytes
	if w.total > room {
		room -= room / 10
	}
	for _, f := range files {
		if w.total <= room {
			break
		}
		if e := os.Remove(f.path); e != nil {
			err = errors.Join(err, e)
			continue
		}
		w.total -= f.size
	}
	for _, day := range days {
		// One that still holds calls stays.
		if e := os.Remove(filepath.Join(l.dir, day)); e != nil && !errors.Is(e, syscall.ENOTEMPTY) && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		w.complain("the run log could not be swept", err)
	}
}

// days lists the folders, oldest first.
func (l *Log) days() ([]string, error) {
	list, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range list {
		if _, err := time.Parse(time.DateOnly, d.Name()); err == nil && d.IsDir() {
			out = append(out, d.Name())
		}
	}
	return out, nil
}

func (l *Log) file(day string, id chat.ID) string {
	return filepath.Join(l.dir, day, string(id)+".log")
}
