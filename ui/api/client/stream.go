package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/engine/chat"
)

// errSilent ends a connection that sends nothing any more.
var errSilent = errors.New("the stream was silent for too long")

// Stream gives the Frames of a Chat from behind the Message after (0 is from the start) until ctx ends or the caller stops. A broken
// connection is taken up again behind the last Message; the Frame after it has First set. What ends the iteration is its last pair:
// the context's cause, a *chat.Error that the appliance answered, or the failure of all attempts for half a minute.
func (c *Client) Stream(ctx context.Context, id chat.ID, after chat.MessageID) iter.Seq2[Frame, error] {
	return again(ctx, c, func(ctx context.Context, take func(Frame) bool) error { return c.connect(ctx, id, &after, take) })
}

// again makes connections one after the other, until one ends for good.
func again[M any](ctx context.Context, c *Client, connect func(context.Context, func(M) bool) error) iter.Seq2[M, error] {
	return func(yield func(M, error) bool) {
		var none M
		pause, paused := c.wait.first, time.Duration(0)
		reached := false
		for {
			got := false
			err := connect(ctx, func(m M) bool {
				got = true
				return yield(m, nil)
			})
			var refused *chat.Error
			switch {
			case errors.Is(err, errStopped):
				return
			case ctx.Err() != nil:
				yield(none, context.Cause(ctx))
				return
			case errors.As(err, &refused) && !passing(refused):
				yield(none, err)
				return
			}
			if got {
				pause, paused, reached = c.wait.first, 0, true
			}
			// Who never got a connection is told at once that nobody answers.
			if refused == nil && !reached || paused >= c.wait.giveUp {
				yield(none, err)
				return
			}
			if !sleep(ctx, pause) {
				yield(none, context.Cause(ctx))
				return
			}
			paused += pause
			pause = min(2*pause, c.wait.longest)
		}
	}
}

// errStopped: the caller wants no more Frames.
var errStopped = errors.New("client: the caller stopped")

// passing: the appliance starts or stops, or has too many streams, and will take us later.
func passing(e *chat.Error) bool {
	switch e.Kind {
	case chat.KindStarting, chat.KindStopping, chat.KindRateLimited:
		return true
	}
	return false
}

// connect follows one connection to its end. after moves with each Frame.
func (c *Client) connect(ctx context.Context, id chat.ID, after *chat.MessageID, take func(Frame) bool) error {
	req, err := c.request(ctx, http.MethodGet, chatPath(id, "stream"), url.Values{"after_id": {number(*after)}}, nil)
	if err != nil {
		return err
	}
	return follow(ctx, c, req, func(last string, f Frame, first bool) error {
		if end := f.ending(); end != nil {
			return end
		}
		f.First = first
		if last != "" {
			n, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				return fmt.Errorf("the stream of chat %s has the id %q", id, last)
			}
			*after = chat.MessageID(n)
		}
		if !take(f) {
			return errStopped
		}
		return nil
	}, fmt.Sprintf("the stream of chat %s", id))
}

// follow reads the messages of one connection until it ends, is silent too long, or handle fails. what names it in errors.
func follow[M any](ctx context.Context, c *Client, req *http.Request, handle func(id string, m M, first bool) error, what string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, err := c.do(req.WithContext(ctx))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	alarm := time.AfterFunc(c.wait.silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	events := newEventReader(res.Body)
	events.heard = func() { alarm.Reset(c.wait.silence) }
	for first := true; ; first = false {
		var m M
		id, err := events.next(&m)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("%s ended: %w", what, err)
		}
		if err := handle(id, m, first); err != nil {
			return err
		}
	}
}

// ending gives the error of a Frame that ends the stream; such a Frame has no version.
func (f Frame) ending() error {
	if f.Version != 0 || len(f.Events) == 0 {
		return nil
	}
	e, ok := f.Events[0].(*ErrorEvent)
	if !ok {
		return nil
	}
	return &chat.Error{Kind: e.Error.Kind, Message: e.Error.Message, Detail: e.Error.Detail, Retryable: e.Error.Retryable}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// eventReader reads Server-Sent Events with one JSON value each.
type eventReader struct {
	r *bufio.Reader
	// heard is called for each line, keep-alives included; nil is allowed.
	heard func()
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReaderSize(r, 32<<10)} }

// next decodes the next message into out and gives its id, "" when it has none.
func (e *eventReader) next(out any) (id string, err error) {
	var data []byte
	for {
		line, err := e.r.ReadBytes('\n')
		if err != nil {
			return "", err
		}
		if e.heard != nil {
			e.heard()
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && len(data) > 0:
			return id, json.Unmarshal(data, out)
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
}
