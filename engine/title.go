package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// titleTimeout bounds the quick call that names a Chat.
const titleTimeout = 30 * time.Second

// nameChat gives a Chat a better title than its first words, once, after its first Turn came to rest. Every failure leaves the title.
func (r *run) nameChat() {
	c := r.t.chat
	first, users := firstUserText(r.t.history)
	if c.Child() || !c.TitleFallback || users != 1 || !c.State.AtRest() || c.Archived {
		return
	}
	ctx, cancel := context.WithTimeout(chat.WithOrigin(r.e.runner.ctx, r.origin(chat.UsageTitle)), titleTimeout)
	defer cancel()
	started := r.e.now()
	small := r.e.small(ctx, r.t.config)
	title, counts, err := r.askTitle(ctx, small, first)
	if err != nil {
		r.e.meters.quick.Inc("title", "error")
		r.e.log.Info("no title was made", "chat", r.id, "error", err)
	} else {
		r.e.meters.quick.Inc("title", "ok")
	}
	if counts.InputTokens == nil && title == "" {
		return
	}
	usage := usageOf(c, small.Config, chat.UsageTitle, chat.Reply{Usage: counts}, r.e.now().Sub(started), r.e.now())
	was := c.Title
	_, err = r.e.change(r.e.runner.ctx, change{chat: r.id, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			if title != "" && c.TitleFallback && c.Title == was {
				c.Title, c.TitleFallback = title, false
			}
			return tx.PutUsage(usage)
		}})
	if err != nil && r.e.runner.ctx.Err() == nil {
		r.e.log.Warn("a title could not be stored", "chat", r.id, "error", err)
	}
}

// askTitle asks a model beside the Chat's for a title by the first Message alone, or the Chat's own as its next Step would be asked: another
// question would cost the next Turn the cached prompt where a server keeps only one.
func (r *run) askTitle(ctx context.Context, small quick.Choice, first string) (string, chat.Usage, error) {
	if !sameModel(small.Config, r.t.config) {
		return quick.Title(ctx, r.e.model, small.Request(), first, "")
	}
	req, fits := r.nextRequest(outcome{})
	if !fits {
		return "", chat.Usage{}, prompt.ContextFull(prompt.Built{Request: req})
	}
	return quick.TitleOwn(ctx, r.e.model, req)
}

// firstUserText gives the first user Message's text, and how many user Messages there are.
func firstUserText(history []*chat.Message) (first string, users int) {
	for _, m := range history {
		if m.Role != chat.RoleUser || m.Visibility == chat.VisibleModel || m.Deleted {
			continue
		}
		if users == 0 {
			first = chat.PlainText(m.Content)
		}
		users++
	}
	return first, users
}
