package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"holdfast/engine/chat"
)

// Names inside the data directory.
const (
	fileName  = "holdfast.db"
	filesDir  = "files"
	tmpDir    = "tmp"
	lockName  = "lock"
	dirMode   = 0o700
	fileMode  = 0o600
	openWait  = 2 * time.Second
	probeWait = 10 * time.Second
)

// Options of Open; the zero value is right for a real store.
type Options struct {
	// MaxBytes bounds holdfast.db; 0 is half of the file system.
	MaxBytes int64
	// Log gets warnings and damage; nil is silent.
	Log *slog.Logger
	// Now is the clock of retention; nil is time.Now.
	Now func() time.Time
	// Committed is told of each commit how many functions it had and how long it took with its sync; it must not wait. May be nil.
	Committed func(functions int, took time.Duration)
	// Version is written to meta.created_by when the store is made.
	Version string
	// CompactAbove is the size from which on Open compacts a database whose pages are over half free; 0 is 256 MiB.
	CompactAbove int64
}

// Store is the open store of one data directory. It is safe for concurrent use. One process has one at a time: hold the directory's
// DirLock before Open.
type Store struct {
	dir   string
	log   *slog.Logger
	now   func() time.Time
	db    *bolt.DB
	files *files
	opening

	committer *committer
	gauges    *gauges
	damages   *damages
	remembered
	faults faults
	end    ending
}

// opening is what this Open counts with: its epoch, and the values of the site configuration that count in the place of stored ones.
type opening struct {
	epoch int64
	// pageSize is bbolt's, in bytes. It is asked for once: a database that is closed has none.
	pageSize int
	fixed    atomic.Pointer[map[string]json.RawMessage]
}

// ending is what Close needs: once, the checks that still run, and how to end them.
type ending struct {
	once      sync.Once
	err       error
	closed    atomic.Bool
	checks    sync.WaitGroup
	endChecks context.CancelFunc
}

// faults are the edges where tests inject errors or kill the process; the zero value is the real world.
type faults struct {
	// at is called at named points; an error counts as that of the operation about to run.
	at func(point string) error
	// after replaces the wait for the next probe in state no_space.
	after func(time.Duration) <-chan time.Time
}

func (f faults) hit(point string) error {
	if f.at == nil {
		return nil
	}
	return f.at(point)
}

// Open opens the store in dir, or makes one. dir must exist. After an unclean stop it checks everything: a broken structure is a
// *DamageError, damaged records are logged and counted, and the rest works. A newer store is a *NewerError.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	return open(ctx, dir, o, faults{})
}

func open(ctx context.Context, dir string, o Options, f faults) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if f.after == nil {
		f.after = time.After
	}
	if o.MaxBytes == 0 {
		total, _, err := fileSystem(dir)
		if err != nil {
			return nil, err
		}
		o.MaxBytes = total / 2
	}
	if err := prepare(dir, o, f); err != nil {
		return nil, readOnlyError(err)
	}
	compactAtStart(ctx, dir, o, f)
	db, err := openBolt(filepath.Join(dir, fileName), o.MaxBytes)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, log: o.Log, now: o.Now, db: db, files: newFiles(dir, o.Now), gauges: newGauges(o.Committed), damages: newDamages(o.Log),
		faults: f}
	s.pageSize = db.Info().PageSize
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// start reads meta, checks after an unclean stop, takes the next epoch and starts the committer.
func (s *Store) start(ctx context.Context) error {
	m, err := s.readMeta()
	if err != nil {
		return err
	}
	if err := s.addUsageDays(); err != nil {
		return readOnlyError(err)
	}
	if err := s.addBuckets(); err != nil {
		return readOnlyError(err)
	}
	if err := s.readHolds(); err != nil {
		return err
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end.endChecks = end
	if !m.Clean {
		if err := s.checkAtStart(ctx, background); err != nil {
			end()
			return err
		}
	}
	s.epoch = m.Epoch + 1
	err = s.faults.hit("start epoch")
	if err == nil {
		err = s.writeMeta(false)
	}
	if err != nil {
		end()
		return readOnlyError(err)
	}
	s.committer = newCommitter(s)
	go s.committer.run()
	return nil
}

// openBolt opens a database file with the settings of the product.
func openBolt(path string, maxBytes int64) (db *bolt.DB, err error) {
	// bbolt panics over pages that it cannot read.
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, &DamageError{Damage{Noun: "structure", Key: fileName, Reason: fmt.Sprint(r)}}
		}
	}()
	if err := checkLength(path); err != nil {
		return nil, err
	}
	db, err = bolt.Open(path, fileMode, &bolt.Options{
		Timeout:         openWait,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: initialMap,
		MaxSize:         int(min(maxBytes, math.MaxInt)),
	})
	if err != nil {
		return nil, boltError(path, err)
	}
	return db, nil
}

