package runlog

import (
	"context"
	"maps"
	"slices"
	"time"

	"holdfast/engine/chat"
)

// Turn is what one lease on a Chat spent its time on: the Spans of its Trace and the model calls made for it, each ascending. Whole is false
// while it runs, and when it was cut. A call beside all Turns, such as a title that a person asked for, is a Turn of its own without Spans.
type Turn struct {
	ID      string
	At      time.Time
	Took    time.Duration
	Message chat.MessageID
	Result  string
	Whole   bool
	Spans   []chat.Span
	Calls   []Run
}

// TurnsInput asks for the last Turns of a Chat, the newest first, behind BeforeID where that is set. Limit is 1 to 50.
type TurnsInput struct {
	ChatID   chat.ID
	BeforeID string
	Limit    int
}

// TurnsOutput is one page, as ListOutput is.
type TurnsOutput struct {
	Turns      []Turn
	HasMore    bool
	Unreadable int
	Dropped    int64
	On         bool
}

// Turns gives one page of what a Chat's Turns spent their time on.
func (r *Room) Turns(ctx context.Context, _ chat.Principal, in TurnsInput) (TurnsOutput, error) {
	out := TurnsOutput{On: r.log.On(), Dropped: r.log.dropped.Load()}
	if in.Limit < 1 || in.Limit > 50 {
		return out, chat.Invalid("limit", "It must be 1 to 50.")
	}
	days, err := r.settledDays(ctx, in.ChatID)
	if err != nil {
		return out, err
	}
	// A Turn may begin on one day and end on the next.
	found := map[string]*Turn{}
	for _, day := range slices.Backward(days) {
		bad, err := r.log.each(day, in.ChatID, func(run Run, _ []byte) bool {
			collect(found, run)
			return true
		})
		if err != nil {
			return out, err
		}
		if out.Unreadable += bad; countBefore(found, in.BeforeID) > in.Limit {
			break
		}
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		if in.BeforeID != "" && id >= in.BeforeID {
			continue
		}
		if len(out.Turns) == in.Limit {
			out.HasMore = true
			break
		}
		out.Turns = append(out.Turns, found[id].ordered())
	}
	return out, nil
}

func countBefore(found map[string]*Turn, before string) int {
	n := 0
	for id := range found {
		if before == "" || id < before {
			n++
		}
	}
	return n
}

func collect(found map[string]*Turn, run Run) {
	id := run.Trace
	if run.Purpose == purposeTrace || id == "" {
		id = run.ID
	}
	t := found[id]
	if t == nil {
		t = &Turn{ID: id}
		found[id] = t
	}
	if run.Purpose == purposeTrace {
		t.At, t.Took, t.Message, t.Result, t.Whole, t.Spans = run.StartedAt, run.Times.Total, run.Message, run.FinishReason, true, run.Spans
		return
	}
	t.Calls = append(t.Calls, run)
	if !t.Whole && (t.At.IsZero() || run.StartedAt.Before(t.At)) {
		t.At = run.StartedAt
	}
}

func (t *Turn) ordered() Turn {
	slices.SortStableFunc(t.Spans, func(a, b chat.Span) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(t.Calls, func(a, b Run) int { return a.StartedAt.Compare(b.StartedAt) })
	return *t
}
