package ollama

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
)

const (
	// maxAnswer bounds an answer that is read whole; /api/show of a large vocabulary is the longest.
	maxAnswer = 32 << 20
	// maxErrorBody bounds what is read of a refused request.
	maxErrorBody = 64 << 10
)

// newRequest makes a request with a body of known length, so that the transport sends Content-Length and may repeat the
// request when a kept connection turns out to be dead before a byte was written.
func (a *Adapter) newRequest(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// send makes a request and gives the response of a status below 300; everything else is a Fault. The caller closes the body.
func (a *Adapter) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	r, err := a.newRequest(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return nil, a.lost(ctx, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, a.refused(resp)
}

// fetch makes a request and decodes the one JSON value of the answer into out, which may be nil.
func (a *Adapter) fetch(ctx context.Context, method, path string, in, out any) error {
	resp, err := a.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a.lost(ctx, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return &chat.Fault{Status: resp.StatusCode, Text: "the answer of " + path + " is not readable", Address: a.address, Err: err}
	}
	return nil
}

// follow makes a request and hands each line of the streamed answer to line. An error line is a Fault.
func (a *Adapter) follow(ctx context.Context, path string, in any, line func(raw []byte) error) error {
	resp, err := a.send(ctx, http.MethodPost, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	l := a.lines(resp.Body)
	defer a.release(l)
	for {
		raw, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.lost(ctx, err)
		}
		if len(raw) == 0 {
			continue
		}
		var e struct {
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return &chat.Fault{Status: resp.StatusCode, Text: "an unreadable line", Address: a.address, Err: err}
		}
		if text := errorText(e.Error); text != "" {
			return &chat.Fault{Status: resp.StatusCode, Text: text, Started: true, Address: a.address}
		}
		if err := line(raw); err != nil {
			return err
		}
	}
}

func (a *Adapter) lines(r io.Reader) *lineReader {
	b := a.readers.Get().(*bufio.Reader)
	b.Reset(r)
	return &lineReader{r: b}
}

func (a *Adapter) release(l *lineReader) {
	l.r.Reset(nil)
	a.readers.Put(l.r)
}

// lost is a request without an answer, or an answer that broke off. A cancelled ctx is its cause alone.
func (a *Adapter) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &chat.Fault{Text: "no answer", Address: a.address, Err: err}
}

// refused makes a Fault of a status and the text of the body.
func (a *Adapter) refused(resp *http.Response) *chat.Fault {
	f := &chat.Fault{Status: resp.StatusCode, Address: a.address, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	f.Err = err
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &e) == nil {
		f.Text = errorText(e.Error)
	}
	if f.Text == "" {
		f.Text = strings.TrimSpace(strings.ToValidUTF8(string(raw), replacement))
	}
	if f.Text == "" {
		f.Text = fmt.Sprintf("status %d without a text", resp.StatusCode)
	}
	return f
}

// mostSeconds keeps a wait that a server names within what a Duration holds.
const mostSeconds = 1e6

func retryAfter(v string) time.Duration {
	if s, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		return time.Duration(min(max(s, 0), mostSeconds)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
