package engine

import (
	"context"
	"errors"
	"runtime"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/usage"
)

// steps runs the Turn's Steps until one of them ends it. It returns errFinished when the last transition is committed.
func (r *run) steps() error {
	if r.t.chat.Intent == chat.IntentCompact {
		return r.compactByHand()
	}
	if len(r.t.chat.Outstanding) > 0 {
		if err := r.answered(); err != nil {
			return err
		}
	}
	if r.t.chat.Turn.Asks != nil {
		// It asked a person beside Calls that had to be answered first.
		return r.commitStep(chat.Event{Kind: chat.FinishTurn}, outcome{})
	}
	for {
		if r.interrupted() {
			return context.Cause(r.ctx)
		}
		if r.t.chat.Turn.Steps >= r.t.extra.said.stepCap {
			return r.commitStep(chat.Event{Kind: chat.FinishTurn, Rest: chat.RestStepCap}, outcome{})
		}
		began := r.e.now()
		err := r.step()
		r.books.trace.span(chat.SpanStep, "", "", r.t.chat.StepSeq, began, r.e.now(), err != nil && !errors.Is(err, errFinished))
		if err != nil {
			return err
		}
	}
}

// step makes one model call, runs its Calls and commits both. nil means that the Turn goes on.
func (r *run) step() error {
	if err := r.refreshPlace(); err != nil {
		return err
	}
	r.offerFound()
	if err := r.loadMedia(); err != nil {
		return err
	}
	built, err := r.build()
	if err != nil {
		return err
	}
	r.beginDraft(built.Bytes)
	r.books.sent = built
	r.e.meters.sends(built.Bytes, len(built.Request.Messages))
	started := r.e.now()
	reply, err := r.stream(built.Request)
	if err != nil && reply.Usage.InputTokens != nil {
		// The server worked for it, though the reply was dropped.
		r.books.spend(r.usage(chat.UsageTurn, reply, r.e.now().Sub(started)))
	}
	if err != nil {
		return r.afterFailedCall(err)
	}
	return r.settle(built, reply, started)
}

// settle runs the Calls of a whole reply and commits both. It is not part of step, whose frame would hold all of it while the model writes.
func (r *run) settle(built prompt.Built, reply chat.Reply, started time.Time) error {
	parts := r.recognise(r.draft.reply())
	calls := callsOf(parts)
	usage := r.usage(chat.UsageTurn, reply, r.e.now().Sub(started))
	r.books.loaded(r.t.config.ID, reply.Load)
	r.draft.end(ended{reply.FinishReason, usage})
	used := func(c *chat.Chat) { c.Used = prompt.Used(c.Used, built, reply.Usage, parts) }
	r.e.meters.step(built.Request.Model, reply, r.e.now().Sub(started))
	if len(calls) == 0 {
		return r.closeTurn(parts, reply, usage, used, started)
	}
	return r.runCalls(parts, calls, reply, usage, used, started)
}

func (r *run) beginDraft(promptBytes int64) {
	now := r.e.now().UTC()
	generation := max(r.draft.generation(), r.t.chat.Generation) + 1
	r.kept, r.mayHaveRun = nil, false
	r.draft.reset(r.t.chat.StepSeq+1, generation, r.lease.Runner, r.t.chat.Turn.StartedAt, now, promptBytes)
	r.pace.soon()
}

// build makes the next request, compacting first when the window would not hold it or is filled to the threshold.
func (r *run) build() (prompt.Built, error) {
	built := prompt.Build(r.promptInput())
	fits := prompt.Fits(built, maxOutput)
	if !fits && (!prompt.NewestFits(built, maxOutput) || r.spent()) {
		return built, prompt.ContextFull(built)
	}
	full := prompt.ThresholdReached(r.t.chat.Used, r.threshold(), r.t.chat.Turn.Compactions)
	if fits && !full {
		return built, nil
	}
	if err := r.compact(built, prompt.SourceAutomatic); err != nil {
		return built, err
	}
	if built = prompt.Build(r.promptInput()); !prompt.Fits(built, maxOutput) {
		return built, prompt.ContextFull(built)
	}
	return built, nil
}

