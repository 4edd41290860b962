package engine

import (
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// answered runs the outstanding Calls that a person has decided about, first thing in the resumed Turn, and commits their Results. An allowed
// one that is not any more what the person was shown is asked about anew.
func (r *run) answered() error {
	var calls []chat.Call
	denied := map[int]string{}
	for i, o := range r.t.chat.Outstanding {
		calls = append(calls, o.Call)
		if o.Decision != decisionAllow {
			denied[i] = o.Reason
		}
	}
	r.books.sent = prompt.Build(r.promptInput())
	r.beginDraft(0)
	plan := r.plan(calls, r.t.chat.Outstanding)
	now := r.e.now().UTC()
	for i := range plan {
		plan[i].command, plan[i].agreed = r.t.chat.Outstanding[i].Command, r.t.chat.Outstanding[i].Command
		reason, no := denied[i]
		if !no || plan[i].refused != nil {
			continue
		}
		text := "the user denied this call"
		if reason != "" {
			text += ": " + reason
		}
		f := failedResult(plan[i].call, text, now)
		plan[i].refused, plan[i].ask = &f, false
	}
	results, err := r.runBatch(plan)
	if err != nil && results == nil {
		return err
	}
	o := outcome{whole: true}
	var open []chat.OutstandingCall
	for i, asked := range r.t.chat.Outstanding {
		if results[i] == nil {
			open = append(open, r.outstanding(&plan[i], asked.Step))
			continue
		}
		o.msgs = append(o.msgs, toolMessage(asked.Step, *results[i]))
	}
	o.record = func(c *chat.Chat) { c.Outstanding = open }
	if err != nil {
		r.kept = &o
		return err
	}
	ev := chat.Event{Kind: chat.CommitStep}
	if r.mayHaveRun {
		// As after a restart that found a command whose process was gone.
		ev = chat.Event{Kind: chat.Release, MayHaveRun: true}
	} else if slices.ContainsFunc(plan, func(p planned) bool { return p.ask }) {
		// What was allowed is not what it was: it is asked about anew.
		ev.Kind = chat.AskAction
	}
	if err := r.commitStep(ev, o); err != nil {
		return err
	}
	return r.guide(plan, results)
}
