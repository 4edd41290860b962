package account

import (
	"fmt"
	"sync"
	"time"

	"holdfast/engine/chat"
)

const (
	// triesName is how many tries a minute may fail for one name from one source; triesSource is how many from one source for all names.
	triesName, triesSource = 5, 20
	// Then waits begin with firstWait and double up to longestWait.
	firstWait, longestWait = 30 * time.Second, 15 * time.Minute
	// maxTried is how many of those that failed are remembered at once.
	maxTried = 10_000
)

// tries counts failed tries to prove oneself, so that nobody can guess for long.
type tries struct {
	now func() time.Time

	mu sync.Mutex
	// by is guarded by mu.
	by map[string]*tried
}

// tried is what failed under one key, and what is being looked at.
type tried struct {
	failures []time.Time
	running  int
	wait     time.Duration
	until    time.Time
}

// allowance is how many tries under a key may fail in a minute.
type allowance struct {
	key  string
	most int
}

func newTries(now func() time.Time) *tries { return &tries{now: now, by: map[string]*tried{}} }

// begin lets one try through, or says how long to wait because there were too many under one of the keys. Tries that are being looked at
// count as failed until end says what came of them: many at once are no way around. Call end exactly once when wait is 0.
func (t *tries) begin(all ...allowance) (end func(worked bool), wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, a := range all {
		k := t.getLocked(a.key, now)
		wait = max(wait, k.until.Sub(now))
		if left := a.most - len(k.failures); k.running > 0 && (k.wait > 0 || k.running >= left) {
			wait = max(wait, time.Second)
		}
	}
	if wait > 0 {
		return nil, wait
	}
	for _, a := range all {
		t.by[a.key].running++
	}
	return func(worked bool) { t.end(all, worked) }, 0
}

// end counts what came of a try. One that worked clears the first key, whose owner has proven themselves; the others are shared.
func (t *tries) end(all []allowance, worked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for i, a := range all {
		k := t.getLocked(a.key, now)
		k.running = max(0, k.running-1)
		switch {
		case !worked:
			k.failed(now, a.most)
		case i == 0:
			k.failures, k.wait, k.until = nil, 0, time.Time{}
		}
	}
}

func (k *tried) failed(now time.Time, most int) {
	k.failures = append(k.failures, now)
	switch {
	case k.wait > 0:
		k.wait = min(2*k.wait, longestWait)
	case len(k.failures) >= most:
		k.wait = firstWait
	default:
		return
	}
	k.until = now.Add(k.wait)
}

// left is how many tries may still fail before the next wait.
func (t *tries) left(a allowance) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.getLocked(a.key, t.now())
	if k.wait > 0 {
		return 0
	}
	return max(0, a.most-len(k.failures))
}

// getLocked gives what is known under a key, without what is too old to count.
func (t *tries) getLocked(key string, now time.Time) *tried {
	k, ok := t.by[key]
	if !ok {
		if len(t.by) >= maxTried {
			t.makeRoomLocked(now)
		}
		k = &tried{}
		t.by[key] = k
	}
	if k.wait > 0 && now.Sub(k.until) > longestWait {
		// Long enough without a failure: it begins anew.
		k.wait, k.failures = 0, nil
	}
	recent := k.failures[:0]
	for _, at := range k.failures {
		if now.Sub(at) < time.Minute {
			recent = append(recent, at)
		}
	}
	k.failures = recent
	return k
}

// makeRoomLocked forgets those that are back to normal, and any when all of them are not.
func (t *tries) makeRoomLocked(now time.Time) {
	for key, k := range t.by {
		if k.running == 0 && now.After(k.until) && (len(k.failures) == 0 || now.Sub(k.failures[len(k.failures)-1]) > time.Minute) {
			delete(t.by, key)
		}
	}
	for key := range t.by {
		if len(t.by) < maxTried {
			return
		}
		delete(t.by, key)
	}
}

// tooManyTries refuses who must wait.
func tooManyTries(wait time.Duration, detail string) *chat.Error {
	return &chat.Error{Kind: chat.KindRateLimited, Message: "Too many failed tries.", RetryAfter: wait, Retryable: true,
		Detail: "Try again in " + waitWords(wait) + "." + detail}
}

// waitWords is a wait as a person says it, rounded up.
func waitWords(wait time.Duration) string {
	n := int64((wait + time.Second - 1) / time.Second)
	unit := "second"
	if n > 90 {
		n, unit = (n+59)/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprint(n, " ", unit)
}
