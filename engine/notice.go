package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// noticeOf says what a transition is worth telling its person: only of roots that come to rest or wait for somebody, and only when the Turn
// came there by itself. The body of a finished one is the Turn's summary, which is not made yet: its run tells it.
func noticeOf(out changed) *chat.Notice {
	c := out.chat
	late := out.event == chat.Deadline
	if c.ParentID != "" || c.Archived || out.byHand || out.from != chat.Running && !late || out.move.Effects.Has(chat.Take) {
		return nil
	}
	n := &chat.Notice{User: c.OwnerID, Chat: c.ID, Title: c.Title}
	switch {
	case out.event == chat.FinishTurn && c.State.AtRest():
		n.Kind = chat.NoticeFinished
	case (late || out.event == chat.Fail) && c.State == chat.Failed && c.LastError != nil:
		n.Kind, n.Body = chat.NoticeFailed, c.LastError.Message
	case out.event == chat.AskAction && c.State == chat.RequiresAction:
		n.Kind, n.Body = chat.NoticeActionRequired, "Waits for you: "+openTools(c)
	default:
		return nil
	}
	return n
}

// tellFinished tells that the Turn is over where no summary is waited for.
func (r *run) tellFinished() {
	if n := r.t.extra.telling.notice; n != nil {
		n.Body = r.words()
		r.e.tellNow(*n, r.t.chat.LastReply)
	}
}

// owe keeps in the transaction of a transition that its person is still to be told. finished gives the body where a Turn is over.
func owe(tx *kv.Tx, c *chat.Chat, m chat.Move, ev chat.EventKind, finished func() string) error {
	rested := *c
	rested.State, rested.Archived = m.To, m.Archived
	n := noticeOf(changed{chat: &rested, move: m, event: ev, from: c.State, byHand: c.Intent != ""})
	if n == nil {
		return nil
	}
	if n.Kind == chat.NoticeFinished {
		n.Body = finished()
	}
	if n.Body == c.LastTurnSummary {
		n.Body = ""
	}
	return tx.PutOwedNotice(c.ID, &chat.OwedNotice{Kind: n.Kind, Reply: c.LastReply, UserMessage: c.Turn.UserMessage, Body: n.Body})
}

// tellNow tells what a transition owed, and takes it out of the store. A person who waits hears of it even if that fails; then it is told once more
// after the next start.
func (e *Engine) tellNow(n chat.Notice, reply chat.MessageID) {
	e.runner.joined.Go(func() {
		owed, err := e.claimNotice(context.WithoutCancel(e.runner.ctx), n.Chat, reply, n.Body)
		if err != nil {
			e.log.Warn("a notice may be told again after the next start", chat.LogChat, n.Chat, chat.LogError, err)
			owed = &n
		}
		if owed != nil {
			e.ports.notify(*owed)
		}
	})
}

// tellSummed tells that the Turn is over, once. The person may have gone on meanwhile: then there is nothing to tell.
func (r *run) tellSummed(summary string) {
	n := r.t.extra.telling.notice
	if n == nil || !r.t.extra.telling.owed {
		return
	}
	// It is asked at the end of the process too.
	owed, err := r.e.claimNotice(context.WithoutCancel(r.e.runner.ctx), r.id, r.t.chat.LastReply, summary)
	if err != nil {
		r.log().Warn("that a turn is finished is told after the next start", chat.LogError, err)
	}
	if err != nil || owed == nil {
		return
	}
	r.e.ports.notify(*owed)
}

// claimNotice takes what is owed out of the store, so that nobody tells it again, and keeps and gives it if the Chat still rests as that Turn left it.
// reply names the Turn, 0 whichever it is; body "" is that which is owed.
func (e *Engine) claimNotice(ctx context.Context, id chat.ID, reply chat.MessageID, body string) (*chat.Notice, error) {
	var n *chat.Notice
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		n = nil
		owed, found, err := tx.OwedNotice(id)
		if err != nil || !found || reply != 0 && owed.Reply != reply {
			return err
		}
		if _, err := tx.DeleteOwedNotice(id); err != nil {
			return err
		}
		c, found, err := tx.Chat(id)
		if err != nil || !found || c.Archived || c.LastReply != owed.Reply || c.Turn.UserMessage != owed.UserMessage || !standsAs(c, owed.Kind) {
			return err
		}
		n = &chat.Notice{User: c.OwnerID, Chat: c.ID, Kind: cmp.Or(owed.Kind, chat.NoticeFinished), Title: c.Title,
			Body: cmp.Or(body, owed.Body, c.LastTurnSummary)}
		return e.ports.keep(tx, n)
	})
	return n, err
}

// standsAs says whether a Chat still stands as a notice of this kind says.
func standsAs(c *chat.Chat, k chat.NoticeKind) bool {
	switch k {
	case chat.NoticeFailed:
		return c.State == chat.Failed
	case chat.NoticeActionRequired:
		return c.State == chat.RequiresAction
	}
	return c.State.AtRest()
}

// tellOwed tells at the start what a process that was killed still owed.
func (e *Engine) tellOwed(ctx context.Context) error {
	var ids []chat.ID
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		ids, err = tx.OwedNotices()
		return err
	})
	for _, id := range ids {
		n, failed := e.claimNotice(ctx, id, 0, "")
		if errors.Is(failed, kv.ErrDamaged) {
			// It is named where damage is; the others are told.
			continue
		}
		if failed != nil {
			return failed
		}
		if n != nil {
			e.ports.notify(*n)
		}
	}
	return err
}

// words are the first sentence of the Turn's reply, else of what the model said last.
func (r *run) words() string {
	if first := r.t.extra.telling.first; first != "" {
		return first
	}
	return r.lastWords()
}

// lastWords is the first sentence of what the model said last in a Turn that did not end with a reply.
func (r *run) lastWords() string {
	c := r.t.chat
	for i := len(r.t.history) - 1; i >= 0 && r.t.history[i].ID > c.Turn.UserMessage; i-- {
		m := r.t.history[i]
		if m.Role != chat.RoleAssistant || m.Visibility == chat.VisibleModel {
			continue
		}
		if line, _ := quick.FirstSentence(chat.PlainText(m.Content)); line != "" {
			return line
		}
	}
	if c.LastTurnSummary != "" {
		return c.LastTurnSummary
	}
	return "The turn is finished."
}

func openTools(c *chat.Chat) string {
	var names []string
	for _, o := range c.Outstanding {
		if o.Decision == "" {
			names = append(names, o.Call.Name)
		}
	}
	return strings.Join(names, ", ")
}