// boltError makes a *DamageError of a file that bbolt does not take for its own.
func boltError(path string, err error) error {
	if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
		return &DamageError{Damage{Noun: "structure", Key: fileName, Reason: err.Error()}}
	}
	return readOnlyError(fmt.Errorf("kv: open %s: %w", path, err))
}

// readOnlyError makes ErrReadOnly of a file system that takes no writes, and ErrNoSpace of a full one.
func readOnlyError(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// Epoch grows with each Open; leases carry it.
func (s *Store) Epoch() int64 { return s.epoch }

// View runs fn on a snapshot. Leave it quickly (50 ms): an open snapshot makes the file grow. A longer one is counted and logged.
func (s *Store) View(ctx context.Context, fn func(*Tx) error) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	start := time.Now()
	err := s.view(fn)
	if d := time.Since(start); d > readBudget {
		s.gauges.slowReads.Add(1)
		s.log.Warn("slow read transaction", chat.LogFunction, functionName(fn), chat.LogDuration, d)
	}
	s.note(err)
	return err
}

// view is View without a budget.
func (s *Store) view(fn func(*Tx) error) error {
	if s.end.closed.Load() {
		return ErrClosed
	}
	bt, err := s.db.Begin(false)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("kv: begin: %w", err)
	}
	sh := viewed.Get().(*shared)
	sh.bt = bt
	tx := newTx(s, sh, nil)
	age := s.gauges.began()
	defer func() {
		tx.t.done = true
		sh.release()
		s.gauges.ended(age)
		// The only error of a rollback here is that the transaction is closed, and nobody else can close it.
		_ = bt.Rollback()
	}()
	return fn(tx)
}

// Update runs fn in the next commit and returns once that is synced. fn may run more than once, on another goroutine; it must not keep
// or use its Tx beyond its return. Errors: fn's own (nothing of fn is kept), ErrNoSpace, ErrReadOnly, ErrClosed, the context's (fn was
// never run), ErrUnknown.
//
// An AuditNote of the context is written in the same commit when fn changes something.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	note := chat.AuditOf(ctx)
	if !note.Take() {
		return s.update(ctx, &call{fn: fn})
	}
	c := &call{fn: fn, audit: note}
	err := s.update(ctx, c)
	// Who left before the outcome was known must not look at what the committer may still write.
	note.Settle(errors.Is(err, ErrUnknown) || err == nil && c.audited)
	return err
}

// update runs c until its large values are in files.
func (s *Store) update(ctx context.Context, c *call) error {
	var spilled map[[hashSize]byte]bool
	var asked map[string]bool
	inline := false
	for {
		next := &call{fn: c.fn, audit: c.audit, spilled: spilled, inline: inline}
		err := s.committer.submit(ctx, next)
		var need *spillError
		if !errors.As(err, &need) {
			c.audited = err == nil && next.audited
			s.note(err)
			return err
		}
		if inline = asked[need.place] || len(spilled) >= maxSpills; inline {
			continue
		}
		ref, err := s.spill(ctx, need.body)
		if err != nil {
			return err
		}
		if spilled == nil {
			spilled, asked = map[[hashSize]byte]bool{}, map[string]bool{}
		}
		spilled[ref.Sum], asked[need.place] = true, true
	}
}

// maxSpills is how many values of one function go to files. A function that makes its values anew in each run (with a time or an id in
// them) would ask for ever: one that asks twice for a place, or for too many, has its large values in the database, which can hold them.
const maxSpills = 24

// Close refuses new work, commits what was accepted, marks the store clean and closes it. Further calls give the same answer.
func (s *Store) Close() error {
	s.end.once.Do(func() {
		// First, so that a check that still runs sees its end before it sees a closed store.
		s.end.endChecks()
		s.end.closed.Store(true)
		s.end.checks.Wait()
		s.committer.close()
		var err error
		if state, _ := s.State(); state != StateReadOnly {
			err = s.writeMeta(true)
		}
		s.end.err = errors.Join(err, s.db.Close())
	})
	return s.end.err
}

// Values of State.
const (
	StateOK       = "ok"
	StateNoSpace  = "no_space"
	StateReadOnly = "read_only"
)

// State says whether the store takes writes, and why not.
func (s *Store) State() (state, reason string) {
	h := s.committer.health.Load()
	return h.state, h.reason
}

// note remembers damage that a caller met.
func (s *Store) note(err error) {
	var d *DamageError
	if errors.As(err, &d) {
		s.damages.add(d.Damage)
	}
}

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		errors.Is(err, bolterrors.ErrMaxSizeReached)
}

// syncDir makes renames in a directory durable.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		// Windows syncs no directories; a rename there is durable with the file system's own log.
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Closed says whether Close was called.
func (s *Store) Closed() bool { return s.end.closed.Load() }
