package kv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

const (
	queueSize  = 8192
	groupCalls = 4096
	groupBytes = 4 << 20
	// unknownWait is how long a caller whose context is over still waits for the outcome of a function that was taken.
	unknownWait = 5 * time.Second
	probeBytes  = 64 << 10
)

// committer is the one goroutine that writes. Its queue is bounded: a full one makes callers wait, with their deadlines.
type committer struct {
	s     *Store
	queue chan *call
	// closing is closed by close; dead once the goroutine has answered everything it took.
	closing chan struct{}
	dead    chan struct{}
	ending  sync.Once
	health  atomic.Pointer[health]
	// carry waits for the next group: the goroutine's own.
	carry []*call
	probe <-chan time.Time
}

type health struct{ state, reason string }

// call is one function of Update on its way.
type call struct {
	fn      func(*Tx) error
	spilled map[[hashSize]byte]bool
	// inline keeps large values in the database.
	inline bool
	// audit is written behind what fn writes; audited says that it was.
	audit   *chat.AuditNote
	audited bool
	// alone runs between commits, outside of any transaction, in place of fn.
	alone func() error
	state atomic.Int32
	done  chan error
	// err is the function's own outcome in the group that is being built.
	err error
}

// States of a call: whoever moves it away from waiting decides whether the function runs.
const (
	callWaiting int32 = iota
	callTaken
	callGone
)

func newCommitter(s *Store) *committer {
	c := &committer{s: s, queue: make(chan *call, queueSize), closing: make(chan struct{}), dead: make(chan struct{})}
	c.health.Store(&health{state: StateOK})
	return c
}

// submit hands a call to the goroutine and waits for its outcome.
func (c *committer) submit(ctx context.Context, cl *call) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	if c.health.Load().state == StateReadOnly && cl.alone == nil {
		return c.readOnly()
	}
	cl.done = make(chan error, 1)
	select {
	case <-c.closing:
		return ErrClosed
	default:
	}
	select {
	case c.queue <- cl:
	case <-ctx.Done():
		return contextError(ctx)
	case <-c.closing:
		return ErrClosed
	}
	select {
	case err := <-cl.done:
		return err
	case <-ctx.Done():
		return c.abandon(ctx, cl)
	case <-c.dead:
		return c.left(cl)
	}
}

// abandon is for a caller whose context is over: a call that was not taken yet is withdrawn, else its outcome is waited for a little.
func (c *committer) abandon(ctx context.Context, cl *call) error {
	if cl.state.CompareAndSwap(callWaiting, callGone) {
		return contextError(ctx)
	}
	timer := time.NewTimer(unknownWait)
	defer timer.Stop()
	select {
	case err := <-cl.done:
		return err
	case <-c.dead:
		return c.left(cl)
	case <-timer.C:
		return ErrUnknown
	}
}

// left is for a call that the goroutine's end met in the queue.
func (c *committer) left(cl *call) error {
	if cl.state.CompareAndSwap(callWaiting, callGone) {
		return ErrClosed
	}
	return <-cl.done
}

func (c *committer) readOnly() error {
	return fmt.Errorf("%w: %s", ErrReadOnly, c.health.Load().reason)
}

// close ends the goroutine after what is queued and joins it.
func (c *committer) close() {
	c.ending.Do(func() { close(c.closing) })
	<-c.dead
}

func (c *committer) run() {
	finished := false
	defer func() {
		if finished {
			close(c.dead)
			return
		}
		// A function ended the goroutine (runtime.Goexit, as testing.T.Fatal does): go on for all others.
		go c.run()
	}()
	for {
		group := c.take()
		if group == nil {
			finished = true
			return
		}
		c.commit(group)
	}
}

// take waits for work and gives what is there; nil ends the goroutine.
func (c *committer) take() []*call {
	group := c.carry
	c.carry = nil
	for len(group) == 0 {
		select {
		case cl := <-c.queue:
			group = appendTaken(group, cl)
		case <-c.probe:
			c.runProbe()
		case <-c.closing:
			select {
			case cl := <-c.queue:
				group = appendTaken(group, cl)
			default:
				return nil
			}
		}
	}
	// Every writer that can run gets to enqueue first: groups double, and a lone writer pays nothing.
	for range 3 {
		runtime.Gosched()
	}
	for len(group) < groupCalls {
		select {
		case cl := <-c.queue:
			group = appendTaken(group, cl)
		default:
			return group
		}
	}
	return group
}

