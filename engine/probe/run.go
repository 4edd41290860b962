package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// Input is the model to test and the window in tokens to test it with.
type Input struct {
	Config chat.ModelConfig
	Window int64
}

// test is one running Run.
type test struct {
	model chat.Model
	in    Input
	probe chat.Probe
	// bytesPerToken is what the model's tokens hold of the test's text, 0 until it was measured.
	bytesPerToken float64
	show          func(status string)
}

// question asks for one or more Findings.
type question struct {
	shown string
	names []string
	ask   func(*test, context.Context) error
}

var questions = []question{
	{"streaming", []string{chat.FindStreaming}, (*test).streaming},
	{"reading speed", nil, (*test).reading},
	{"tool calls", []string{chat.FindTools}, (*test).tools},
	{"several calls at once", []string{chat.FindParallel}, (*test).parallel},
	{"tool calls as text", []string{chat.FindTextTools}, (*test).textTools},
	{"structured output", []string{chat.FindJSON}, (*test).structured},
	{"tool calls as JSON", []string{chat.FindJSONTools}, (*test).jsonTools},
	{"thinking", []string{chat.FindThinking}, (*test).thinking},
	{"images", []string{chat.FindVision}, (*test).vision},
	{"window", []string{chat.FindWindow}, (*test).window},
}

// Run asks every question of model, in order, and says with progress which one it is at. The error is the context's cause, or a *chat.Error
// that every further question would meet as well.
func Run(ctx context.Context, model chat.Model, in Input, progress func(chat.Progress)) (chat.Probe, error) {
	t := &test{model: model, in: in}
	for i, q := range questions {
		t.show = func(status string) {
			progress(chat.Progress{Status: status, Completed: int64(i), Total: int64(len(questions))})
		}
		t.show(q.shown)
		err := q.ask(t, ctx)
		if ctx.Err() != nil {
			return chat.Probe{}, context.Cause(ctx)
		}
		if err == nil {
			continue
		}
		if hopeless(err) {
			return chat.Probe{}, err
		}
		for _, name := range q.names {
			t.found(name, chat.FoundFailed, sentence(err))
		}
	}
	return t.probe, nil
}

func (t *test) found(name string, state chat.FindingState, detail string) {
	t.probe.Findings = append(t.probe.Findings, chat.Finding{Name: name, State: state, Detail: detail})
}

// hopeless failures meet every question.
func hopeless(err error) bool {
	var e *chat.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Kind {
	case chat.KindUnreachable, chat.KindModelMissing, chat.KindAuth, chat.KindOutOfMemory, chat.KindModelLoading, chat.KindSlowStart:
		return true
	}
	return false
}

func sentence(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.TrimSpace(e.Message + " " + e.Detail)
}

// heard is a whole reply.
type heard struct {
	text, reasoning string
	pieces          int
	calls           []chat.Call
	chat.Reply
}

// ask makes one call. Sampling is as even as the server lets it be; the options that load the model are the config's, so that nothing is
// loaded anew.
func (t *test) ask(ctx context.Context, req *chat.Request) (heard, error) {
	zero := 0.0
	req.Class, req.Options.Temperature = chat.ClassProbe, &zero
	var h heard
	reply, err := t.model.Stream(ctx, req, func(d chat.Delta) error {
		if d.Retry != nil {
			h = heard{}
		}
		h.text += d.Text
		h.reasoning += d.Reasoning
		if d.Text != "" {
			h.pieces++
		}
		if d.Call != nil {
			h.calls = append(h.calls, *d.Call)
		}
		return nil
	})
	h.Reply = reply
	return h, err
}

// request is a plain question without thinking.
func (t *test) request(text string, most int) *chat.Request {
	c := t.in.Config
	options := c.Options
	options.NumCtx = int(t.in.Window)
	return &chat.Request{Provider: c.Provider, BaseURL: c.BaseURL, ModelConfigID: c.ID, Model: c.Model, Options: options, MaxTokens: most,
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: text}}, Think: t.quiet()}
}

// quiet switches thinking off where the model knows of it: it would use up the short replies of the test.
func (t *test) quiet() string {
	if slices.Contains(t.in.Config.Capabilities, "thinking") {
		return "false"
	}
	return ""
}

// Counts and times too small to measure a speed with.
const (
	leastTokens = 8
	leastTime   = time.Millisecond
)

func perSecond(tokens *int64, took time.Duration) float64 {
	if tokens == nil || *tokens < leastTokens || took < leastTime {
		return 0
	}
	return float64(*tokens) / took.Seconds()
}

// nonce keeps a prompt from being in the server's cache.
func nonce() string { return strings.ToLower(rand.Text()[:10]) }

func isKind(err error, kind chat.Kind) bool {
	var e *chat.Error
	return errors.As(err, &e) && e.Kind == kind
}
