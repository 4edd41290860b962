package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/quick"
	"holdfast/engine/site"
	"holdfast/kv"
)

// summaryAfter is how long a Chat rests before a model sums its Turn up: a program that goes on at once would only throw the sentence away, and
// have its next Turn wait for the model.
const summaryAfter = 500 * time.Millisecond

// telling is what is told of a Turn once it rests.
type telling struct {
	// first is the first sentence of the reply that ended it; whole: there is nothing else in it.
	first string
	whole bool
	// owed: a model is asked for a better sentence, and the notice waits for it in the store.
	owed bool
	// notice waits for the Turn's summary; nil when there is nothing to tell.
	notice *chat.Notice
}

// withSummary lets the Turn's commit store the first sentence of its reply as the line below the title.
func (r *run) withSummary(o outcome) outcome {
	if len(o.msgs) == 0 || r.t.chat.Child() {
		return o
	}
	line, whole := quick.FirstSentence(chat.PlainText(o.msgs[len(o.msgs)-1].Content))
	if line == "" {
		return o
	}
	r.t.extra.telling = telling{first: line, whole: whole, owed: !whole && r.summarised()}
	before := o.record
	o.record = func(c *chat.Chat) {
		if before != nil {
			before(c)
		}
		c.LastTurnSummary = line
	}
	return o
}

// summariseTurn replaces that line by a better sentence once the Turn rests, and gives the one that then stands there. A reply of one sentence
// needs none.
func (r *run) summariseTurn() (line string) {
	c, first := r.t.chat, r.t.extra.telling.first
	if first == "" || !r.t.extra.telling.owed || c.Archived || c.State != chat.Waiting && c.State != chat.Completed || c.RestReason == chat.RestInterrupted {
		return first
	}
	last := r.t.history[len(r.t.history)-1]
	if last.ID != c.LastReply || !r.restsOn() {
		return first
	}
	final := chat.PlainText(last.Content)
	ctx := chat.WithOrigin(r.e.runner.ctx, r.origin(chat.UsageSummary))
	started := r.e.now()
	small := r.e.small(ctx, r.t.config)
	line, reply, err := r.askSummary(ctx, small, final)
	result := "ok"
	if err != nil {
		result = "error"
		r.log().Info("no summary of a turn was made", chat.LogError, err)
	}
	r.e.meters.quick.Inc("summary", result)
	if line == "" && reply.Usage.InputTokens == nil {
		return first
	}
	usage := usageOf(c, small.Config, chat.UsageSummary, reply, r.e.now().Sub(started), r.e.now())
	_, err = r.e.change(r.e.runner.ctx, change{chat: r.id, quiet: true, event: kindOf(chat.Amend),
		write: func(tx *kv.Tx, now *chat.Chat, _ chat.Move) error {
			// A later Turn has a line of its own.
			if line != "" && now.LastReply == c.LastReply && now.LastTurnSummary == first {
				now.LastTurnSummary = line
			}
			return tx.PutUsage(usage)
		}})
	if err != nil && r.e.runner.ctx.Err() == nil {
		r.log().Warn("a summary of a turn could not be stored", chat.LogError, err)
	}
	if line == "" {
		line = first
	}
	return line
}

// restsOn waits a little and says whether the Chat is still as its Turn left it.
func (r *run) restsOn() (rests bool) {
	after := time.NewTimer(summaryAfter)
	defer after.Stop()
	select {
	case <-after.C:
	case <-r.e.runner.ctx.Done():
		return false
	}
	was := r.t.chat
	err := r.e.store.View(r.e.runner.ctx, func(tx *kv.Tx) error {
		now, found, err := tx.Chat(r.id)
		rests = found && !now.Archived && now.State == was.State && now.LastReply == was.LastReply && now.Turn.UserMessage == was.Turn.UserMessage
		return err
	})
	if err != nil && r.e.runner.ctx.Err() == nil {
		r.log().Warn("a chat could not be read, so its turn is not summed up", chat.LogError, err)
	}
	return rests && err == nil
}

// summarised says whether models are to sum Turns up.
func (r *run) summarised() (wanted bool) {
	err := r.e.store.View(r.e.runner.ctx, func(tx *kv.Tx) error {
		cfg, err := site.ReadTurnSummaries(tx)
		wanted = cfg.Enabled
		return err
	})
	if err != nil && r.e.runner.ctx.Err() == nil {
		r.log().Warn("the settings of turn summaries could not be read, so no model is asked", chat.LogError, err)
	}
	return wanted && err == nil
}

// askSummary asks as askTitle does.
func (r *run) askSummary(ctx context.Context, small quick.Choice, final string) (string, chat.Reply, error) {
	if !sameModel(small.Config, r.t.config) {
		return quick.Summary(ctx, r.e.model, small.Request(), r.t.chat.Title, final)
	}
	req, fits := r.nextRequest(outcome{})
	if !fits {
		return "", chat.Reply{}, prompt.ContextFull(prompt.Built{Request: req})
	}
	return quick.SummaryOwn(ctx, r.e.model, req)
}