func appendTaken(group []*call, cl *call) []*call {
	if cl.state.CompareAndSwap(callWaiting, callTaken) {
		return append(group, cl)
	}
	return group
}

// commit runs a group up to the first call that wants to be alone, and answers it.
func (c *committer) commit(group []*call) {
	if group[0].alone != nil {
		c.carry = group[1:]
		group[0].done <- c.runAlone(group[0])
		return
	}
	for i, cl := range group {
		if cl.alone != nil {
			c.carry = group[i:]
			group = group[:i]
			break
		}
	}
	switch c.health.Load().state {
	case StateReadOnly:
		c.answer(group, c.readOnly())
	case StateNoSpace:
		// One at a time: a small one, such as a deletion, may still fit.
		c.carry = append(group[1:len(group):len(group)], c.carry...)
		c.commitGroup(group[:1])
	default:
		c.commitGroup(group)
	}
}

// commitGroup makes one transaction of a group. A function that fails after it wrote costs a second run of the group, in which every
// function can be taken back by itself.
func (c *committer) commitGroup(group []*call) {
	revocable := false
	for len(group) > 0 {
		a := c.attempt(group, revocable)
		switch {
		case a.broken != nil:
			// bbolt panicked under this function; nobody else is tied to it.
			a.broken.done <- a.broken.err
			group = without(group, a.broken)
		case a.again:
			revocable = true
		case a.err == nil:
			for _, cl := range group[:a.ran] {
				cl.done <- cl.err
			}
			c.carry = append(group[a.ran:len(group):len(group)], c.carry...)
			return
		case errors.Is(a.err, ErrNoSpace) && len(group) > 1:
			// The state is no_space now, so they come one at a time.
			c.carry = append(group[:len(group):len(group)], c.carry...)
			return
		default:
			c.answer(group, a.err)
			return
		}
	}
}

func (c *committer) answer(group []*call, err error) {
	for _, cl := range group {
		cl.done <- err
	}
}

func without(group []*call, gone *call) []*call {
	kept := make([]*call, 0, len(group))
	for _, cl := range group {
		if cl != gone {
			kept = append(kept, cl)
		}
	}
	return kept
}

// attempt is the outcome of one transaction.
type attempt struct {
	// ran counts the functions in it, from the front of the group.
	ran int
	// again: a function failed after it had written; nothing was committed.
	again bool
	// broken is the function under which bbolt panicked; nothing was committed.
	broken *call
	// err is why the commit failed.
	err error
}

func (c *committer) attempt(group []*call, revocable bool) (a attempt) {
	bt, err := c.s.db.Begin(true)
	if err != nil {
		return attempt{err: c.failed(fmt.Errorf("kv: begin: %w", err), false)}
	}
	committed := false
	var running *call
	defer func() {
		if !committed {
			// The transaction is closed already when its commit failed.
			_ = bt.Rollback()
		}
		if running != nil {
			// Goexit: this function is answered here, the rest goes with the next goroutine.
			c.carry = append(without(group, running), c.carry...)
			running.done <- errors.New("kv: the function ended its goroutine")
		}
	}()
	sh, changed := newShared(bt), false
	for i, cl := range group {
		running = cl
		wrote := c.runOne(cl, sh, revocable)
		running, changed = nil, changed || wrote
		a.ran = i + 1
		switch {
		case sh.broken:
			return attempt{broken: cl}
		case cl.err != nil && wrote && !revocable:
			return attempt{again: true}
		}
		if sh.bytes >= groupBytes {
			break
		}
	}
	if !changed && !sh.nextIDMoved {
		// All of them only read: the disk need not sync twice for that.
		return a
	}
	err = (&txn{shared: sh}).finish()
	if err == nil {
		err = c.s.faults.hit("commit")
	}
	if err != nil {
		a.err = c.failed(err, false)
		return a
	}
	start := time.Now()
	if err := commitBolt(bt); err != nil {
		a.err = c.failed(err, true)
		return a
	}
	committed = true
	if err := c.s.faults.hit("committed"); err != nil {
		a.err = c.failed(err, true)
		return a
	}
	c.s.gauges.committed(a.ran, time.Since(start))
	return a
}