// maxOutput leaves the output cap to the prompt's default.
const maxOutput = 0

func (r *run) threshold() int {
	return chat.CompactionThreshold(nil, r.t.config.CompactionThreshold)
}

func (r *run) promptInput() prompt.Input {
	t := &r.t
	messages := t.history
	if len(t.notes) > 0 {
		messages = append(messages[:len(messages):len(messages)], notesAsMessages(t.notes)...)
	}
	return prompt.Input{Chat: t.chat, Config: t.config, Window: t.window, Messages: messages, Workspace: t.extra.place.first, Snapshot: t.extra.guided.snapshot, Tools: t.defs,
		TextTools: t.protocol == chat.ToolsText, JSONTools: t.protocol == chat.ToolsJSON && len(t.defs) > 0,
		Files: t.files, Guidance: t.extra.guidance, Mode: t.extra.mode, PlanPath: t.planPath(), PlanText: t.extra.said.planText, Joiner: &r.e.histories.system, System: runtime.GOOS + "/" + runtime.GOARCH}
}

func notesAsMessages(notes []chat.Message) []*chat.Message {
	out := make([]*chat.Message, len(notes))
	for i := range notes {
		out[i] = &notes[i]
	}
	return out
}

// stream makes the model call and feeds the Draft.
func (r *run) stream(req *chat.Request) (chat.Reply, error) {
	r.unwrapping()
	started := r.e.now()
	var first time.Time
	reply, err := r.e.model.Stream(r.ctx, req, func(d chat.Delta) error {
		now := r.e.now().UTC()
		switch {
		case d.Retry != nil:
			r.unwrapping()
			r.e.meters.retries.Inc(string(d.Retry.Kind))
			r.draft.restart(d.Retry, now)
			r.pace.begin()
			r.e.feed.touch(r.id)
			return nil
		case d.Phase != "":
			r.draft.setPhase(d.Phase, d.Place, now)
			r.pace.soon()
			return nil
		}
		if first.IsZero() {
			first = now
			r.nameAtOnce()
		}
		if r.t.unwrap != nil && d.Text != "" {
			if d.Text = r.t.unwrap.Add(d.Text); d.Text == "" {
				return nil
			}
		}
		if r.draft.empty() {
			// The first piece never waits behind a phase.
			r.pace.begin()
		}
		if err := r.save.room(len(d.Text) + len(d.Reasoning)); err != nil {
			return err
		}
		unsaved := r.draft.grow(d, now)
		r.pace.grew()
		return r.save.grew(unsaved)
	})
	if !first.IsZero() {
		r.e.meters.ttft.Seconds(first.Sub(started))
	}
	if err == nil && reply.FinishReason == "" && r.interrupted() {
		// A stream that just ended when it was cancelled is no whole reply.
		return reply, context.Cause(r.ctx)
	}
	return reply, err
}

// afterFailedCall repeats the Step as text when the model turned out to have no Tools, or after a compaction when the window was full.
func (r *run) afterFailedCall(err error) error {
	if r.interrupted() {
		return context.Cause(r.ctx)
	}
	var failure *chat.Error
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Kind == chat.KindNoTools && r.without(chat.ToolsNative, chat.ToolsText) {
		r.draft.clear()
		return nil
	}
	if failure.Kind == chat.KindOutOfMemory && r.halved() {
		return nil
	}
	if failure.Kind == chat.KindContextFull && !r.spent() {
		built := prompt.Refused(prompt.Build(r.promptInput()))
		if !prompt.NewestFits(built, maxOutput) {
			return failure
		}
		r.draft.clear()
		compactions := r.t.chat.Turn.Compactions
		if err := r.compact(built, prompt.SourceAutomatic); err != nil {
			return err
		}
		if r.t.chat.Turn.Compactions == compactions {
			return failure
		}
		return nil
	}
	return failure
}

