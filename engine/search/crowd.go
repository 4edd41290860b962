package search

import "time"

// The store is crowded when others commit crowdRate functions in a second. Indexing then waits until that is over, until crowdChats Chats wait,
// or for crowdWait; it looks every crowdLook.
const (
	crowdRate  = 500
	crowdChats = 1000
	crowdWait  = time.Minute
	crowdLook  = time.Second
)

// crowd lets a crowded store do its work first. A Chat whose next Turns come meanwhile is indexed once for all of them; until then a search reads
// their Messages itself.
type crowd struct {
	// looked is when it was looked at last, and functions how many had been committed by then.
	looked    time.Time
	functions int64
	// began is when the Chats that wait began to; zero while none does.
	began time.Time
}

// waits says whether the Chats that are to be indexed should wait; functions is how many were committed so far.
func (c *crowd) waits(now time.Time, functions int64, chats int) bool {
	since, more := now.Sub(c.looked).Seconds(), functions-c.functions
	c.looked, c.functions = now, functions
	if c.began.IsZero() {
		c.began = now
	}
	crowded := more >= crowdRate && float64(more) >= crowdRate*since
	return crowded && chats < crowdChats && now.Sub(c.began) < crowdWait
}
