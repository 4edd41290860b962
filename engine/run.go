package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// run is one lease on one Chat: from Acquire to the event that gives the lease back. Its goroutine owns everything but the Draft.
type run struct {
	e     *Engine
	id    chat.ID
	lease chat.Lease
	ctx   context.Context
	stop  context.CancelCauseFunc
	draft draft
	pace  *pacer
	save  *saver
	// kept is a Step that was cut between the model's reply and its commit: it is stored by whatever ends the run.
	kept *outcome
	// mayHaveRun: an effect Call was cut, so nobody knows whether it ran.
	mayHaveRun bool
	books      books
	t          turn
}

// turn is what a run knows of its Turn; the tool Set and the Workspace stay the same until it ends.
type turn struct {
	chat      *chat.Chat
	config    chat.ModelConfig
	window    int
	record    *chat.WorkspaceRecord
	workspace chat.Workspace
	offer
	extra   extras
	history []*chat.Message
	// notes are model-only Messages that go in front of the next Step's, in its commit.
	notes []chat.Message
	speaks
	reads *reads
	// files holds what requests may have of the history's Files.
	files map[string]prompt.Attached
}

func newRun(e *Engine, id chat.ID, lease chat.Lease) *run {
	r := &run{e: e, id: id, lease: lease}
	r.books.trace = newTracer(e.now())
	r.ctx, r.stop = context.WithCancelCause(chat.WithOrigin(context.Background(), r.origin(chat.UsageTurn)))
	r.pace = &pacer{every: e.bounds.TouchEvery, touch: func() { e.feed.touch(id) }, watched: func() bool { return e.feed.watched(id) }}
	r.save = newSaver(r)
	return r
}

// origin says of a model call that it belongs to this run.
func (r *run) origin(purpose string) chat.Origin {
	return chat.Origin{Chat: r.id, Purpose: purpose, Trace: r.books.trace.id}
}

// do runs the Chat until it gives its lease back.
func (r *run) do(parent context.Context, c *chat.Chat) {
	defer r.stop(context.Canceled)
	detach := context.AfterFunc(parent, func() { r.stop(chat.CauseShutdown) })
	defer detach()
	r.e.meters.running.Add(1)
	defer r.e.meters.running.Add(-1)
	err := r.guarded(c)
	r.closeServers()
	r.save.end()
	r.pace.begin()
	r.end(err)
	r.traced()
	if errors.Is(err, errFinished) {
		// Not in this goroutine: the next Turn must not wait for a title.
		r.e.runner.joined.Go(func() {
			if !r.t.extra.telling.owed {
				r.tellFinished()
			}
			r.nameChat()
			r.tellSummed(r.summariseTurn())
		})
	}
}

// guarded runs the Turn and turns a panic into an error of kind internal.
func (r *run) guarded(c *chat.Chat) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log().Error("a turn panicked", chat.LogPanic, fmt.Sprint(p), chat.LogStack, string(debug.Stack()))
			err = internalError(fmt.Errorf("panic: %v", p))
		}
	}()
	if err := r.begin(c); err != nil {
		return err
	}
	return r.steps()
}

// log is for lines about the run; each says of which Chat, Turn, Step and worker it is.
func (r *run) log() *slog.Logger {
	r.draft.mu.Lock()
	step := r.draft.d.Step
	r.draft.mu.Unlock()
	return r.e.log.With(chat.LogChat, r.id, chat.LogTurn, r.books.turn, chat.LogStep, step, chat.LogWorker, r.lease.Runner)
}

// errFinished is how a Turn ends whose last transition is already committed.
var errFinished = errors.New("engine: the turn is finished")

// begin reads what the whole Turn uses.
func (r *run) begin(c *chat.Chat) error {
	t := &r.t
	t.chat, r.books.turn = c, c.Turn.UserMessage
	if err := r.e.whole(r.ctx, c.ID); err != nil {
		return err
	}
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
		if t.config, err = r.e.ports.configs(tx, c.ModelConfigID); err != nil {
			return err
		}
		percent, err := compactAt(tx, c, t.config)
		if err != nil {
			return err
		}
		t.config.CompactionThreshold = &percent
		if err := r.readSite(tx); err != nil {
			return err
		}
		if t.history, err = r.e.histories.read(tx, c); err != nil {
			return err
		}
		rules := &t.extra.place.rules
		if rules.layers, err = rule.Read(tx, c.WorkspaceID, c.RootID); err != nil {
			return err
		}
		rules.set = rules.layers.Merged()
		t.window, t.extra.mode = windowOf(t.config), c.Mode()
		if c.WorkspaceID == "" {
			return r.mayMake(tx)
		}
		rec, found, err := tx.Workspace(c.WorkspaceID)
		if found {
			t.record = rec
		}
		return err
	})
	if err != nil {
		return r.e.refusal(r.ctx, c.ID, err)
	}
	collect := r.openServers()
	if err = r.openPlace(); err != nil {
		return err
	}
	if t.record != nil {
		if err = r.pinContext(); err != nil {
			return err
		}
	}
	t.extra.exclusive = r.e.ports.exclusive
	r.addAdvisor()
	if err = r.addServerTools(collect); err != nil {
		return err
	}
	r.offerTools()
	if err = r.noteHidden(); err != nil {
		return err
	}
	r.keepAdvisor()
	t.reads = &reads{chat: c.ID, store: r.e.store}
	t.protocol = t.config.Protocol()
	if t.files, err = r.e.loadFiles(r.ctx, r.promptInput()); err != nil {
		return err
	}
	if prompt.NeedsGoOn(t.history) {
		t.note(chat.TextGoOn)
	}
	return nil
}

