package ui

import (
	"strconv"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/view"
)

// draftView turns the Draft of a Step into what a page shows. A Chat without a running Step gives the empty Draft of the next one, so
// that there is always an element to grow.
func draftView(v engine.View) view.Draft {
	d := v.Draft
	if d == nil {
		return view.Draft{Step: v.Chat.StepSeq + 1, ChatID: string(v.Chat.ID), Generation: v.Chat.Generation}
	}
	out := view.Draft{Step: d.Step, ChatID: string(v.Chat.ID), Generation: d.Generation}
	results := map[string]*engine.DraftPart{}
	for i := range d.Parts {
		if d.Parts[i].Type == chat.PartToolResult {
			results[d.Parts[i].CallID] = &d.Parts[i]
		}
	}
	calls := 0
	addRow := func(row view.Row) {
		row.N = calls
		calls++
		if n := len(out.Parts); n > 0 && len(out.Parts[n-1].Rows) > 0 {
			out.Parts[n-1].Rows = append(out.Parts[n-1].Rows, row)
			return
		}
		out.Parts = append(out.Parts, view.DraftPart{Rows: []view.Row{row}})
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		switch p.Type {
		case chat.PartReasoning:
			part := view.DraftPart{Reasoning: true, Text: p.Text, Since: p.Since.UnixMilli()}
			if p.CompletedAt != nil {
				part.Took = reasonedTime(p.CompletedAt.Sub(p.Since))
			}
			out.Parts = append(out.Parts, part)
		case chat.PartText:
			out.Parts = append(out.Parts, view.DraftPart{Text: p.Text})
		case chat.PartToolCall:
			if isAdvisor(p.ToolName) {
				calls++
				out.Parts = append(out.Parts, view.DraftPart{Advice: draftAdvice(d, p, results[p.CallID])})
				continue
			}
			addRow(draftRow(p, results[p.CallID], d.Phase))
		case chat.PartToolResult:
			if !calledHere(d, p.CallID) {
				if isAdvisor(p.ToolName) {
					// One that the last process left for this one to run.
					out.Parts = append(out.Parts, view.DraftPart{Advice: draftAdvice(d, nil, p)})
					continue
				}
				// A Call that a person allowed runs in a Step of its own.
				addRow(draftRow(p, p, d.Phase))
			}
		}
	}
	return out
}

func calledHere(d *engine.Draft, callID string) bool {
	for i := range d.Parts {
		if d.Parts[i].Type == chat.PartToolCall && d.Parts[i].CallID == callID {
			return true
		}
	}
	return false
}

// draftRow shows a Call while its Step runs.
func draftRow(call, result *engine.DraftPart, phase chat.Phase) view.Row {
	row := describeCall(call.ToolName, call.Args)
	switch {
	case result == nil && phase == chat.PhaseRunningTools:
		row.State, row.Out = view.RowWaits, "next"
	case result == nil:
		row.State, row.Since = view.RowRunning, call.Since.UnixMilli()
	case result.CompletedAt != nil:
		describeResult(&row, &result.Part)
	default:
		row.State, row.Since = view.RowRunning, result.Since.UnixMilli()
		if row.Kind == view.RowMake {
			row.Out = "being made"
		}
		if result.LiveBytes > 0 {
			if row.Kind == view.RowMake {
				row.Out = "being set up"
			}
			row.Tail = &view.Tail{Output: result.Live, Facts: view.Bytes(result.LiveBytes) + " so far"}
		}
	}
	return row
}

// dock gives the phase line, the queue and the composer of a Chat.
func (s *Site) dock(v engine.View, at view.SpaceNote, models, spaces []view.Option) view.Dock {
	c := v.Chat
	d := view.Dock{ChatID: string(c.ID), Running: c.State.Leased() || c.State == chat.Pending, Queues: !c.State.AtRest(), Models: models, Spaces: spaces,
		Held: c.Queued > 0 && c.State.AtRest(), Key: view.NewKey(), Phase: phaseView(v, at)}
	d.Closed = v.Damaged != nil
	d.Plan, d.CanPlan = c.Mode() == chat.ModePlan, c.AgentType != chat.AgentExplore && !c.Archived
	for _, q := range v.Queue {
		d.Queue = append(d.Queue, queuedView(q))
	}
	if c.Used.Limit > 0 {
		d.Meter = view.Meter{Used: c.Used.Tokens, Limit: c.Used.Limit, CompactAt: v.CompactAt}
	}
	return d
}

