package engine

import (
	"slices"
	"time"

	"holdfast/engine/chat"
)

// refuseTogether refuses a whole batch in which an exclusive Tool was not called by itself: nothing of it runs, and nothing waits for a
// person or a client. Calls of unknown Tools do not count and keep their own Results.
func refuseTogether(batch []planned, exclusive []string, now time.Time) {
	calls, first := 0, ""
	for i := range batch {
		p := &batch[i]
		if p.tool == nil {
			continue
		}
		calls++
		if first == "" && slices.Contains(exclusive, p.call.Name) {
			first = p.call.Name
		}
	}
	if first == "" || calls < 2 {
		return
	}
	for i := range batch {
		p := &batch[i]
		if p.tool == nil {
			continue
		}
		text := chat.TextSkipped(first)
		if slices.Contains(exclusive, p.call.Name) {
			text = chat.TextExclusive(p.call.Name)
		}
		refused := failedResult(p.call, text, now)
		p.refused, p.ask = &refused, false
	}
}
