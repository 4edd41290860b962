package link

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// maxAnswer bounds what an Agent may answer: the largest file, and what JSON makes of the largest edit.
const maxAnswer = 96 << 20

// Bounds of smaller answers: of what is kept of a process's output or of lines, of what is found, and of a process with its command.
const (
	maxSmall   = 1 << 20
	maxFound   = 16 << 20
	maxProcess = 6*maxCommand + maxSmall
)

// call is one request to an Agent.
type call struct {
	method string
	path   string
	query  url.Values
	header map[string]string
	chat   chat.ID
	// space is the Workspace, if it is one that was made beside the Agent.
	space chat.WorkspaceID
	// boot is the run that it is meant for; "" is any.
	boot string
	body []byte
	// also is a capability that it needs beside that of its port, "" for none.
	also string
	// most bounds the answer; 0 is maxAnswer.
	most int64
	// shape makes the body for the Agent that is there; nil where it is the same for all.
	shape func(Hello, Terms) ([]byte, error)
}

// reply is an answer that has arrived whole, and the link over which it came.
type reply struct {
	status int
	header http.Header
	body   []byte
	over   *connection
}

// errBroken is that a link broke in the middle of a call, so that nobody knows how it went.
type errBroken struct{ cause error }

func (e *errBroken) Error() string { return "the link to the agent broke: " + e.cause.Error() }
func (e *errBroken) Unwrap() error { return e.cause }

// ask sends a call, and again over each new link until an answer is there or the Agent has been away for too long. The call must be one
// that may be repeated.
func (l *line) ask(ctx context.Context, needs string, c call) (*reply, error) {
	var broken *connection
	for {
		over, err := l.wait(ctx, broken)
		if err != nil {
			return nil, err
		}
		if lacking := over.terms.lacking(needs, c.also, c.placed()); lacking != "" {
			return nil, lacks(lacking)
		}
		if c.shape != nil {
			if c.body, err = c.shape(over.hello, over.terms); err != nil {
				return nil, err
			}
		}
		got, err := l.sendFor(ctx, over, c)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if mute := new(away); errors.As(err, &mute) {
			return nil, err
		}
		if err == nil && l.isCurrent(over) {
			return got, nil
		}
		if err == nil {
			// What comes over a link that was displaced is of a run that may be over: it counts for nothing, and the call is repeated.
			continue
		}
		select {
		case <-over.done():
			broken = over
		default:
			if l.isCurrent(over) {
				return nil, &errBroken{cause: err}
			}
		}
	}
}

// errLate is an answer over a link that is not the Agent's newest any more: it is of a run that may be over, and counts for nothing.
var errLate = errors.New("the answer came over a link that was displaced")

// askOnce sends a call that must not happen twice, which may take as long as the line's Call. Once it is sent, every error but the Agent's
// own refusal is an *errBroken: nobody knows how it went.
func (l *line) askOnce(ctx context.Context, needs string, c call) (*reply, error) {
	over, err := l.wait(ctx, nil)
	if err != nil {
		return nil, err
	}
	if lacking := over.terms.lacking(needs, c.placed()); lacking != "" {
		return nil, lacks(lacking)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.times.Call, fmt.Errorf("there was no answer within %s", l.times.Call))
	defer cancel()
	got, err := over.send(ctx, c)
	switch {
	case err == nil && l.isCurrent(over):
		return got, nil
	case err == nil:
		err = errLate
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return nil, &errBroken{cause: err}
}

// lacks refuses what an Agent of an older release does not offer, in a sentence that says what helps.
func lacks(capability string) *chat.Error {
	what := sinceWhat[capability]
	if what == "" {
		what = "do that"
	}
	if capability == CapPlaces {
		return &chat.Error{Kind: chat.KindWrongState, Message: "The agent cannot make workspaces.",
			Detail: "Start it with --make-in and a directory in which they may be made; an agent of an older release has to be replaced first."}
	}
	return &chat.Error{Kind: chat.KindWrongState, Message: "The agent of this workspace cannot " + what + ".",
		Detail: fmt.Sprintf("It is of an older release and does not offer %s. Install the release of this appliance beside the files and start the agent again.", capability)}
}

// send makes one request over one link.
func (c *connection) send(ctx context.Context, in call) (*reply, error) {
	req, err := c.request(ctx, in)
	if err != nil {
		return nil, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	most := cmp.Or(in.most, maxAnswer)
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > most {
		return nil, errors.New("the agent answered with too much")
	}
	if resp.Header.Get(headerBoot) != c.hello.BootID {
		return nil, errors.New("the answer is of another run than the greeting")
	}
	return &reply{status: resp.StatusCode, header: resp.Header, body: body, over: c}, nil
}

func (c *connection) request(ctx context.Context, in call) (*http.Request, error) {
	target := url.URL{Scheme: "http", Host: "agent", Path: "/api/v0" + in.path, RawQuery: in.query.Encode()}
	req, err := http.NewRequestWithContext(ctx, in.method, target.String(), bytes.NewReader(in.body))
	if err != nil {
		return nil, err
	}
	for name, value := range in.header {
		req.Header.Set(name, value)
	}
	for name, value := range map[string]string{headerChat: string(in.chat), headerBoot: in.boot, headerSpace: string(in.space)} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if in.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// problem reads a refusal; nil when the answer is none.
func (r *reply) problem() *problem {
	if r.status < 400 {
		return nil
	}
	p := &problem{}
	if err := json.Unmarshal(r.body, p); err != nil || p.Kind == "" || p.Message == "" {
		return &problem{Kind: "internal", Message: fmt.Sprintf("The agent answered with status %d.", r.status)}
	}
	p.Kind, p.Message, p.Detail, p.Path = cut(p.Kind), cut(p.Message), cut(p.Detail), cut(p.Path)
	return p
}

func (r *reply) into(v any) error {
	if err := json.Unmarshal(r.body, v); err != nil {
		return fmt.Errorf("the agent's answer cannot be read: %w", err)
	}
	return nil
}

func encode(v any) ([]byte, error) { return json.Marshal(v) }