// halved tries the Step with half the window, once for the config's life, when the model did not fit into memory.
func (r *run) halved() bool {
	if r.e.ports.halveWindow == nil {
		return false
	}
	tokens, halved, err := r.e.ports.halveWindow(r.ctx, r.t.config.ID)
	if err != nil {
		r.log().Warn("the window could not be halved", chat.LogError, err)
	}
	if !halved || err != nil {
		return false
	}
	r.e.log.Warn("the model did not fit into memory; its window is halved", chat.LogModel, r.t.config.Model, chat.LogWindow, tokens)
	r.t.window = int(tokens)
	r.t.config.Options.NumCtx = int(tokens)
	r.t.chat.Used = chat.ContextUse{}
	r.draft.clear()
	return true
}

// recognise turns Calls that the model wrote as text into Calls; the Draft is rebuilt, so nobody sees both.
func (r *run) recognise(parts []chat.Part) []chat.Part {
	if len(r.t.defs) == 0 || len(callsOf(parts)) > 0 {
		return parts
	}
	if r.t.unwrap != nil {
		if unwrapped, ok := r.unwrapped(parts); ok {
			return unwrapped
		}
	}
	last := len(parts) - 1
	if last < 0 || parts[last].Type != chat.PartText {
		return parts
	}
	prefix, calls, form, ok := prompt.Recognise(parts[last].Text, r.t.callable())
	if !ok {
		return parts
	}
	r.e.meters.repaired.Inc(form)
	out := append([]chat.Part{}, parts[:last]...)
	if prefix != "" {
		text := parts[last]
		text.Text = prefix
		out = append(out, text)
	}
	for i, c := range calls {
		out = append(out, chat.Part{Type: chat.PartToolCall, CallID: callID(r.draft.view().Step, i), ToolName: c.Name, Args: c.Args, Repaired: true})
	}
	r.draft.replace(out, r.e.now().UTC())
	r.e.feed.touch(r.id)
	return out
}

// closeTurn ends the Turn with a reply that calls no Tool, or asks once more when it is empty.
func (r *run) closeTurn(parts []chat.Part, reply chat.Reply, usage *chat.UsageEntry, used func(*chat.Chat), started time.Time) error {
	if prompt.Empty(parts) && reply.FinishReason != "length" {
		return r.emptyReply(reply, usage, used)
	}
	if nudge := r.unfinished(parts, reply); nudge != nil {
		return r.urge(parts, reply, usage, used, started, nudge)
	}
	o := outcome{usage: usage, record: used}
	if len(parts) > 0 {
		o.msgs = []chat.Message{r.replied(parts, reply, started)}
	}
	ev := chat.Event{Kind: chat.FinishTurn}
	if reply.FinishReason == "length" {
		ev.Rest = chat.RestLength
	} else if len(o.msgs) > 0 {
		var err error
		if ev.Complete, err = r.judge(o); err != nil {
			return err
		}
	}
	return r.commitStep(ev, r.withSummary(o))
}

// replied is the Message of a whole reply.
func (r *run) replied(parts []chat.Part, reply chat.Reply, started time.Time) chat.Message {
	msg := r.assistant(parts)
	msg.FinishReason, msg.Usage, msg.EvalMS = reply.FinishReason, &reply.Usage, reply.Eval.Milliseconds()
	r.price(&msg, started)
	return msg
}

// emptyReply nudges the model once per Turn; a second empty reply ends it.
func (r *run) emptyReply(reply chat.Reply, usage *chat.UsageEntry, used func(*chat.Chat)) error {
	if r.t.chat.Turn.Nudged {
		r.kept = &outcome{msgs: r.partial("error"), usage: usage, record: used}
		return &chat.Error{Kind: chat.KindEmptyReply, Message: "The model returned nothing twice.",
			Detail: "Try again, rephrase the request, or choose another model.", Retryable: true, Model: r.t.config.Model}
	}
	r.t.note(prompt.Nudge(r.t.active(), reply.Usage))
	return r.commitStep(chat.Event{Kind: chat.CommitStep}, outcome{usage: usage, record: func(c *chat.Chat) {
		used(c)
		c.Turn.Nudged = true
	}})
}

