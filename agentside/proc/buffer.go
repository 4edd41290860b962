package proc

import (
	"context"
	"sync"
	"time"
)

const (
	keepHead = 16 << 10
	keepTail = 16 << 10
	maxLine  = 2048
	// keepAlone is the longest output without a file of its own: the smallest Result, 4 KiB of JSON, holds it whole even where each
	// byte is escaped to six.
	keepAlone = 512
)

// exit is how a process ended.
type exit struct {
	code   int
	signal string
	err    string
	at     time.Time
}

// buffer keeps the first and the last 16 KiB of what is written to it. Writing never fails and never waits for a reader.
type buffer struct {
	// mu guards everything here; woken is its Cond and is broadcast when the process ends or a waiter gives up.
	mu    sync.Mutex
	woken sync.Cond
	head  []byte
	// tail is a ring once it is full; oldest is where it begins then.
	tail   []byte
	oldest int
	total  int64
	ended  bool
	exit   exit
}

func newBuffer() *buffer {
	b := &buffer{}
	b.woken.L = &b.mu
	return b
}

// write appends p.
func (b *buffer) write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += int64(len(p))
	if room := keepHead - len(b.head); room > 0 {
		taken := min(room, len(p))
		b.head = fill(b.head, p[:taken], keepHead)
		p = p[taken:]
	}
	if len(p) > keepTail {
		p = p[len(p)-keepTail:]
	}
	if room := keepTail - len(b.tail); room > 0 {
		taken := min(room, len(p))
		b.tail = fill(b.tail, p[:taken], keepTail)
		p = p[taken:]
	}
	for len(p) > 0 {
		taken := copy(b.tail[b.oldest:], p)
		b.oldest = (b.oldest + taken) % keepTail
		p = p[taken:]
	}
}

// fill appends p to what will never be longer than most, and takes no room beyond that.
func fill(to, p []byte, most int) []byte {
	if need := len(to) + len(p); need > cap(to) {
		to = append(make([]byte, 0, min(most, max(need, 2*cap(to)))), to...)
	}
	return append(to, p...)
}

// outgrows: with p more is written than a Result is sure to hold whole.
func (b *buffer) outgrows(p []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total+int64(len(p)) > keepAlone
}

// view is a copy of a buffer.
type view struct {
	head, tail []byte
	total      int64
	ended      bool
	exit       exit
}

func (b *buffer) view() view {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := view{head: append([]byte(nil), b.head...), total: b.total, ended: b.ended, exit: b.exit}
	v.tail = append(append(v.tail, b.tail[b.oldest:]...), b.tail[:b.oldest]...)
	return v
}

// finish ends the buffer and wakes all who wait.
func (b *buffer) finish(e exit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended, b.exit = true, e
	b.woken.Broadcast()
}

func (b *buffer) state() (ended bool, e exit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended, b.exit
}

// wait returns when the process has ended, d has passed or ctx ends.
func (b *buffer) wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		// With the lock, so that it cannot fall between a waiter's look at ctx and its sleep.
		b.mu.Lock()
		defer b.mu.Unlock()
		b.woken.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended && ctx.Err() == nil {
		b.woken.Wait()
	}
}
