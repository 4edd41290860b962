package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// pollEvery finds work that no wake announced; sweepEvery recovers Chats without a runner.
const (
	pollEvery  = time.Second
	sweepEvery = 30 * time.Second
	// writeTimeout bounds the detached context of a final write.
	writeTimeout = 10 * time.Second
)

// runner owns the goroutines that run Chats: the acquire loop, the sweep, and one goroutine per running Chat.
type runner struct {
	e       *Engine
	ctx     context.Context
	stop    context.CancelCauseFunc
	wakes   chan struct{}
	joined  sync.WaitGroup
	sweeper sync.WaitGroup
	locks   workspaceLocks
	// seats are the slots in all and in use.
	seats seats

	mu sync.Mutex // guards seats.busy, taken, passed and closed
	// taken holds the Chats that a goroutine of ours is acquiring or running.
	taken map[chat.ID]*held
	// passed: some Chat was not started since no slot was free. A slot that comes free then looks for it.
	passed bool
	closed bool
}

// pool tells whose slots a Chat uses: a root that waits for its Sub-agents must not keep them from running.
type pool int

const (
	rootChats pool = iota
	childChats
	pools
)

func poolOf(child bool) pool {
	if child {
		return childChats
	}
	return rootChats
}

// held is a Chat with a goroutine of ours.
type held struct {
	pool pool
	// again: it was woken meanwhile.
	again bool
}

// seats are the slots for root Chats, how many of each pool are in use, and the line of those that wait for one.
type seats struct {
	turns atomic.Int32
	busy  [pools]int
	line  line
}

// slots is how many Chats of a pool run at once.
func (r *runner) slots(k pool) int {
	if k == childChats {
		return r.e.bounds.ChildTurns
	}
	return int(r.seats.turns.Load())
}

// Behave takes over how many Turns run at once; what runs goes on.
//
//guard:none main tells it what the site says
func (e *Engine) Behave(c chat.BehaviourConfig) {
	turns := e.bounds.RunningTurns
	if c.RunningTurns > 0 && !e.bounds.FixedTurns {
		turns = c.RunningTurns
	}
	e.runner.seats.turns.Store(int32(turns))
	e.runner.nudge()
}

func newRunner(e *Engine) *runner {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &runner{e: e, ctx: ctx, stop: stop, wakes: make(chan struct{}, 1), taken: map[chat.ID]*held{}, closed: true}
	r.seats.line = line{begun: e.now().UTC(), at: time.Now()}
	r.seats.turns.Store(int32(e.bounds.RunningTurns))
	return r
}

func (r *runner) start() {
	r.mu.Lock()
	r.closed = false
	r.mu.Unlock()
	r.sweeper.Go(r.loop)
	r.sweeper.Go(func() { r.e.readDiffs(r.ctx) })
}

// wake runs the Chat at once when a slot is free, else leaves it to the loop.
func (r *runner) wake(id chat.ID, child bool) {
	if !r.reserve(id, poolOf(child)) {
		r.nudge()
	}
}

// nudge lets the loop look for work.
func (r *runner) nudge() {
	select {
	case r.wakes <- struct{}{}:
	default:
	}
}

// reserve takes a slot for the Chat and starts its goroutine; a Chat whose goroutine is about to end is run by it once more. It is false
// when no slot is free or we are closing.
func (r *runner) reserve(id chat.ID, k pool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if h := r.taken[id]; h != nil {
		h.again = true
		return true
	}
	if r.seats.busy[k] >= r.slots(k) {
		r.passed = true
		return false
	}
	r.seats.busy[k]++
	r.taken[id] = &held{pool: k}
	r.joined.Go(func() {
		r.acquireAndRun(id)
		r.again(id)
	})
	return true
}

// again runs the Chat for as long as it was woken meanwhile, then gives its slot back.
func (r *runner) again(id chat.ID) {
	for r.woken(id) {
		r.acquireAndRun(id)
	}
}

// woken says whether the Chat was woken while it ran; if not, its slot is given back.
func (r *runner) woken(id chat.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.taken[id]
	if h.again && !r.closed && !r.passed {
		h.again = false
		return true
	}
	if h.again {
		// Others have waited longer: the store knows the order.
		r.passed = true
	}
	r.seats.busy[h.pool]--
	delete(r.taken, id)
	if r.passed {
		r.nudge()
	}
	return false
}

func (r *runner) loop() {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	// What the last process left pending waits for no tick.
	r.nudge()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-sweep.C:
			if err := r.e.sweep(r.ctx); err != nil && r.ctx.Err() == nil {
				r.e.log.Error("sweep for chats without a runner failed", chat.LogError, err)
			}
		case <-r.wakes:
		case <-poll.C:
		}
		if err := r.e.endLate(r.ctx); err != nil && r.ctx.Err() == nil {
			r.e.log.Error("late calls could not be answered", chat.LogError, err)
		}
		if err := r.takePending(); err != nil && r.ctx.Err() == nil {
			r.e.log.Error("looking for pending chats failed", chat.LogError, err)
		}
	}
}

// takePending starts as many pending Chats as there are free slots, oldest first.
func (r *runner) takePending() error {
	r.mu.Lock()
	var free [pools]int
	for k := range pools {
		free[k] = r.slots(k) - r.seats.busy[k]
	}
	taken := len(r.taken)
	if free[rootChats] > 0 && free[childChats] > 0 {
		r.passed = false
	}
	r.mu.Unlock()
	for k, n := range free {
		if n <= 0 {
			continue
		}
		if err := r.takeFrom(pool(k), n, taken); err != nil {
			return err
		}
	}
	return nil
}

// takeFrom starts pending Chats of one pool.
func (r *runner) takeFrom(k pool, free, taken int) error {
	var pending []chat.ID
	// Chats that a goroutine is just acquiring are still pending in the store: look past them.
	limit := min(free, r.e.bounds.AcquireBatch) + taken
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
		pending, err = tx.PendingChats(limit, k == childChats)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range pending {
		if !r.holds(id) {
			r.reserve(id, k)
		}
	}
	if len(pending) == limit {
		// There may be more than one look takes.
		r.mu.Lock()
		r.passed = true
		r.mu.Unlock()
	}
	return nil
}

// holds: a goroutine of ours is acquiring or running the Chat.
func (r *runner) holds(id chat.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ours := r.taken[id]
	return ours
}

func (r *runner) acquireAndRun(id chat.ID) {
	ru := r.newRun(id)
	defer r.e.feed.unregister(id, ru)
	ctx, cancel := context.WithTimeout(r.ctx, writeTimeout)
	out, err := r.e.change(ctx, ru.acquire())
	cancel()
	if err != nil {
		var refused *chat.Error
		if !errors.As(err, &refused) && r.ctx.Err() == nil {
			r.e.log.Error("acquiring a chat failed", chat.LogChat, id, chat.LogError, err)
		}
		return
	}
	ru.do(r.ctx, out.chat)
}

// cancel ends the run that holds the lease with a cause. A later run of the same Chat is never met.
func (r *runner) cancel(id chat.ID, owner *chat.Lease, cause chat.Cause) {
	if ru := r.e.feed.runOf(id); ru != nil && owner != nil && ru.lease == *owner {
		ru.stop(cause)
	}
}

func (r *runner) close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(chat.CauseShutdown)
	done := make(chan struct{})
	go func() {
		r.sweeper.Wait()
		r.joined.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
