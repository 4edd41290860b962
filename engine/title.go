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

// naming is the title of a Chat's first Turn that is made while the Turn is under way.
type naming struct {
	// begun is closed when the try is over, nil before one; tried says that a model was asked.
	begun chan struct{}
	tried bool
}

// nameAtOnce gives a Chat its title while its first Turn is under way, where a model beside the Chat's own, which is loaded by now, makes it.
func (r *run) nameAtOnce() {
	n, now := &r.t.extra.naming, r.t.chat
	if n.begun != nil || now.Child() || !now.TitleFallback || now.Turn.Steps > 0 {
		return
	}
	first, users := firstUserText(r.t.history)
	if users != 1 {
		return
	}
	n.begun = make(chan struct{})
	c := *now
	own, origin := r.t.config, r.origin(chat.UsageTitle)
	r.e.runner.joined.Go(func() {
		defer close(n.begun)
		ctx, cancel := context.WithTimeout(chat.WithOrigin(r.e.runner.ctx, origin), titleTimeout)
		defer cancel()
		small := r.e.small(ctx, own)
		if sameModel(small.Config, own) {
			return
		}
		n.tried = true
		started := r.e.now()
		title, counts, err := quick.Title(ctx, r.e.model, small.Request(), first, "")
		r.e.keepTitle(&c, small.Config, made{title, counts, err, r.e.now().Sub(started)})
	})
}

// nameChat gives a Chat a better title than its first words, once, after its first Turn came to rest, unless it was tried before. Every
// failure leaves the title.
func (r *run) nameChat() {
	if n := &r.t.extra.naming; n.begun != nil {
		<-n.begun
		if n.tried {
			return
		}
	}
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
	r.e.keepTitle(c, small.Config, made{title, counts, err, r.e.now().Sub(started)})
}

// made is what came of asking for a title.
type made struct {
	title  string
	counts chat.Usage
	err    error
	took   time.Duration
}

// keepTitle stores a title unless the Chat got another one meanwhile, and books what it cost.
func (e *Engine) keepTitle(c *chat.Chat, config chat.ModelConfig, m made) {
	if m.err != nil {
		e.meters.quick.Inc("title", "error")
		e.log.Info("no title was made", chat.LogChat, c.ID, chat.LogError, m.err)
	} else {
		e.meters.quick.Inc("title", "ok")
	}
	if m.counts.InputTokens == nil && m.title == "" {
		return
	}
	usage := usageOf(c, config, chat.UsageTitle, chat.Reply{Usage: m.counts}, m.took, e.now())
	was := c.Title
	_, err := e.change(e.runner.ctx, change{chat: c.ID, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			if m.title != "" && c.TitleFallback && c.Title == was {
				c.Title, c.TitleFallback = m.title, false
			}
			return tx.PutUsage(usage)
		}})
	if err != nil && e.runner.ctx.Err() == nil {
		e.log.Warn("a title could not be stored", chat.LogChat, c.ID, chat.LogError, err)
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
