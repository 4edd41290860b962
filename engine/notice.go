package engine

import (
	"context"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// noticeOf says what a transition is worth telling its person: only of roots that come to rest or wait for somebody, and only when the Turn
// came there by itself. The body of a finished one is the Turn's summary, which is not made yet: its run tells it.
func noticeOf(out changed) *chat.Notice {
	c := out.chat
	if c.ParentID != "" || c.Archived || out.byHand || out.from != chat.Running || out.move.Effects.Has(chat.Take) {
		return nil
	}
	n := &chat.Notice{User: c.OwnerID, Chat: c.ID, Title: c.Title}
	switch {
	case out.event == chat.FinishTurn && c.State.AtRest():
		n.Kind = chat.NoticeFinished
	case out.event == chat.Fail && c.State == chat.Failed && c.LastError != nil:
		n.Kind, n.Body = chat.NoticeFailed, c.LastError.Message
	case out.event == chat.AskAction && c.State == chat.RequiresAction:
		n.Kind, n.Body = chat.NoticeActionRequired, "Waits for you: "+openTools(c)
	default:
		return nil
	}
	return n
}

// tellFinished tells that the Turn is over, once. Where a model was asked for the summary, the person may have gone on meanwhile: then there
// is nothing to tell.
func (r *run) tellFinished(summary string, tried bool) {
	n := r.t.extra.telling.notice
	if n == nil || tried && !r.restsStill() {
		return
	}
	if n.Body = summary; summary == "" {
		n.Body = r.lastWords()
	}
	r.e.ports.notify(*n)
}

// restsStill says whether the Chat is as the Turn left it. It is asked at the end of the process too.
func (r *run) restsStill() bool {
	rests := false
	err := r.e.store.View(context.WithoutCancel(r.e.runner.ctx), func(tx *kv.Tx) error {
		c, found, err := tx.Chat(r.id)
		rests = found && c.State.AtRest() && !c.Archived && c.LastReply == r.t.chat.LastReply && c.Turn.UserMessage == r.t.chat.Turn.UserMessage
		return err
	})
	if err != nil {
		r.e.log.Warn("it is not known whether a turn is still worth a notice, so there is none", chat.LogChat, r.id, chat.LogError, err)
	}
	return rests && err == nil
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
