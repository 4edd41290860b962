package runlog

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
)

// Recorder is a chat.Model that notes every call of another one in a Log. It changes nothing of the call.
type Recorder struct {
	next chat.Model
	log  *Log
}

var _ chat.Model = (*Recorder)(nil)

// Record wraps next.
func Record(next chat.Model, log *Log) *Recorder { return &Recorder{next: next, log: log} }

// Stream makes the call. One without a Chat in its context, and every one while the Log is off, is not noted.
func (m *Recorder) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	origin := chat.OriginOf(ctx)
	if origin.Chat == "" || !m.log.On() {
		return m.next.Stream(ctx, req, yield)
	}
	c := &recording{started: time.Now(), run: Run{ID: uuid.Must(uuid.NewV7()).String(), ChatID: origin.Chat, Purpose: origin.Purpose, Trace: origin.Trace, Model: req.Model}}
	c.run.StartedAt, c.queued = c.started.UTC(), c.started
	seen := *req
	seen.Sent = c.sent
	reply, err := m.next.Stream(ctx, &seen, func(d chat.Delta) error {
		c.see(d)
		return yield(d)
	})
	m.log.add(c.end(ctx, reply, err))
	return reply, err
}

// recording is one call on its way. Stream's goroutine owns all of it.
type recording struct {
	run     Run
	started time.Time
	// queued is since when the call waits for its turn; zero when it does not.
	queued time.Time
	body   []byte
	text   strings.Builder
	reason strings.Builder
	calls  []chat.Call
}

func (c *recording) sent(url string, body []byte) { c.run.URL, c.body = url, body }

func (c *recording) see(d chat.Delta) {
	switch {
	case d.Retry != nil:
		c.run.Failed = append(c.run.Failed, Attempt{At: time.Now().UTC(), Kind: d.Retry.Kind, Message: d.Retry.Message,
			Status: d.Retry.StatusCode, Delay: time.Duration(d.Retry.DelayMS) * time.Millisecond})
		c.text.Reset()
		c.reason.Reset()
		c.calls, c.run.Times.First = nil, 0
		return
	case d.Phase == chat.PhaseQueued:
		if c.queued.IsZero() {
			c.queued = time.Now()
		}
		return
	case d.Phase != "":
		if !c.queued.IsZero() {
			c.run.Times.Queue += time.Since(c.queued)
			c.queued = time.Time{}
		}
		return
	}
	if c.run.Times.First == 0 {
		c.run.Times.First = time.Since(c.started)
	}
	c.text.WriteString(d.Text)
	c.reason.WriteString(d.Reasoning)
	if d.Call != nil {
		c.calls = append(c.calls, *d.Call)
	}
}

func (c *recording) end(ctx context.Context, reply chat.Reply, err error) entry {
	c.run.Times.Total = time.Since(c.started)
	c.run.Times.Load, c.run.Times.Prompt, c.run.Times.Eval = reply.Load, reply.Prompt, reply.Eval
	c.run.Usage, c.run.FinishReason = reply.Usage, reply.FinishReason
	var failure *chat.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		c.run.Stopped = true
	case errors.As(err, &failure):
		shown := *failure
		shown.Cause = nil
		c.run.Error = &shown
	default:
		c.run.Error = &chat.Error{Kind: chat.KindInternal, Message: err.Error()}
	}
	return entry{run: c.run, body: c.body, texts: Texts{Text: c.text.String(), Reasoning: c.reason.String(), Calls: c.calls}}
}