// phaseView says what the Chat does at this moment, and where it waits for an Agent that is away.
func phaseView(v engine.View, at view.SpaceNote) view.Phase {
	out := phaseOf(v)
	if at.State != chat.WorkspaceOffline || out.Name == "" || v.Chat.State == chat.RequiresAction || v.Chat.State.AtRest() {
		return out
	}
	const away = "its agent is away"
	switch d := v.Draft; {
	case v.Chat.State == chat.Interrupting:
		out.Text = away
	case d == nil && v.Chat.State == chat.Running:
		// It is about to begin, or what an earlier run of the appliance left is looked up there.
		return view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for its agent"}
	case d != nil && d.Phase == chat.PhaseRunningTools:
		out.Warn, out.Text = true, out.Text+" · "+away
	}
	return out
}

func phaseOf(v engine.View) view.Phase {
	d := v.Draft
	switch v.Chat.State {
	case chat.Pending:
		return view.Phase{Icon: "i-clock", Name: "Waiting for a free runner"}
	case chat.Interrupting:
		return view.Phase{Icon: "i-run", Name: "Stopping", Text: "the model server notices at the next token"}
	case chat.RequiresAction:
		if v.Damaged != nil {
			return view.Phase{}
		}
		if !v.Chat.OpenCards() && v.Chat.OpenClientCalls() {
			return view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for the program that made this chat"}
		}
		return view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for you", Text: "answer the card above"}
	case chat.Running:
	default:
		if a := v.Chat.Turn.Asks; a != nil && asksNow(v.Chat, a.CallID) {
			return view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for you", Text: "answer the " + string(a.Kind) + " above, or write below"}
		}
		return view.Phase{}
	}
	if d == nil {
		return view.Phase{Icon: "i-run", Name: "Preparing"}
	}
	since := d.PhaseSince.UnixMilli()
	step := "step " + strconv.Itoa(v.Chat.Turn.Steps+1)
	switch d.Phase {
	case chat.PhaseQueued:
		p := view.Phase{Icon: "i-clock", Name: "Waiting for the model server", Since: since}
		if d.Place > 0 {
			p.Text = "place " + strconv.Itoa(d.Place) + " in the queue"
		}
		return p
	case chat.PhaseLoading:
		p := view.Phase{Icon: "i-run", Name: "Loading weights", Since: since}
		if asks(d) {
			p.Text = "of the advisor"
		}
		return p
	case chat.PhaseReading:
		return view.Phase{Icon: "i-run", Name: "Reading your prompt", Text: "about " + view.Tokens((d.PromptBytes+2)/3) + " tokens", Since: since}
	case chat.PhaseRunningTools:
		if asks(d) {
			return view.Phase{Icon: "i-run", Name: "Consulting the advisor", Text: step, Since: since}
		}
		return view.Phase{Icon: "i-run", Name: "Running tools", Text: step, Since: since}
	case chat.PhaseCompacting:
		return view.Phase{Icon: "i-run", Name: "Summarising earlier messages", Since: since}
	case chat.PhaseClosing:
		return view.Phase{Icon: "i-run", Name: "Judging whether the task is done", Text: "send to go on at once", Since: since}
	case chat.PhaseRetrying:
		return retryPhase(d)
	}
	name := "Writing"
	if n := len(d.Parts); n > 0 && d.Parts[n-1].Type == chat.PartReasoning {
		name = "Thinking"
	}
	return view.Phase{Icon: "i-run", Name: name, Text: step, Since: d.StartedAt.UnixMilli()}
}

func retryPhase(d *engine.Draft) view.Phase {
	p := view.Phase{Icon: "i-clock", Warn: true, Name: "Trying again", Since: d.PhaseSince.UnixMilli()}
	if r := d.Retry; r != nil {
		p.Text = r.Message
		if r.MaxAttempts > 0 {
			p.Text += " Attempt " + strconv.Itoa(r.Attempt+1) + " of " + strconv.Itoa(r.MaxAttempts) + " follows."
		}
		if time.Until(r.RetryingAt) > 0 {
			p.Since, p.Until = 0, r.RetryingAt.UnixMilli()
		}
	}
	return p
}

// rest says why a Chat rests, where it does not simply wait.
func rest(c *chat.Chat) view.Rest {
	r := view.Rest{ChatID: string(c.ID), Over: c.State.AtRest(), Warnings: c.Turn.Warnings}
	if c.State == chat.Failed && c.LastError != nil {
		r.Queued = c.Queued
		r.Failure = &view.Failure{Kind: c.LastError.Kind, Message: c.LastError.Message, Detail: c.LastError.Detail, Model: c.LastError.Model,
			Retryable: c.LastError.Retryable}
		return r
	}
	switch {
	case c.Archived:
		r.Reason, r.Queued = "archived", c.Queued
	case c.State == chat.Waiting && c.RestReason != "":
		r.Reason, r.Queued, r.WithParent = string(c.RestReason), c.Queued, c.Turn.WithParent
	}
	return r
}
