package kv

import (
	"log/slog"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
)

const (
	readBudget  = 50 * time.Millisecond
	writeBudget = 20 * time.Millisecond
)

// Stats are gauges and counters since Open.
type Stats struct {
	// SizeBytes is the size of holdfast.db; FreePages of PageSize bytes wait in it for reuse.
	SizeBytes int64
	PageSize  int
	FreePages int
	// Commits, the Functions in them, and the time that they took with their syncs.
	Commits    int64
	Functions  int64
	CommitTime time.Duration
	// Queued functions wait for the committer.
	Queued int
	// OldestTx is the age of the oldest open snapshot, 0 without one.
	OldestTx   time.Duration
	SlowReads  int64
	SlowWrites int64
	// Damaged counts the damaged things found so far, each once.
	Damaged int
	State   string
}

// Stats gives the store's figures as of now.
func (s *Store) Stats() Stats {
	out := Stats{
		Commits: s.gauges.commits.Load(), Functions: s.gauges.functions.Load(), CommitTime: time.Duration(s.gauges.commitTime.Load()),
		Queued: len(s.committer.queue), OldestTx: s.gauges.oldest(), SlowReads: s.gauges.slowReads.Load(),
		SlowWrites: s.gauges.slowWrites.Load(), Damaged: len(s.damages.list()), PageSize: s.pageSize,
	}
	out.FreePages = s.db.Stats().FreePageN
	out.SizeBytes = s.size()
	out.State, _ = s.State()
	return out
}

// gauges count what Stats tells.
type gauges struct {
	commits, functions, commitTime, slowReads, slowWrites atomic.Int64

	// told may be nil.
	told func(int, time.Duration)

	mu sync.Mutex
	// open holds when each open snapshot began; guarded by mu.
	open map[int64]time.Time
	next int64
}

func newGauges(told func(int, time.Duration)) *gauges {
	return &gauges{told: told, open: map[int64]time.Time{}}
}

func (g *gauges) committed(functions int, d time.Duration) {
	if g.told != nil {
		g.told(functions, d)
	}
	g.commits.Add(1)
	g.functions.Add(int64(functions))
	g.commitTime.Add(int64(d))
}

func (g *gauges) began() int64 {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	g.open[g.next] = now
	return g.next
}

func (g *gauges) ended(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, n)
}

func (g *gauges) oldest() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var oldest time.Duration
	for _, began := range g.open {
		oldest = max(oldest, time.Since(began))
	}
	return oldest
}

// damages remembers what was found broken, each thing once.
type damages struct {
	log *slog.Logger

	mu sync.Mutex
	// seen, found and chats are guarded by mu; chats has the first damage of each Chat's history.
	seen  map[string]bool
	found []Damage
	chats map[chat.ID]Damage
}

// maxDamages bounds the memory of a store that is broken all over; the count says so by standing still.
const maxDamages = 10_000

func newDamages(log *slog.Logger) *damages {
	return &damages{log: log, seen: map[string]bool{}, chats: map[chat.ID]Damage{}}
}

func (d *damages) add(x Damage) {
	key := x.Noun + " " + x.Key
	d.mu.Lock()
	known := d.seen[key] || len(d.found) == maxDamages
	if !known {
		d.seen[key] = true
		d.found = append(d.found, x)
		if _, had := d.chats[x.Chat]; !had && x.ofHistory() {
			d.chats[x.Chat] = x
		}
	}
	d.mu.Unlock()
	if !known {
		d.log.Error("damaged record", chat.LogNoun, x.Noun, chat.LogChat, x.Chat, chat.LogMessage, x.Message, chat.LogKey, x.Key, chat.LogReason, x.Reason)
	}
}

func (d *damages) list() []Damage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Damage(nil), d.found...)
}

// ofHistory: it is about what a Chat says or has waiting, so that the Chat does not go on.
func (d Damage) ofHistory() bool {
	if d.Chat == "" {
		return false
	}
	switch d.Noun {
	case bMessage.String(), bMark.String(), bChat.String(), bQueue.String():
		return true
	}
	return false
}

// DamagedChat says whether something of a Chat's history or queue has been found broken since Open, and what first.
func (s *Store) DamagedChat(id chat.ID) (Damage, bool) {
	s.damages.mu.Lock()
	defer s.damages.mu.Unlock()
	d, found := s.damages.chats[id]
	return d, found
}

// Damages lists what reads, checks and scrubs have found broken since Open, each thing once.
func (s *Store) Damages() []Damage { return s.damages.list() }

func functionName(fn func(*Tx) error) string {
	if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
		return f.Name()
	}
	return "unknown"
}