// runCalls runs a Step's Calls and commits reply and Results together.
func (r *run) runCalls(parts []chat.Part, calls []chat.Call, reply chat.Reply, usage *chat.UsageEntry, used func(*chat.Chat),
	started time.Time) error {
	plan := r.plan(calls, nil)
	results, err := r.runBatch(plan)
	if err != nil && results == nil {
		return err
	}
	msg := r.replied(parts, reply, started)
	o := outcome{msgs: []chat.Message{msg}, usage: usage, whole: true}
	var open []chat.OutstandingCall
	var deadline time.Time
	asks := false
	for i := range plan {
		if results[i] != nil {
			o.msgs = append(o.msgs, toolMessage(msg.Step, *results[i]))
			continue
		}
		asks = asks || plan[i].ask || plan[i].def.Client
		if plan[i].def.Client {
			deadline = r.e.now().UTC().Add(r.t.extra.said.deadline)
		}
		open = append(open, r.outstanding(&plan[i], msg.Step))
	}
	o.record = func(c *chat.Chat) {
		used(c)
		c.Outstanding, c.ActionDeadline = open, deadline
		c.Turn.Asks = asking(plan, results)
	}
	if err != nil {
		r.kept = &o
		return err
	}
	ev := chat.Event{Kind: chat.CommitStep}
	if asks {
		ev.Kind = chat.AskAction
	} else if r.stopsTurn(plan, results) {
		ev.Kind = chat.FinishTurn
	}
	if err := r.commitStep(ev, o); err != nil {
		return err
	}
	if err := r.guide(plan, results); err != nil {
		return err
	}
	return r.watchLoop()
}

// outstanding is a Call without a Result: one that a person is asked about, or one that a shutdown kept from running and that the next
// process runs.
func (r *run) outstanding(p *planned, step int64) chat.OutstandingCall {
	o := chat.OutstandingCall{Call: p.call, Kind: chat.OutstandingApproval, Command: p.command, Asked: p.asked, AskedAt: r.e.now().UTC(), Step: step}
	switch {
	case p.def.Client:
		o.Kind = chat.OutstandingClient
	case !p.ask:
		o.Decision = decisionAllow
	}
	o.Process = p.attach
	return o
}

func (r *run) stopsTurn(plan []planned, results []*chat.Part) bool {
	for i := range plan {
		if plan[i].def.StopsTurn && results[i] != nil && !results[i].IsError {
			return true
		}
	}
	return false
}

// price fills in what the Step cost and how long it took with its Tools.
func (r *run) price(msg *chat.Message, started time.Time) {
	if msg.Usage != nil {
		msg.CostMicros = usage.CostMicros(r.t.config, *msg.Usage)
	}
	ms := r.e.now().Sub(started).Milliseconds()
	msg.RuntimeMS = &ms
}

func (r *run) usage(kind string, reply chat.Reply, took time.Duration) *chat.UsageEntry {
	return usageOf(r.t.chat, r.t.config, kind, reply, took, r.e.now())
}

// usageOf books a call for c on the model of a config.
func usageOf(c *chat.Chat, m chat.ModelConfig, kind string, reply chat.Reply, took time.Duration, at time.Time) *chat.UsageEntry {
	return &chat.UsageEntry{ChatID: c.ID, RootID: c.RootID, UserID: c.OwnerID, ModelConfigID: m.ID, Model: m.Model, Kind: kind,
		Usage: reply.Usage, CostMicros: usage.CostMicros(m, reply.Usage), RuntimeMS: took.Milliseconds(), At: at.UTC()}
}

func callsOf(parts []chat.Part) []chat.Call {
	var calls []chat.Call
	for _, p := range parts {
		if p.Type == chat.PartToolCall && !p.ProviderExecuted {
			calls = append(calls, chat.Call{ID: p.CallID, Name: p.ToolName, Args: p.Args})
		}
	}
	return calls
}
