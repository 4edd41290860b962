package engine

import (
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
)

// noticeOf says what a transition is worth telling its person: only of roots that come to rest or wait for somebody, and only when the Turn
// came there by itself. appended are the Messages of the transition.
func noticeOf(out changed, appended []*chat.Message) (chat.Notice, bool) {
	c := out.chat
	if c.ParentID != "" || c.Archived || out.byHand || out.from != chat.Running || out.move.Effects.Has(chat.Take) {
		return chat.Notice{}, false
	}
	n := chat.Notice{User: c.OwnerID, Chat: c.ID, Title: c.Title}
	switch {
	case out.event == chat.FinishTurn && c.State.AtRest():
		n.Kind, n.Body = chat.NoticeFinished, finalSentence(c, appended)
	case out.event == chat.Fail && c.State == chat.Failed && c.LastError != nil:
		n.Kind, n.Body = chat.NoticeFailed, c.LastError.Message
	case out.event == chat.AskAction && c.State == chat.RequiresAction:
		n.Kind, n.Body = chat.NoticeActionRequired, "Waits for you: "+openTools(c)
	default:
		return chat.Notice{}, false
	}
	return n, true
}

// finalSentence is the first sentence of what the model said last, as the list of chats has it at that moment; nothing is read for it, and a
// better sentence by a model would come too late.
func finalSentence(c *chat.Chat, appended []*chat.Message) string {
	for i := len(appended) - 1; i >= 0; i-- {
		m := appended[i]
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
