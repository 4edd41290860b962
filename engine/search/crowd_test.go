package search

import (
	"testing"
	"time"
)

func TestACrowdedStoreGoesFirst(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var c crowd
	functions := int64(1_000_000)
	// look is asked after a while in which others committed that many functions.
	look := func(after time.Duration, more int64, chats int) bool {
		start, functions = start.Add(after), functions+more
		return c.waits(start, functions, chats)
	}
	for _, s := range []struct {
		what  string
		after time.Duration
		more  int64
		chats int
		waits bool
	}{
		{"nothing is known of the last second yet", 0, 0, 1, false},
		{"a burst", 10 * time.Millisecond, crowdRate - 1, 1, false},
		{"a quiet second", time.Second, 100, 1, false},
		{"many in a second", time.Second, crowdRate, 1, true},
		{"as many in ten", 10 * time.Second, crowdRate, 1, false},
		{"too many Chats wait", time.Second, 5000, crowdChats, false},
		{"fewer again", time.Second, 5000, crowdChats - 1, true},
		{"a minute is over", crowdWait, 60 * 5000, 1, false},
		{"it stays so until all are indexed", time.Second, 5000, 1, false},
	} {
		if got := look(s.after, s.more, s.chats); got != s.waits {
			t.Errorf("%s: waits %v, want %v", s.what, got, s.waits)
		}
	}
	c.began = time.Time{}
	if !look(time.Second, 5000, 1) {
		t.Error("the Chats that come next do not wait")
	}
}
