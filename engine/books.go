package engine

import (
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// coldLoad is the shortest time of loading that shows that a model was not in memory.
const coldLoad = 200 * time.Millisecond

// books are what a run notes for its next commit, and the request of its Step. Tools write in them from their own goroutines.
type books struct {
	// turn is the Message that the Turn answers; it is set before anything else begins.
	turn chat.MessageID
	// sent is the request of the running Step; it is set before its Tools begin.
	sent prompt.Built
	// trace says what the run spent its time on.
	trace *tracer

	mu sync.Mutex // guards the rest
	// spent are the model calls beside the Step's own; loads is how long models took to load.
	spent []*chat.UsageEntry
	loads map[chat.ModelConfigID]time.Duration
	// taken counts the entries of spent that a commit is writing.
	taken int
}

func (b *books) spend(u *chat.UsageEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = append(b.spent, u)
}

// loaded notes how long a call waited for its model to be loaded; a model in memory tells nothing.
func (b *books) loaded(id chat.ModelConfigID, took time.Duration) {
	if took < coldLoad {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loads == nil {
		b.loads = map[chat.ModelConfigID]time.Duration{}
	}
	b.loads[id] = took
}

// open gives what the next commit writes.
func (b *books) open() ([]*chat.UsageEntry, map[chat.ModelConfigID]time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = len(b.spent)
	loads := make(map[chat.ModelConfigID]time.Duration, len(b.loads))
	for id, took := range b.loads {
		loads[id] = took
	}
	return b.spent[:b.taken:b.taken], loads
}

// settled forgets what was written.
func (b *books) settled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent, b.taken, b.loads = b.spent[b.taken:], 0, nil
}
