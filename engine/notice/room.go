package notice

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// keptNotices is how many Notices of a person are kept, so that a page that reconnects misses none.
const keptNotices = 20

// Room holds the Notices of all people. Its methods may be called from any goroutine.
type Room struct {
	total  *metric.Counter
	pushed *metric.Counter
	// far is set before the first Notice, nil where Notices reach open pages alone.
	far *far

	mu sync.Mutex // guards the rest
	// last is the newest number given; numbers grow over restarts, too.
	last   int64
	people map[chat.UserID]*person
	// unwritten are not in the store yet.
	unwritten []Kept
}

// person is who has Notices or listens for them.
type person struct {
	kept []Kept
	// stored counts Keeps since what is over was last taken out of the store.
	stored  int
	waiting map[chan struct{}]struct{}
}

// Kept is a Notice with its place in the order in which they were told.
type Kept struct {
	Seq    int64
	At     time.Time
	Notice chat.Notice
	// Read: it was read before it was written.
	Read bool
}

// New makes a Room without Notices.
func New(m *metric.Registry, now time.Time) *Room {
	return &Room{last: now.UnixMilli(), people: map[chat.UserID]*person{},
		pushed: m.Counter("holdfast_pushes_total", "Notices sent to browsers and webhooks.", metric.OneOf("result", "sent", "gone", "refused", "failed", "dropped")),
		total:  m.Counter("holdfast_notices_total", "Notices by whether a page listened.", metric.OneOf("result", "heard", "unheard"))}
}

// Post keeps a Notice, unless Keep has, and wakes who listens for it.
func (r *Room) Post(n chat.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.personLocked(n.User)
	r.last++
	k := Kept{Seq: r.last, At: time.Now().UTC(), Notice: n}
	if n.Number == 0 {
		r.keepLocked(k)
	}
	p.kept = append(p.kept, k)
	if over := len(p.kept) - keptNotices; over > 0 {
		p.kept = slices.Delete(p.kept, 0, over)
	}
	result := "unheard"
	if p.wake() {
		result = "heard"
	}
	r.total.Inc(result)
	r.send(n)
}

// wake touches whoever listens; it says whether somebody does. The Room's lock is held.
func (p *person) wake() bool {
	for ch := range p.waiting {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return len(p.waiting) > 0
}

// changed wakes the pages of a person whose list, switches or subscriptions are others now.
func (r *Room) changed(id chat.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.personLocked(id).wake()
}

func (r *Room) personLocked(id chat.UserID) *person {
	p := r.people[id]
	if p == nil {
		p = &person{waiting: map[chan struct{}]struct{}{}}
		r.people[id] = p
	}
	return p
}

// FollowInput subscribes to the principal's Notices.
type FollowInput struct{}

// Watch is a subscription: C is touched, without payload, after each Notice and each change of what the person has set. Newest is the last number given before it. Stop ends it and
// must be called.
type Watch struct {
	C      <-chan struct{}
	Newest int64
	Stop   func()
}

// Follow subscribes. Subscribe before the first Since.
func (r *Room) Follow(_ context.Context, p chat.Principal, _ FollowInput) (Watch, error) {
	ch := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.personLocked(p.UserID).waiting[ch] = struct{}{}
	return Watch{C: ch, Newest: r.last, Stop: sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.people[p.UserID].waiting, ch)
	})}, nil
}

// SinceInput asks for what came behind a number.
type SinceInput struct{ After int64 }

// Since gives the principal's Notices behind a number, oldest first, as far as they are in memory and of kinds that they want to be told of.
func (r *Room) Since(ctx context.Context, p chat.Principal, in SinceInput) ([]Kept, error) {
	out := r.since(p.UserID, in.After)
	if r.far == nil || len(out) == 0 {
		return out, nil
	}
	muted, err := r.Muted(ctx, p, MutedInput{})
	return slices.DeleteFunc(out, func(k Kept) bool { return slices.Contains(muted, k.Notice.Kind) }), err
}

func (r *Room) since(id chat.UserID, after int64) []Kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Kept
	for _, k := range r.personLocked(id).kept {
		if k.Seq > after {
			out = append(out, k)
		}
	}
	return out
}
