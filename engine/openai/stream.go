package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/slot"
	"holdfast/engine/thought"
)

// drainLimit is how long after the finish_reason the counts and [DONE] may take; servers that send neither keep the connection open.
const drainLimit = 5 * time.Second

// call is one running request of Stream.
type call struct {
	asker
	req   *chat.Request
	yield func(chat.Delta) error
	// yielded is the error of yield; it wins over whatever the end of the request looks like.
	yielded error
	started bool
	split   thought.Splitter
	calls   calls
	finish  string
	reply   chat.Reply
}

// Stream runs one call. See chat.Model; what the server says stands in the *chat.Fault. Broken streams have io.ErrUnexpectedEOF in the
// chain.
func (a *Adapter) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{asker: asker{a: a}, req: req, yield: yield}
	t := a.slots.Enter(req.Model, req.Class, cancel)
	defer a.slots.Leave(req.Model, t)

	err := a.slots.Wait(ctx, t, func(place int) error {
		return c.give(chat.Delta{Phase: chat.PhaseQueued, Place: place})
	})
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil {
		return c.reply, nil
	}
	if c.yielded != nil {
		return chat.Reply{}, c.yielded
	}
	if ctx.Err() == nil {
		return chat.Reply{}, err
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, slot.ErrPreempted) {
		return chat.Reply{}, c.fault(&chat.Fault{Text: "busy", Started: c.started, Err: cause})
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

func (c *call) run(ctx context.Context) error {
	// The window is the server's own; what the config says is what the prompt was made for.
	window := int64(c.req.Options.NumCtx)
	c.reply.Usage.ContextLimit = &window
	if err := c.give(chat.Delta{Phase: chat.PhaseReading}); err != nil {
		return err
	}
	body, err := c.a.encode(c.req)
	if err != nil {
		return err
	}
	if c.key, err = c.a.key(ctx, c.req.ModelConfigID); err != nil {
		return err
	}
	if c.req.Sent != nil {
		c.req.Sent(c.a.base+"/chat/completions", body)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	resp, err := c.send(reading, http.MethodPost, c.a.base+"/chat/completions", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return c.refused(resp)
	}
	return c.read(ctx, stop, resp.Body)
}

// read goes through the events until the reply is whole. stop ends the response.
func (c *call) read(ctx context.Context, stop func(), r io.Reader) error {
	var late *time.Timer
	s := scanner(r)
	for s.Scan() {
		kind, value := readLine(s.Bytes())
		var err error
		switch kind {
		case lineDone:
			return c.close()
		case lineData:
			err = c.take(value)
		case lineError:
			err = c.told(value)
		case lineForeign:
			if c.started || c.finish != "" {
				return c.broken(ctx, fmt.Errorf("a line that is no event, of %d bytes", len(value)))
			}
			return c.whole(ctx, value, s)
		}
		if err != nil {
			return err
		}
		if c.finish == "" {
			continue
		}
		if late == nil {
			late = time.AfterFunc(drainLimit, stop)
			defer late.Stop()
		}
		late.Reset(drainLimit)
	}
	if c.finish != "" && ctx.Err() == nil {
		return c.close()
	}
	return c.broken(ctx, s.Err())
}

// whole reads an answer that is no stream: an error, a reply in one piece, or a page of something else.
func (c *call) whole(ctx context.Context, begun []byte, s *bufio.Scanner) error {
	raw := append([]byte{}, begun...)
	for s.Scan() && len(raw) <= maxAnswer {
		raw = append(append(raw, '\n'), s.Bytes()...)
	}
	if err := s.Err(); err != nil {
		return c.broken(ctx, err)
	}
	if len(begun) > 0 && begun[0] != '{' {
		return c.fault(&chat.Fault{Status: http.StatusNotFound, Text: "what answers there is not a model server"})
	}
	if err := c.take(raw); err != nil {
		return err
	}
	switch {
	case c.finish != "":
		return c.close()
	case !c.started && len(c.calls.list) == 0:
		return c.fault(&chat.Fault{Status: http.StatusNotFound, Text: "what answers there gives no reply of a model"})
	}
	return c.broken(ctx, nil)
}

// take hands on what a chunk holds.
func (c *call) take(raw []byte) error {
	var got chunk
	if err := json.Unmarshal(raw, &got); err != nil {
		if flushed := c.flush(); flushed != nil {
			return flushed
		}
		return c.fault(&chat.Fault{Text: "the stream broke off", Started: c.started,
			Err: fmt.Errorf("an unreadable event of %d bytes: %w", len(raw), io.ErrUnexpectedEOF)})
	}
	if len(got.Error) > 0 || len(got.Choices) == 0 && got.Usage == nil {
		if text, _ := errorIn(raw); text != "" {
			return c.told(raw)
		}
	}
	got.into(&c.reply)
	for i := range got.Choices {
		ch := &got.Choices[i]
		if ch.Index != 0 {
			continue
		}
		for _, d := range []*delta{&ch.Delta, &ch.Message} {
			if err := c.deliver(d); err != nil {
				return err
			}
		}
		if ch.FinishReason != "" {
			c.finish = ch.FinishReason
		}
	}
	return nil
}

// told is an error that the server sent in the place of an event.
func (c *call) told(raw []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	text, status := errorIn(raw)
	if text == "" {
		// The value of an error field, without the object around it.
		text, status = errorIn([]byte(`{"error":` + string(raw) + `}`))
	}
	if text == "" {
		text = validText(string(raw))
	}
	return c.fault(&chat.Fault{Status: first(status, http.StatusOK), Text: text, Started: c.started})
}

// broken is a stream that ended before the reply was whole.
func (c *call) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if flushed := c.flush(); flushed != nil {
		return flushed
	}
	switch {
	case err == nil:
		err = fmt.Errorf("the stream ended without [DONE] or a finish_reason: %w", io.ErrUnexpectedEOF)
	case !errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return c.fault(&chat.Fault{Text: "the stream broke off", Started: c.started, Err: err})
}

func (c *call) deliver(d *delta) error {
	if reasoning := d.reasoning(); reasoning != "" {
		if err := c.flush(); err != nil {
			return err
		}
		if err := c.part(chat.Delta{Reasoning: reasoning}); err != nil {
			return err
		}
	}
	if d.Content != "" {
		reasoning, text := c.split.Add(string(d.Content))
		if err := c.part(chat.Delta{Reasoning: reasoning}); err != nil {
			return err
		}
		if err := c.part(chat.Delta{Text: text}); err != nil {
			return err
		}
	}
	for _, piece := range d.ToolCalls {
		if err := c.calls.add(piece); err != nil {
			return c.fault(&chat.Fault{Text: err.Error(), Started: c.started, Err: io.ErrUnexpectedEOF})
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
		c.started = true
		if err := c.give(chat.Delta{Phase: chat.PhaseStreaming}); err != nil {
			return err
		}
	}
	return c.give(d)
}

// flush gives what the splitter holds back.
func (c *call) flush() error {
	reasoning, text := c.split.Flush()
	if err := c.part(chat.Delta{Reasoning: reasoning}); err != nil {
		return err
	}
	return c.part(chat.Delta{Text: text})
}

// close ends a whole reply: what was held back, then the calls.
func (c *call) close() error {
	if err := c.flush(); err != nil {
		return err
	}
	switch c.finish {
	case "abort", "error":
		// The engine behind the server gave up; what came is not the reply.
		return c.fault(&chat.Fault{Text: "the server ended the reply: " + c.finish, Started: c.started, Err: io.ErrUnexpectedEOF})
	case "length":
		c.reply.FinishReason = "length"
	default:
		c.reply.FinishReason = "stop"
	}
	for _, made := range c.calls.made(usedIDs(c.req)) {
		if err := c.part(chat.Delta{Call: &made}); err != nil {
			return err
		}
	}
	return nil
}
