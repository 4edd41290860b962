package engine

import (
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// watchLoop nudges a model that repeats Calls with equal Results, and ends the Turn when that does not help.
func (r *run) watchLoop() error {
	waits := map[string]bool{}
	for _, d := range slices.Concat(r.t.base, r.t.hidden) {
		waits[d.Name] = d.Waits
	}
	turn := r.t.history
	for i, m := range turn {
		if m.ID == r.t.chat.Turn.UserMessage {
			turn = turn[i+1:]
			break
		}
	}
	loop := prompt.FindLoop(turn, waits)
	if loop.End {
		r.e.meters.loops.Inc("stopped")
		return &chat.Error{Kind: chat.KindLoop, Message: "The model repeated itself.", Model: r.t.config.Model, Retryable: true,
			Detail: "It made the same call again and again with the same result. Say what to do differently, or choose another model."}
	}
	if loop.Nudge != "" {
		r.e.meters.loops.Inc("nudged")
		r.t.note(loop.Nudge)
	}
	return nil
}
