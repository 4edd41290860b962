package link

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// glance is how long a person waits for an Agent that is away: chat.Impatient marks who does.
const glance = time.Second

// Times are how long things may take; 0 is the default.
type Times struct {
	// Proof bounds the proof, and the greeting after it.
	Proof time.Duration
	// Absence is how long a call waits for an Agent that is away.
	Absence time.Duration
	// Heartbeat is how often an Agent speaks, Silence after how long without a word it counts as offline.
	Heartbeat, Silence time.Duration
	// RetryFirst doubles to RetryMost between dials, and begins anew after Health of a link. Refused is the pause after a refusal.
	RetryFirst, RetryMost, Health, Refused time.Duration
	// Write is how long a frame may take to be written, Dial how long a connection to be made.
	Write, Dial time.Duration
	// Piece is the longest wait that one request asks for.
	Piece time.Duration
	// Call is how long a call of an MCP tool may take once it is sent; beside the Agent it has a minute.
	Call time.Duration
}

func (t Times) filled() Times {
	for _, d := range []struct {
		to   *time.Duration
		than time.Duration
	}{{&t.Proof, 10 * time.Second}, {&t.Absence, time.Minute}, {&t.Heartbeat, 15 * time.Second}, {&t.Silence, 45 * time.Second},
		{&t.RetryFirst, 250 * time.Millisecond}, {&t.RetryMost, 30 * time.Second}, {&t.Health, time.Minute}, {&t.Refused, 5 * time.Minute},
		{&t.Write, 10 * time.Second}, {&t.Dial, 10 * time.Second}, {&t.Piece, 5 * time.Minute}, {&t.Call, 75 * time.Second}} {
		*d.to = cmp.Or(*d.to, d.than)
	}
	return t
}

// backoff gives the pauses between dials.
type backoff struct {
	times Times
	next  time.Duration
}

// pause gives the next pause, within a fifth of its length more or less, after a link that lasted so long.
func (b *backoff) pause(lasted time.Duration) time.Duration {
	if b.next == 0 || lasted >= b.times.Health {
		b.next = b.times.RetryFirst
	}
	d := b.next
	b.next = min(2*b.next, b.times.RetryMost)
	return jitter(d)
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
