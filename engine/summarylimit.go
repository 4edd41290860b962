package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
)

// Bounds of a compaction: how long its model may fall silent once it writes, and how long all of it may take without the wait for a place.
const (
	summarySilence = 90 * time.Second
	summaryTime    = 10 * time.Minute
)

// What ends a summary that does not come; the Turn goes on if its prompt still fits.
var (
	errSummarySilent = &chat.Error{Kind: chat.KindSilent, Message: "The model stopped writing the summary."}
	errSummaryLate   = &chat.Error{Kind: chat.KindSilent, Message: "The summary was not written within 10 minutes."}
)

// summaryLimit bounds the calls of one compaction. Only its timers' functions run on other goroutines, and they only cancel.
type summaryLimit struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	all    *time.Timer
}

func newSummaryLimit(ctx context.Context) *summaryLimit {
	l := &summaryLimit{}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

func (l *summaryLimit) stop() {
	if l.all != nil {
		l.all.Stop()
	}
	l.cancel(nil)
}

// call gives the context of one call and what must hear its deltas. done ends it.
func (l *summaryLimit) call() (ctx context.Context, heard func(chat.Delta), done func()) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	var silence *time.Timer
	heard = func(d chat.Delta) {
		if d.Phase == chat.PhaseQueued {
			return
		}
		if l.all == nil {
			l.all = time.AfterFunc(summaryTime, func() { l.cancel(errSummaryLate) })
		}
		switch {
		case d.Text != "", d.Reasoning != "", d.Call != nil:
			if silence == nil {
				silence = time.AfterFunc(summarySilence, func() { cancel(errSummarySilent) })
			}
			silence.Reset(summarySilence)
		case d.Retry != nil && silence != nil:
			// The next attempt reads the prompt first.
			silence.Stop()
		}
	}
	return ctx, heard, func() {
		if silence != nil {
			silence.Stop()
		}
		cancel(nil)
	}
}
