package ollama

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/slot"
	"holdfast/engine/thought"
)

// drainLimit is how long a whole reply may take to end its response, so that the connection can be used again.
const drainLimit = time.Second

// call is one running request of Stream.
type call struct {
	a     *Adapter
	req   *chat.Request
	yield func(chat.Delta) error
	// yielded is the error of yield; it wins over whatever the end of the request looks like.
	yielded error
	window  int
	started bool
	loading bool
	text    joiner
	thought joiner
	split   thought.Splitter
	// tag is a piece of text that is only the tag of a call: some servers let it through before the call itself.
	tag string
	ids map[string]bool
}

const callTag = "<tool_call>"

// Stream runs one call. See chat.Model; what the server says stands in the *chat.Fault. Broken streams have io.EOF or
// io.ErrUnexpectedEOF in the chain.
func (a *Adapter) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{a: a, req: req, yield: yield}
	t := a.slots.Enter(req.Model, req.Class, cancel)
	defer a.slots.Leave(req.Model, t)

	err := a.slots.Wait(ctx, t, func(place int) error {
		return c.give(chat.Delta{Phase: chat.PhaseQueued, Place: place})
	})
	var reply chat.Reply
	if err == nil {
		reply, err = c.run(ctx)
	}
	if err == nil {
		return reply, nil
	}
	if c.yielded != nil {
		return chat.Reply{}, c.yielded
	}
	if ctx.Err() == nil {
		return chat.Reply{}, err
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, slot.ErrPreempted) {
		return chat.Reply{}, &chat.Fault{Text: "busy", Started: c.started, Address: a.address, Err: cause}
	}
	return chat.Reply{}, cause
}

func (c *call) give(d chat.Delta) error {
	if err := c.yield(d); err != nil {
		c.yielded = err
		return err
	}
	return nil
}

// formatGrace is how long a call with a Format may go on after it was cancelled.
const formatGrace = 5 * time.Second

// wire is the context of the request itself. A server whose runner is cut off in a reply with a Format may answer nobody any more (seen with
// 0.11.4), so such a call, which is small, first gets time to end.
func (c *call) wire(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.req.Format == nil {
		return context.WithCancel(ctx)
	}
	wire, stop := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(formatGrace, stop) })
	return wire, func() { detach(); stop() }
}

func (c *call) run(ctx context.Context) (chat.Reply, error) {
	wire, stop := c.wire(ctx)
	defer stop()
	body, err := c.body(ctx)
	if err != nil {
		return chat.Reply{}, err
	}
	resp, err := c.open(wire, stop, body)
	if err != nil {
		return chat.Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		f := c.a.refused(resp)
		f.Loading = c.loading
		return chat.Reply{}, f
	}
	l := c.a.lines(resp.Body)
	defer c.a.release(l)
	reply, err := c.read(ctx, l)
	if err != nil {
		return chat.Reply{}, err
	}
	// The end of the response comes right after the last frame. Read it, and the connection is kept; but do not hang on it.
	slow := time.AfterFunc(drainLimit, stop)
	defer slow.Stop()
	if _, err := l.next(); !errors.Is(err, io.EOF) {
		stop()
	}
	return reply, nil
}

// body makes what is sent, and tells of it.
func (c *call) body(ctx context.Context) ([]byte, error) {
	if err := c.give(chat.Delta{Phase: chat.PhaseReading}); err != nil {
		return nil, err
	}
	m, err := c.a.show(ctx, c.req.Model, "")
	if err != nil && !answered(err) {
		return nil, err
	}
	c.window = c.req.Options.NumCtx
	if m.trained > 0 && int64(c.window) > m.trained {
		c.window = int(m.trained)
	}
	if err := c.admit(ctx); err != nil {
		return nil, err
	}
	body, err := c.a.encode(c.req, m, c.window)
	if err != nil {
		return nil, err
	}
	if c.req.Sent != nil {
		c.req.Sent(c.a.base+"/api/chat", body)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return body, nil
}

// answered: a server that refuses /api/show says the same, and better, to the call itself.
func answered(err error) bool {
	var f *chat.Fault
	return errors.As(err, &f) && f.Status != 0
}

func (c *call) read(ctx context.Context, l *lineReader) (chat.Reply, error) {
	for {
		line, err := l.next()
		if err != nil {
			return chat.Reply{}, c.broken(ctx, err)
		}
		if len(line) == 0 {
			continue
		}
		f, err := decodeFrame(line)
		if err != nil {
			return chat.Reply{}, c.broken(ctx, fmt.Errorf("an unreadable line of %d bytes (%w): %w", len(line), err, io.ErrUnexpectedEOF))
		}
		if text := errorText(f.Error); text != "" {
			if err := c.flush(); err != nil {
				return chat.Reply{}, err
			}
			return chat.Reply{}, &chat.Fault{Status: http.StatusOK, Text: text, Started: c.started, Loading: c.loading, Address: c.a.address}
		}
		if err := c.deliver(&f); err != nil {
			return chat.Reply{}, err
		}
		if f.Done {
			return c.close(&f)
		}
	}
}

// broken is a stream that ended before its last frame: dropped, closed, a line too long or not readable.
func (c *call) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if flushed := c.flush(); flushed != nil {
		return flushed
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the stream ended without a last frame: %w", io.ErrUnexpectedEOF)
	}
	return &chat.Fault{Text: "the stream broke off", Started: c.started, Loading: c.loading, Address: c.a.address, Err: err}
}

