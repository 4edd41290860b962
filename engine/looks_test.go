package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestLooksAreRepeatedMoreAndMoreSeldom: at most diffTries in a row, and anew after a success.
func TestLooksAreRepeatedMoreAndMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := looks{failed: map[chat.WorkspaceID]int{}, again: map[chat.WorkspaceID]*time.Timer{}}
		began := time.Now()
		var at []time.Duration
		again := make(chan struct{}, 1)
		fail := func() { l.fail("w", time.Second, func() { at = append(at, time.Since(began)); again <- struct{}{} }) }
		fail()
		for range diffTries - 1 {
			<-again
			fail()
		}
		time.Sleep(time.Hour)
		if want := []time.Duration{4 * time.Second, 12 * time.Second, 28 * time.Second, 60 * time.Second, 124 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("repeated at %v, want %v", at, want)
		}
		if len(l.failed)+len(l.again) != 0 {
			t.Errorf("it goes on: %+v", l)
		}
		at = nil
		fail()
		l.settle("w")
		time.Sleep(time.Hour)
		if len(at) != 0 {
			t.Errorf("a look that succeeded was repeated at %v", at)
		}
	})
}