func (t *turn) note(text string) { t.notes = append(t.notes, noteMessage(text)) }

// noteMessage is a text that only the model sees.
func noteMessage(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Visibility: chat.VisibleModel, ContentVersion: 1,
		Content: []chat.Part{{Type: chat.PartText, Text: text}}}
}

// active names the Tools of the Turn.
func (t *turn) active() []string {
	names := make([]string, len(t.defs))
	for i, d := range t.defs {
		names[i] = d.Name
	}
	return names
}

// windowOf is the window in tokens that every request of this config asks for.
func windowOf(m chat.ModelConfig) int {
	window := configWindow(m)
	if read := m.ReadWindow(); read > 0 {
		window = min(window, int(read))
	}
	return window
}

func configWindow(m chat.ModelConfig) int {
	if m.Options.NumCtx > 0 {
		return m.Options.NumCtx
	}
	if m.ContextLimit != nil && *m.ContextLimit > 0 {
		return int(*m.ContextLimit)
	}
	return 8192
}

// end gives the lease back. The event is chosen from the typed cause, never from what an error looks like.
func (r *run) end(err error) {
	if errors.Is(err, errFinished) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	var cause chat.Cause
	errors.As(context.Cause(r.ctx), &cause)
	switch {
	case cause == chat.CauseLostLease || errors.Is(err, errFenced):
		r.e.meters.fenceMisses.Inc()
		return
	case cause == chat.CauseInterrupted:
		if err != nil && !errors.As(err, new(chat.Cause)) {
			r.log().Info("a turn failed while it was interrupted", chat.LogError, err)
		}
		err = r.finishInterrupted()
	case cause == chat.CauseShutdown:
		err = r.finish(ctx, chat.Event{Kind: chat.Release, MayHaveRun: r.mayHaveRun}, "shutdown", nil)
	case err != nil:
		failure := turnError(err)
		r.e.meters.errors.Inc(string(failure.Kind))
		r.log().Warn("a turn failed", chat.LogKind, failure.Kind, chat.LogError, err)
		err = r.finish(ctx, chat.Event{Kind: chat.Fail}, "error", failure)
	}
	if err != nil && !errors.Is(err, errFenced) {
		// The lease stays; the sweep recovers the Chat from its checkpoints.
		r.log().Error("a turn could not be ended", chat.LogError, err)
	}
}

// finish ends the run with what is kept of its Step: that of a reply that was whole, else the Draft as a partial.
func (r *run) finish(ctx context.Context, ev chat.Event, reason string, failure *chat.Error) error {
	o := outcome{msgs: r.partial(reason)}
	if r.kept != nil {
		o = *r.kept
	}
	err := r.finishWith(ctx, ev, o, failure)
	if len(o.msgs) > 0 && isDamaged(err) {
		// There is no end to append to. The Chat comes to rest all the same.
		r.log().Error("what was written last is lost: the end of the chat cannot be read", chat.LogError, err)
		err = r.finishWith(ctx, ev, outcome{usage: o.usage}, failure)
	}
	return err
}

func (r *run) finishWith(ctx context.Context, ev chat.Event, o outcome, failure *chat.Error) error {
	x, _, err := r.stepChange(ev, o)
	if err != nil {
		return err
	}
	write := x.write
	x.write = func(tx *kv.Tx, c *chat.Chat, m chat.Move) error {
		if m.Effects.Has(chat.SetError) {
			c.LastError = failure
		}
		return write(tx, c, m)
	}
	began := r.e.now()
	_, err = r.e.change(ctx, x)
	r.books.trace.span(chat.SpanCommit, string(ev.Kind), "", 0, began, r.e.now(), err != nil)
	return err
}

// partial makes a Message of what the model had written. Calls in it never ran: they are answered with text:cut.
func (r *run) partial(reason string) []chat.Message {
	parts := r.draft.partial()
	if len(parts) == 0 {
		return nil
	}
	now := r.e.now().UTC()
	msg := r.assistant(parts)
	msg.Partial, msg.FinishReason = true, reason
	msgs := []chat.Message{msg}
	for _, p := range parts {
		if p.Type != chat.PartToolCall {
			continue
		}
		msgs = append(msgs, toolMessage(msg.Step, failedResult(chat.Call{ID: p.CallID, Name: p.ToolName}, chat.TextCut, now)))
	}
	return msgs
}

func (r *run) assistant(parts []chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Content: parts, ContentVersion: 1, ModelConfigID: r.t.config.ID, Step: r.draft.view().Step}
}

// interrupted says whether the run was told to stop, whatever the cause.
func (r *run) interrupted() bool { return r.ctx.Err() != nil }
