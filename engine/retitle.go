package engine

import (
	"context"
	"errors"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// TitleInput asks a model for a title of a Chat. Keep stores it, else it is only a proposal.
type TitleInput struct {
	ChatID chat.ID
	Keep   bool
}

// TitleOutput is the title.
type TitleOutput struct{ Title string }

// recentTurns is how many of the last Turns a model is shown to name a Chat.
const recentTurns = 3

// Title lets a model name a Chat by how it began and by its last Turns. Two at once are refused; UpdatedAt stays.
func (e *Engine) Title(ctx context.Context, _ chat.Principal, in TitleInput) (TitleOutput, error) {
	var out TitleOutput
	if !e.feed.beginNaming(in.ChatID) {
		return out, &chat.Error{Kind: chat.KindWrongState, Message: "A title is being made already.", Detail: "Wait for it."}
	}
	defer e.feed.endNaming(in.ChatID)
	if err := e.whole(ctx, in.ChatID); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(chat.WithOrigin(ctx, chat.Origin{Chat: in.ChatID, Purpose: chat.UsageTitle}), titleTimeout)
	defer cancel()
	var c *chat.Chat
	var config chat.ModelConfig
	var history []*chat.Message
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		if c, err = mustChat(tx, in.ChatID); err != nil {
			return err
		}
		if in.Keep && c.Archived {
			return (&chat.Refusal{Kind: chat.KindArchived, State: c.State}).AsError()
		}
		if config, err = e.ports.configs(tx, c.ModelConfigID); err != nil {
			return err
		}
		history, err = tx.Messages(in.ChatID, kv.MessageQuery{})
		return err
	})
	if err != nil {
		return out, err
	}
	if _, users := firstUserText(history); users == 0 {
		return out, &chat.Error{Kind: chat.KindWrongState, Message: "There is nothing to name yet.", Detail: "Send a message first."}
	}
	ctx = chat.WithOrigin(ctx, chat.Origin{Chat: c.ID, Purpose: chat.UsageTitle})
	started := e.now()
	small := e.small(ctx, config)
	title, counts, err := e.askByHand(ctx, c, config, small, history)
	usage := usageOf(c, small.Config, chat.UsageTitle, chat.Reply{Usage: counts}, e.now().Sub(started), e.now())
	if errors.Is(err, quick.ErrTitle) {
		// An answer that is no title was paid all the same.
		if stored := e.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutUsage(usage) }); stored != nil {
			return out, storeError(stored)
		}
	}
	if err != nil {
		e.meters.quick.Inc("title", "error")
		return out, notNamed(err)
	}
	e.meters.quick.Inc("title", "ok")
	out.Title = title
	_, err = e.change(ctx, change{chat: in.ChatID, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			if in.Keep {
				c.Title, c.TitleFallback = title, false
			}
			return tx.PutUsage(usage)
		}})
	return out, err
}

// askByHand asks a model beside the Chat's by how the Chat began and by its last Turns, or the Chat's own behind the Chat's messages, as askTitle
// does, where its next request can be said at this moment.
func (e *Engine) askByHand(ctx context.Context, c *chat.Chat, own chat.ModelConfig, small quick.Choice, history []*chat.Message) (string, chat.Usage, error) {
	if sameModel(small.Config, own) {
		if req := e.nextOf(ctx, *c); req != nil {
			return quick.TitleOwn(ctx, e.model, req)
		}
	}
	first, _ := firstUserText(history)
	return quick.Title(ctx, e.model, small.Request(), first, lastTurns(history, recentTurns))
}

// nextOf is the request that a Chat's next Step would send, made by a run without a lease, which can change nothing; nil where it cannot be
// made, or has no room for a question.
func (e *Engine) nextOf(ctx context.Context, c chat.Chat) *chat.Request {
	r := newRun(e, c.ID, chat.Lease{})
	defer r.stop(context.Canceled)
	defer context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })()
	err := r.begin(&c)
	if len(r.t.history) > 0 {
		// The next Turn takes up what this run has read.
		e.histories.put(&c, r.t.history)
	}
	if err != nil {
		e.log.Info("the next request of a chat could not be made", chat.LogChat, c.ID, chat.LogError, err)
		return nil
	}
	req, fits := r.nextRequest(outcome{})
	if !fits {
		return nil
	}
	return req
}

// notNamed says why there is no title.
func notNamed(err error) *chat.Error {
	switch {
	case errors.Is(err, quick.ErrTitle):
		return &chat.Error{Kind: chat.KindServer, Message: "The model gave no usable title.", Detail: "Try again, or write one yourself.", Retryable: true, Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &chat.Error{Kind: chat.KindSlowStart, Message: "The model gave no title in time.", Detail: "Try again when it is less busy.", Retryable: true, Cause: err}
	}
	return turnError(err)
}

// lastTurns joins what was said in the last n Turns; "" where there is no more than one.
func lastTurns(history []*chat.Message, n int) string {
	from, users := 0, 0
	for i := len(history) - 1; i >= 0 && users < n; i-- {
		if m := history[i]; m.Role == chat.RoleUser && m.Visibility != chat.VisibleModel {
			from = i
			users++
		}
	}
	if users < 2 {
		return ""
	}
	var said []string
	for _, m := range history[from:] {
		if m.Visibility == chat.VisibleModel || m.Visibility == chat.VisibleUser || m.Role != chat.RoleUser && m.Role != chat.RoleAssistant {
			continue
		}
		if text := strings.TrimSpace(chat.PlainText(m.Content)); text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n\n")
}