// commitBolt turns a panic of bbolt over broken pages into an error.
func commitBolt(bt *bolt.Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &DamageError{Damage{Noun: "structure", Key: fileName, Reason: fmt.Sprint(r)}}
		}
	}()
	return bt.Commit()
}

// runOne runs a function and leaves its outcome in cl.err. It says whether the function left writes behind in the transaction.
func (c *committer) runOne(cl *call, sh *shared, revocable bool) (wrote bool) {
	tx := newTx(c.s, sh, cl.spilled)
	tx.t.inline = cl.inline
	if revocable {
		sh.beginUndo()
	}
	nextID := sh.nextID
	start := time.Now()
	cl.err = protect(cl.fn, tx)
	cl.noteAudit(tx)
	tx.t.done = true
	if cl.err == nil && tx.t.needSpill != nil {
		cl.err = tx.t.needSpill
	}
	if d := time.Since(start); d > writeBudget {
		c.s.gauges.slowWrites.Add(1)
		c.s.log.Warn("slow write function", chat.LogFunction, functionName(cl.fn), chat.LogDuration, d)
	}
	if revocable && cl.err != nil && !sh.broken {
		if err := sh.rollback(); err != nil {
			cl.err = err
		}
	}
	if cl.err != nil && tx.t.writes == 0 {
		sh.nextID = nextID
	}
	sh.undo = nil
	return tx.t.writes > 0
}

// noteAudit writes the record that came with the call when its function changed something.
func (c *call) noteAudit(tx *Tx) {
	if c.audited = false; c.audit == nil || c.err != nil || tx.t.writes == 0 || tx.t.needSpill != nil {
		return
	}
	a, _ := c.audit.Record()
	c.err = tx.AppendAudit(a)
	c.audited = c.err == nil
}

// protect makes an error of a panic.
func protect(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return fn(tx)
}

// PanicError is what a function of Update gets as its own answer when it panicked; the process and its neighbours go on.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the panic; Stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("kv: the function panicked: %v", e.Value) }

func (c *committer) runAlone(cl *call) error {
	return protect(func(*Tx) error { return cl.alone() }, nil)
}

// failed decides what a failed commit means for its callers and for the store.
func (c *committer) failed(err error, inCommit bool) error {
	if isNoSpace(err) {
		c.setHealth(StateNoSpace, err.Error())
		if c.probe == nil {
			c.probe = c.s.faults.after(probeWait)
		}
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	// After a failed sync a later success proves nothing.
	c.setHealth(StateReadOnly, err.Error())
	if inCommit {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", ErrReadOnly, err)
}

func (c *committer) setHealth(state, reason string) {
	old := c.health.Load()
	if old.state == StateReadOnly || old.state == state {
		return
	}
	c.health.Store(&health{state: state, reason: reason})
	if state == StateOK {
		c.s.log.Info("the store takes writes again")
		return
	}
	c.s.log.Error("the store does not take writes", chat.LogState, state, chat.LogReason, reason)
}

// runProbe tries a commit that needs room, and lifts no_space when it goes through.
func (c *committer) runProbe() {
	c.probe = nil
	if c.health.Load().state != StateNoSpace {
		return
	}
	key := []byte("probe")
	body := make([]byte, probeBytes)
	err := c.s.faults.hit("commit")
	if err == nil {
		err = c.s.db.Update(func(bt *bolt.Tx) error {
			return bt.Bucket([]byte(bMeta.String())).Put(key, encodeRecord(recordVersion, bMeta, key, nil, body))
		})
	}
	if err == nil {
		err = c.s.db.Update(func(bt *bolt.Tx) error { return bt.Bucket([]byte(bMeta.String())).Delete(key) })
	}
	switch {
	case err == nil:
		c.setHealth(StateOK, "")
	case isNoSpace(err):
		c.probe = c.s.faults.after(probeWait)
	default:
		// The answer is nobody's; the state says what came of it.
		c.setHealth(StateReadOnly, err.Error())
	}
}
