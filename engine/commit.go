package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/kv"
)

// outcome is what a Step leaves to be stored.
type outcome struct {
	msgs  []chat.Message
	usage *chat.UsageEntry
	// record changes the Chat's record with it; nil for nothing.
	record func(c *chat.Chat)
	// whole: the model's reply is complete, so the Step counts.
	whole bool
}

// stepChange is the transition that stores an outcome and clears the Step's Draft, checkpoints and intents. Messages are encoded here,
// before the transaction opens; they come back with the notes in front of them, and get their ids by the commit.
func (r *run) stepChange(ev chat.Event, o outcome) (change, []chat.Message, error) {
	now := r.e.now().UTC()
	msgs := o.msgs
	if o.whole || len(msgs) > 0 {
		msgs = slices.Concat(r.t.notes, o.msgs)
	}
	encoded := make([]kv.EncodedMessage, len(msgs))
	for i := range msgs {
		m := &msgs[i]
		m.ChatID = r.id
		if err := compactJSON(m.Content); err != nil {
			return change{}, nil, err
		}
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now
		}
		var err error
		if encoded[i], err = r.e.store.EncodeMessage(context.Background(), m); err != nil {
			return change{}, nil, err
		}
	}
	var seen map[string]string
	if r.t.reads != nil {
		seen = r.t.reads.all()
	}
	spent, loads := r.books.open()
	if o.usage != nil {
		spent = append([]*chat.UsageEntry{o.usage}, spent...)
	}
	advised := r.countAdvice(o.msgs)
	step, generation := r.draft.view().Step, r.draft.generation()
	write := func(tx *kv.Tx, c *chat.Chat, m chat.Move) error {
		for i := range encoded {
			id, err := tx.AppendMessage(c, encoded[i])
			if err != nil {
				return err
			}
			msgs[i].ID = id
			appended(c, &msgs[i])
		}
		if seen != nil {
			if err := tx.PutFileReads(c.ID, seen); err != nil {
				return err
			}
		}
		if err := writeBooks(tx, spent, loads, advised); err != nil {
			return err
		}
		if o.whole {
			c.Turn.Steps++
			c.Turn.Cuts = 0
		}
		if o.record != nil {
			o.record(c)
		}
		c.StepSeq = max(c.StepSeq, step)
		c.Generation = max(c.Generation, generation)
		if m.To != chat.RequiresAction {
			if err := answerUndecided(tx, c, now); err != nil {
				return err
			}
		}
		if err := tx.ClearDraft(c.ID); err != nil {
			return err
		}
		if err := owe(tx, c, m, ev.Kind, r.words); err != nil {
			return err
		}
		return errors.Join(trimMedia(tx, c, msgs), tx.ClearIntents(c.ID))
	}
	lease := r.lease
	return change{chat: r.id, fence: &lease, write: write, messages: msgs,
		event: func(*kv.Tx, *chat.Chat) (chat.Event, error) { return ev, nil }}, msgs, nil
}

// writeBooks writes what a Step has used, and what it says of the advisor unless it says nothing.
func writeBooks(tx *kv.Tx, spent []*chat.UsageEntry, loads map[chat.ModelConfigID]time.Duration, advised *chat.AdvisedDay) error {
	for _, u := range spent {
		if err := tx.PutUsage(u); err != nil {
			return err
		}
	}
	if advised != nil {
		if err := tx.AddAdvised(*advised); err != nil {
			return err
		}
	}
	return site.NoteLoads(tx, loads)
}

// compactJSON gives the JSON in parts the form that it has in the store: the next request of this run must have the bytes that a later run
// will send.
func compactJSON(parts []chat.Part) error {
	for i := range parts {
		p := &parts[i]
		for _, raw := range []*json.RawMessage{&p.Args, &p.Result, &p.Detail} {
			if *raw == nil {
				continue
			}
			var b bytes.Buffer
			if err := json.Compact(&b, *raw); err != nil {
				return err
			}
			*raw = b.Bytes()
		}
	}
	return nil
}

// answerUndecided answers the Calls that nobody will be asked about any more: their Step was interrupted before its commit.
func answerUndecided(tx *kv.Tx, c *chat.Chat, now time.Time) error {
	var decided []chat.OutstandingCall
	for _, o := range c.Outstanding {
		if o.Decision != "" {
			decided = append(decided, o)
			continue
		}
		msg := toolMessage(o.Step, failedResult(o.Call, chat.TextCut, now))
		if err := appendMessage(tx, c, &msg); err != nil && !lostWith(err) {
			return err
		}
	}
	c.Outstanding = decided
	return nil
}

// commitStep stores a whole Step. nil means that the Turn goes on; errFinished, that the Chat has no lease any more. On a full disk it
// keeps the Draft and tries again until it is stopped; what could not be committed is left in r.kept.
func (r *run) commitStep(ev chat.Event, o outcome) error {
	r.save.end()
	o.whole = true
	if len(o.msgs) > 0 {
		r.kept = &o
	}
	x, msgs, err := r.stepChange(ev, o)
	if err != nil {
		return storeError(err)
	}
	var out changed
	err = r.patiently(r.ctx.Done(), "", func(ctx context.Context) (err error) {
		began := r.e.now()
		out, err = r.e.change(ctx, x)
		r.books.trace.span(chat.SpanCommit, string(ev.Kind), "", r.draft.view().Step, began, r.e.now(), err != nil)
		return err
	})
	if err != nil {
		return err
	}
	r.kept = nil
	r.books.settled()
	r.t.notes = nil
	if out.chat.HistoryVersion != r.t.chat.HistoryVersion+int64(len(msgs)) {
		r.t.extra.place.missed = true
	}
	r.t.chat = out.chat
	for i := range msgs {
		r.t.history = append(r.t.history, &msgs[i])
	}
	if n := noticeOf(out); n != nil && n.Kind == chat.NoticeFinished {
		r.t.extra.telling.notice = n
	}
	// What ends the run from here on must not find the committed reply again.
	r.draft.clear()
	if !out.chat.State.Leased() {
		if !r.t.extra.place.missed {
			r.e.histories.put(out.chat, r.t.history)
		}
		return errFinished
	}
	if out.chat.State == chat.Interrupting {
		// The transition told us before its cancellation arrived.
		r.stop(chat.CauseInterrupted)
		return chat.CauseInterrupted
	}
	return nil
}

// patiently tries a write again, and shows so, while the disk is full and until over is closed. said stands before what the store says.
func (r *run) patiently(over <-chan struct{}, said string, try func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		err := try(ctx)
		cancel()
		var refused *chat.Error
		if err == nil || !errors.As(err, &refused) || refused.Kind != chat.KindNoSpace {
			return err
		}
		const wait = 2 * time.Second
		r.draft.pause(&chat.Retry{Attempt: attempt, DelayMS: wait.Milliseconds(), RetryingAt: r.e.now().Add(wait), Kind: refused.Kind,
			Message: said + refused.Message}, r.e.now())
		r.e.feed.touch(r.id)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-over:
			timer.Stop()
			return refused
		}
	}
}

func toolMessage(step int64, result chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleTool, Content: []chat.Part{result}, ContentVersion: 1, Step: step}
}

func failedResult(c chat.Call, text string, now time.Time) chat.Part {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return chat.Part{Type: chat.PartToolResult, CallID: c.ID, ToolName: c.Name, Result: body, IsError: true, CreatedAt: &now, CompletedAt: &now}
}
