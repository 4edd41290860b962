package engine

import (
	"fmt"
	"testing"

	"holdfast/engine/chat"
)

// Who does not look for long is told to read all, and holds no more than the bound meanwhile.
func TestAListenerThatDoesNotLookForgetsNothing(t *testing.T) {
	f := newFeed()
	l, stop := f.subscribeOwner("u")
	defer stop()
	for range 3 {
		f.touchOwner("u", "a")
		f.touchOwner("somebody", "b")
	}
	<-l.wake
	if ids, all := f.changedOf(l); len(ids) != 1 || ids[0] != "a" || all {
		t.Errorf("%v %v", ids, all)
	}
	if ids, all := f.changedOf(l); len(ids) != 0 || all {
		t.Errorf("asked again: %v %v", ids, all)
	}
	for i := range maxTouched + 5 {
		f.touchOwner("u", chat.ID(fmt.Sprint(i)))
	}
	if ids, all := f.changedOf(l); len(ids) != maxTouched || !all {
		t.Errorf("%d ids, all %v", len(ids), all)
	}
	stop()
	f.touchOwner("u", "a")
	if len(f.owners) != 0 {
		t.Error("a listener is left")
	}
}
