package engine

import (
	"context"
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// compact replaces the history before now by a summary that a model writes. A summary that fails leaves its card and no
// error; the caller looks whether the prompt still fits. An error is the run's cause or a failed commit.
func (r *run) compact(built prompt.Built, source string) error {
	r.beginDraft(built.Bytes)
	r.draft.setPhase(chat.PhaseCompacting, 0, r.e.now())
	s := prompt.Summary{ChatID: r.id, CallID: callID(r.draft.view().Step, 0), Source: source, Threshold: r.threshold(),
		Used: r.t.chat.Used, Unanswered: built.Unanswered}
	r.draft.show(chat.Part{Type: chat.PartToolCall, CallID: s.CallID, ToolName: prompt.SummaryTool}, r.e.now().UTC())
	r.e.feed.touch(r.id)
	err := r.summarise(built, &s)
	if r.interrupted() {
		r.draft.clear()
		return context.Cause(r.ctx)
	}
	if err != nil {
		s.Failure = turnError(err).Message
	} else if s.Text == "" {
		s.Failure = "The model wrote no summary."
	}
	s.At = r.e.now().UTC()
	result := "ok"
	if s.Failure != "" {
		result = "error"
	}
	r.e.meters.compactions.Inc(result)
	var msgs []chat.Message
	for _, m := range prompt.SummaryMessages(s) {
		m.Step = r.draft.view().Step
		msgs = append(msgs, *m)
	}
	o := outcome{msgs: msgs, record: func(c *chat.Chat) {
		c.Turn.Steps--
		c.Turn.Compactions++
		c.Turn.CompactedAt = c.Turn.Steps
		if s.Failure == "" {
			c.Used = chat.ContextUse{Limit: c.Used.Limit}
		}
	}}
	if s.Failure != "" {
		return r.commitStep(chat.Event{Kind: chat.CommitStep}, o)
	}
	return r.commitSummary(o)
}

// commitSummary stores a summary. What the model is still to be told follows it, and what it was told of directories that it met is told again when it
// meets them again: the summary stands in the place of both.
func (r *run) commitSummary(o outcome) error {
	notes := slices.DeleteFunc(r.t.notes, func(m chat.Message) bool {
		// There is no reply any more to go on with.
		return chat.PlainText(m.Content) == chat.TextGoOn
	})
	r.t.notes = nil
	if err := r.commitStep(chat.Event{Kind: chat.CommitStep}, o); err != nil {
		return err
	}
	r.t.notes, r.t.extra.guided.seen = notes, nil
	return nil
}

// spent says that compacting once more is of no use: the Turn may not, or no Step came of it the last time.
func (r *run) spent() bool {
	turn := &r.t.chat.Turn
	return turn.Compactions >= prompt.MaxCompactions || turn.Compactions > 0 && turn.CompactedAt == turn.Steps
}

// compactByHand is the run that Compact asked for: it summarises and rests where the Chat came from.
func (r *run) compactByHand() error {
	built := prompt.Build(r.promptInput())
	if err := r.compact(built, prompt.SourceManual); err != nil {
		return err
	}
	return r.commitStep(chat.Event{Kind: chat.FinishTurn}, outcome{record: func(c *chat.Chat) { c.Turn.Steps-- }})
}

// CompactInput and ClearInput name the Chat.
type (
	CompactInput struct {
		ChatID chat.ID
		Keyed
	}
	ClearInput struct {
		ChatID chat.ID
		Keyed
	}
)

// Compact summarises a resting Chat's history so that the window has room again. The transcript stays.
func (e *Engine) Compact(ctx context.Context, p chat.Principal, in CompactInput) (*chat.Chat, error) {
	return e.changeOnce(ctx, p, in.Keyed, "compact", in, change{chat: in.ChatID, event: kindOf(chat.Compact)})
}

// Clear starts a new context in a resting Chat: the model sees nothing of what was before. The transcript stays.
func (e *Engine) Clear(ctx context.Context, p chat.Principal, in ClearInput) (*chat.Chat, error) {
	return e.changeOnce(ctx, p, in.Keyed, "clear", in, change{chat: in.ChatID, event: kindOf(chat.Clear),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Used = chat.ContextUse{Limit: c.Used.Limit}
			return appendMessage(tx, c, &chat.Message{CreatedAt: e.now().UTC(), Role: chat.RoleSystem, Visibility: chat.VisibleUser,
				Boundary: chat.BoundaryClear, ContentVersion: 1, Content: []chat.Part{}})
		}})
}

// kindOf makes an event that needs no facts.
func kindOf(k chat.EventKind) func(*kv.Tx, *chat.Chat) (chat.Event, error) {
	return func(*kv.Tx, *chat.Chat) (chat.Event, error) { return chat.Event{Kind: k}, nil }
}
