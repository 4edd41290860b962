package advisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// defaultTokens is how long advice may be where the site says nothing.
const defaultTokens = 16384

// Eligible says whether a Turn has the advisor: the Tool, the guidance and the exclusive entry, or none of them. usable: there is a model,
// and it may call Tools.
func Eligible(cfg chat.AdvisorConfig, c *chat.Chat, usable bool) bool {
	return cfg.Enabled && cfg.MaxUsesPerRun >= 0 && cfg.MaxOutputTokens >= 0 && usable && c.ParentID == ""
}

// Options of a Runtime.
type Options struct {
	// Model makes the nested call, with retries and guards around it.
	Model  chat.Model
	Config chat.AdvisorConfig
	// Advises is the model that is asked, and Window its window in tokens.
	Advises chat.ModelConfig
	Window  int
	// StepCap is the use cap where the site sets none; Used counts the advice that the Turn has stored already.
	StepCap, Used int
	// Snapshot gives the Step that asks.
	Snapshot func() Snapshot
	// Spend books a call that was made and says what it cost, nil without a price.
	Spend func(reply chat.Reply, took time.Duration) (costMicros *int64)
	// Begin is told before the nested call is made; left is how many uses remain after it.
	Begin func(ctx context.Context, left int)
	// Notice is told of phases and retries of the nested call.
	Notice func(chat.Delta)
	Now    func() time.Time
}

// Runtime is the advisor of one Turn. It is safe for concurrent use.
type Runtime struct {
	o      Options
	tokens int
	left   atomic.Int64
}

// New makes the Runtime of a Turn. The error says why there is none.
func New(o Options) (*Runtime, error) {
	uses := o.Config.MaxUsesPerRun
	if uses == 0 {
		uses = o.StepCap
	}
	tokens := o.Config.MaxOutputTokens
	if tokens == 0 {
		tokens = defaultTokens
	}
	switch {
	case o.Model == nil || o.Advises.Model == "":
		return nil, errors.New("there is no model to ask")
	case uses <= 0:
		return nil, errors.New("the number of uses is not above 0")
	case min(tokens, o.Window/2) <= 0:
		return nil, errors.New("the length of advice is not above 0")
	case o.Snapshot == nil:
		return nil, errors.New("the conversation is not at hand")
	}
	r := &Runtime{o: o, tokens: tokens}
	r.left.Store(int64(max(0, uses-o.Used)))
	return r, nil
}

// take takes a use and says whether there was one.
func (r *Runtime) take() bool {
	for {
		n := r.left.Load()
		if n <= 0 {
			return false
		}
		if r.left.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// consult asks the question, a use at a time. A use is given back unless there is advice; load is what
// loading the model took. stream gets the advice as it comes and restart
// says that it begins anew. The error is the context's cause.
func (r *Runtime) consult(ctx context.Context, question string, stream func(string), restart func()) (out chat.AdvisorResult, load time.Duration, err error) {
	if !r.take() {
		return chat.AdvisorResult{Type: chat.AdviceLimit, Advice: chat.TextAdvisorLimit, AdvisorModel: r.o.Advises.Model}, 0, nil
	}
	advised := false
	defer func() {
		if !advised {
			r.left.Add(1)
		}
	}()
	failed := func(why string) chat.AdvisorResult {
		return chat.AdvisorResult{Type: chat.AdviceFailed, Error: why, AdvisorModel: r.o.Advises.Model, RemainingUses: int(r.left.Load()) + 1}
	}
	r.o.Begin(ctx, int(r.left.Load()))
	started := r.o.Now()
	a := answer{stream: stream, restart: restart, notice: r.o.Notice}
	reply, err := r.send(ctx, r.request(question), a.take)
	if ctx.Err() != nil {
		return chat.AdvisorResult{}, 0, context.Cause(ctx)
	}
	if err != nil {
		return failed(sentence(err)), 0, nil
	}
	took := r.o.Now().Sub(started)
	used := &chat.AdvisorUsage{InputTokens: reply.Usage.InputTokens, OutputTokens: reply.Usage.OutputTokens, TotalTokens: reply.Usage.TotalTokens,
		CostMicros: r.o.Spend(reply, took), DurationMS: took.Milliseconds()}
	text := strings.TrimSpace(a.text.String())
	if text == "" {
		out = failed(fmt.Sprintf("advisor produced no text output (finish reason %q, %d pieces of text, %d of reasoning, %d calls)", reply.FinishReason,
			a.texts, a.thoughts, a.calls))
		out.Usage = used
		return out, reply.Load, nil
	}
	if reply.FinishReason == "length" {
		text += "\n\n[The advice was cut here: it reached the longest that is allowed.]"
	}
	advised = true
	out = chat.AdvisorResult{Type: chat.AdviceGiven, Advice: text, AdvisorModel: r.o.Advises.Model, RemainingUses: int(r.left.Load()), Usage: used}
	return out, reply.Load, nil
}

// answer collects the nested reply.
type answer struct {
	stream  func(string)
	restart func()
	notice  func(chat.Delta)

	text                   strings.Builder
	texts, thoughts, calls int
}

func (a *answer) take(d chat.Delta) error {
	switch {
	case d.Retry != nil:
		a.text.Reset()
		a.texts, a.thoughts, a.calls = 0, 0, 0
		a.restart()
		a.notice(d)
	case d.Phase != "":
		a.notice(d)
	case d.Reasoning != "":
		a.thoughts++
	case d.Call != nil:
		a.calls++
	case d.Text != "":
		a.texts++
		a.text.WriteString(d.Text)
		a.stream(d.Text)
	}
	return nil
}

// request is the nested request: a Step's class and options, no Tools.
func (r *Runtime) request(question string) *chat.Request {
	cfg := r.o.Advises
	req := &chat.Request{Class: chat.ClassTurn, Provider: cfg.Provider, BaseURL: cfg.BaseURL, ModelConfigID: cfg.ID, Model: cfg.Model,
		Options: cfg.Options, Think: prompt.Think(cfg, r.o.Config.ReasoningEffort), Optional: true}
	now, window := r.o.Snapshot(), r.o.Window
	if now.Request.ModelConfigID == cfg.ID {
		// Another window would load the Chat's own model anew.
		window = now.Request.Options.NumCtx
	}
	req.Options.NumCtx = window
	req.System, req.Messages = handoff(now, question, window)
	left := window - int(prompt.RequestBytes(req)+bytesPerToken-1)/bytesPerToken
	req.MaxTokens = max(1, min(r.tokens, window/2, left))
	return req
}

// send makes the call if the request has no Tools.
func (r *Runtime) send(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	if len(req.Tools) > 0 {
		return chat.Reply{}, &chat.Error{Kind: chat.KindInternal, Message: "An internal fault stopped the consultation.",
			Cause: errors.New("advisor: the request has tools")}
	}
	return r.o.Model.Stream(chat.WithPurpose(ctx, chat.UsageAdvisor), req, yield)
}

// sentence is what the asking model and a person are told of a failed call.
func sentence(err error) string {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the consultation failed"
}
