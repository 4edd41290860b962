package main

import (
	"strings"
	"testing"
)

func TestRestGivesMemoryBack(t *testing.T) {
	const mega = 1 << 20
	var allocated uint64
	given := 0
	r := &rest{allocated: func() uint64 { return allocated }, giveBack: func() { given++ }}
	for i, step := range []struct {
		more uint64
		want int
		why  string
	}{
		{3 * mega, 0, "the start was not over"},
		{mega / 2, 1, "the start is over"},
		{mega / 2, 1, "nothing was done since"},
		{50 * mega, 1, "busy"},
		{50 * mega, 1, "still busy"},
		{mega, 2, "what was busy is at rest"},
		{mega, 2, "too little was done since"},
		{mega, 2, "too little was done since"},
		{mega, 2, "too little was done since"},
		{mega, 3, "little by little it was enough"},
	} {
		allocated += step.more
		if r.look(); given != step.want {
			t.Fatalf("look %d, %s: given back %d times, want %d", i, step.why, given, step.want)
		}
	}
}

func TestRestCountsWhatIsAllocated(t *testing.T) {
	r := newRest()
	before := r.allocated()
	kept := strings.Repeat("x", 10*restQuiet)
	if more := r.allocated() - before; more < uint64(len(kept)) {
		t.Errorf("%d bytes were allocated, %d are counted", len(kept), more)
	}
}