// deliver hands on the parts of a frame, which may hold reasoning, text and calls at once.
func (c *call) deliver(f *frame) error {
	if f.Message.Thinking != "" {
		if err := c.flush(); err != nil {
			return err
		}
		if err := c.part(chat.Delta{Reasoning: c.thought.add(f.Message.Thinking)}); err != nil {
			return err
		}
	}
	if f.Message.Content != "" {
		if err := c.part(chat.Delta{Reasoning: c.thought.flush()}); err != nil {
			return err
		}
		reasoning, text := c.split.Add(c.text.add(f.Message.Content))
		if err := c.part(chat.Delta{Reasoning: reasoning}); err != nil {
			return err
		}
		text = c.tag + text
		c.tag = ""
		if len(c.req.Tools) > 0 && strings.TrimSpace(text) == callTag {
			c.tag, text = text, ""
		}
		if err := c.part(chat.Delta{Text: text}); err != nil {
			return err
		}
	}
	if len(f.Message.ToolCalls) == 0 {
		return nil
	}
	c.tag = ""
	if err := c.flush(); err != nil {
		return err
	}
	for _, fc := range f.Message.ToolCalls {
		made := &chat.Call{ID: c.callID(fc.ID), Name: validName(fc.Function.Name), Args: callArgs(fc.Function.Arguments)}
		if err := c.part(chat.Delta{Call: made}); err != nil {
			return err
		}
	}
	return nil
}

// part gives a piece of the reply unless it is empty; before the first one the phase changes.
func (c *call) part(d chat.Delta) error {
	if d.Text == "" && d.Reasoning == "" && d.Call == nil {
		return nil
	}
	if !c.started {
		c.started, c.loading = true, false
		if err := c.give(chat.Delta{Phase: chat.PhaseStreaming}); err != nil {
			return err
		}
	}
	return c.give(d)
}

// flush gives what the joiners and the splitter hold back.
func (c *call) flush() error {
	if err := c.part(chat.Delta{Reasoning: c.thought.flush()}); err != nil {
		return err
	}
	var reasoning, text string
	if rest := c.text.flush(); rest != "" {
		reasoning, text = c.split.Add(rest)
	}
	moreReasoning, moreText := c.split.Flush()
	if err := c.part(chat.Delta{Reasoning: reasoning + moreReasoning}); err != nil {
		return err
	}
	text, c.tag = c.tag+text+moreText, ""
	return c.part(chat.Delta{Text: text})
}

func (c *call) close(f *frame) (chat.Reply, error) {
	if err := c.flush(); err != nil {
		return chat.Reply{}, err
	}
	window := int64(c.window)
	reply := chat.Reply{
		FinishReason: "stop",
		Usage:        chat.Usage{InputTokens: f.Prompt, OutputTokens: f.Eval, ContextLimit: &window},
		Load:         time.Duration(f.Load),
		Prompt:       time.Duration(f.PromptTime),
		Eval:         time.Duration(f.EvalTime),
	}
	if f.DoneReason == "length" {
		reply.FinishReason = "length"
	}
	if f.Prompt != nil && f.Eval != nil {
		total := *f.Prompt + *f.Eval
		reply.Usage.TotalTokens = &total
	}
	return reply, nil
}

// callID keeps the server's id unless it is empty or was used before in this prompt or reply: Results are paired by it.
func (c *call) callID(id string) string {
	if c.ids == nil {
		c.ids = map[string]bool{"": true}
		for i := range c.req.Messages {
			for _, old := range c.req.Messages[i].Calls {
				c.ids[old.ID] = true
			}
		}
	}
	id = validName(id)
	for c.ids[id] {
		id = "call_" + lowerText(8)
	}
	c.ids[id] = true
	return id
}

// lowerText is n random characters a-z2-7: with 8 of them, 40 bits.
func lowerText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[b[i]&31]
	}
	return string(b)
}

func validName(s string) string {
	var j joiner
	return j.add(s) + j.flush()
}
