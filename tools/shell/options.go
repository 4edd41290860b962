package shell

import (
	"time"

	"holdfast/engine/chat"
)

// wholeBytes is the longest output that is read back whole, to be made plain before it is cut.
const wholeBytes int64 = 4 << 20

// Options are the bounds of the command Tools; a zero field means its default.
type Options struct {
	// Timeout is how long execute waits when the model does not say (10 s), MaxTimeout the longest (10 min).
	Timeout, MaxTimeout time.Duration
	// Wait is how long process_output waits when the model does not say (10 s), MaxWait the longest (5 min).
	Wait, MaxWait time.Duration
	// Piece is the longest single wait for a Workspace (5 min); longer ones are made of several.
	Piece time.Duration
	// Snapshot bounds the one look at a process after a wait that failed (30 s).
	Snapshot time.Duration
	// Grace is how long a process may take to end before an interrupt kills it or process_signal says that it has not ended (5 s).
	Grace time.Duration
	// LiveEvery is the shortest time between two pieces of live output (100 ms), LiveBytes the largest such piece (4 KiB).
	LiveEvery time.Duration
	LiveBytes int
	// Listed is how many processes process_list shows (10).
	Listed int
	// MaxRuntime gives how long a command may run, 0 without end; nil is without end.
	MaxRuntime func() time.Duration
	// Now is the clock of ages and durations; nil is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.Timeout, 10 * time.Second}, {&o.MaxTimeout, 10 * time.Minute}, {&o.Wait, 10 * time.Second}, {&o.MaxWait, 5 * time.Minute},
		{&o.Piece, 5 * time.Minute}, {&o.Snapshot, 30 * time.Second}, {&o.Grace, 5 * time.Second}, {&o.LiveEvery, 100 * time.Millisecond},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.LiveBytes == 0 {
		o.LiveBytes = 4 << 10
	}
	if o.Listed == 0 {
		o.Listed = 10
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxRuntime == nil {
		o.MaxRuntime = func() time.Duration { return 0 }
	}
	return o
}

// Tools gives the command Tools in the order in which models see them.
func Tools(o Options) []chat.Tool {
	o = o.withDefaults()
	return []chat.Tool{execute{o}, outputTool{o}, listTool{o}, signalTool{o}}
}
