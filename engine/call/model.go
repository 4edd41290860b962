package call

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
)

// Defaults of Options.
const (
	DefaultAttempts  = 25
	DefaultBaseDelay = time.Second
	DefaultMaxDelay  = time.Minute
	DefaultLoading   = 10 * time.Minute
	DefaultFirstPart = 10 * time.Minute
	DefaultSilence   = 2 * time.Minute
	DefaultRepeated  = 16 << 10
)

// Attempts of failures that repeating helps little.
const (
	memoryAttempts = 2
	parserAttempts = 3
)

// Bounds of an optional call: how often it is made, and after how long, waits included, no further attempt begins.
const (
	optionalAttempts = 3
	optionalTime     = 2 * time.Minute
)

// maxLoadingDelay keeps the look at a loading model frequent: it costs no attempt.
const maxLoadingDelay = 5 * time.Second

// maxRetryAfter is the longest wait that a server may name: as long as the longest guard.
const maxRetryAfter = DefaultLoading

// Options of a Model. Zero values take the defaults.
type Options struct {
	// Attempts is how often a call is made at most.
	Attempts  int
	BaseDelay time.Duration
	MaxDelay  time.Duration
	// Loading bounds the wait for a model that is being loaded; FirstPart the wait for the first part while the model's speed is
	// unknown; Silence the wait for each next part when no Tools were offered.
	Loading   time.Duration
	FirstPart time.Duration
	Silence   time.Duration
	// Repeated is after how many bytes of one short piece over and over a reply is ended; below 0 is never.
	Repeated int
	// FreeMemory unloads models that are idle, other than this one, before the second attempt after out_of_memory. May be nil.
	FreeMemory func(ctx context.Context, model string) error
	// Retried and Failed count retries and final errors by kind. May be nil.
	Retried func(kind chat.Kind)
	Failed  func(kind chat.Kind)
}

func (o Options) withDefaults() Options {
	if o.Attempts <= 0 {
		o.Attempts = DefaultAttempts
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&o.BaseDelay, DefaultBaseDelay}, {&o.MaxDelay, DefaultMaxDelay}, {&o.Loading, DefaultLoading},
		{&o.FirstPart, DefaultFirstPart}, {&o.Silence, DefaultSilence},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Repeated == 0 {
		o.Repeated = DefaultRepeated
	}
	if o.Retried == nil {
		o.Retried = func(chat.Kind) {}
	}
	if o.Failed == nil {
		o.Failed = func(chat.Kind) {}
	}
	return o
}

// Model is a chat.Model with guards and retries around another one. It is safe for concurrent use.
type Model struct {
	next   chat.Model
	o      Options
	speeds *speeds
}

var _ chat.Model = (*Model)(nil)

// New wraps next.
func New(next chat.Model, o Options) *Model {
	return &Model{next: next, o: o.withDefaults(), speeds: newSpeeds()}
}

// Stream makes the call, again where the error table says so; req is the same each time. The error is context.Cause(ctx) when ctx
// ended, the error of yield when that failed, else a *chat.Error; parts of the last attempt were yielded before it, and the Reply has
// the Usage of one that was whole but dropped.
func (m *Model) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	c := &run{m: m, req: req, yield: yield, began: time.Now()}
	for {
		if ctx.Err() != nil {
			return chat.Reply{}, context.Cause(ctx)
		}
		reply, err := c.attempt(ctx)
		if err == nil {
			return reply, nil
		}
		if c.yielded != nil {
			return chat.Reply{}, c.yielded
		}
		if ctx.Err() != nil {
			return chat.Reply{}, context.Cause(ctx)
		}
		if err := c.again(ctx, err); err != nil {
			// What a dropped reply cost is not dropped.
			return chat.Reply{Usage: reply.Usage}, err
		}
	}
}

// run is one Stream: its attempts and what they have used up.
type run struct {
	m     *Model
	req   *chat.Request
	yield func(chat.Delta) error
	// yielded is the error of yield; it wins over whatever the attempt then ends with.
	yielded error
	began   time.Time
	// failed counts attempts that cost one, by the kind of limit; loading counts waits for a loading model, since loadingSince.
	failed       int
	memory       int
	parser       int
	loading      int
	loadingSince time.Time
}

func (c *run) attempt(ctx context.Context) (chat.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := newGuard(c, cancel)
	defer g.stop()
	spoken := repetition{window: c.m.o.Repeated}
	reply, err := c.m.next.Stream(ctx, c.req, func(d chat.Delta) error {
		if err := c.give(d); err != nil {
			return err
		}
		// After give: the time that the reader takes is not the model's silence.
		g.see(d)
		return spoken.add(d)
	})
	if err == nil {
		c.m.speeds.learn(c.req, reply)
		return reply, cutPrompt(c.req, reply)
	}
	var fired *guardFired
	if errors.As(context.Cause(ctx), &fired) {
		return chat.Reply{}, fired
	}
	return chat.Reply{}, err
}

func (c *run) give(d chat.Delta) error {
	if err := c.yield(d); err != nil {
		c.yielded = err
		return err
	}
	return nil
}

// cutPrompt: a prompt as long as the window was cut by the server without a word, so the reply answers something else.
func cutPrompt(req *chat.Request, reply chat.Reply) error {
	window := int64(req.Options.NumCtx)
	if reply.Usage.ContextLimit != nil {
		window = *reply.Usage.ContextLimit
	}
	if reply.Usage.InputTokens == nil || window <= 0 || *reply.Usage.InputTokens < window {
		return nil
	}
	return &chat.Fault{Text: "the prompt filled the context size and was cut by the server", Started: true}
}

// again returns nil when the next attempt may begin, after the wait that is due, else the error that ends the call.
func (c *run) again(ctx context.Context, cause error) error {
	e := Classify(cause, c.req.Model)
	failed, most, ok := c.count(e, cause)
	if !ok {
		c.m.o.Failed(e.Kind)
		return e
	}
	if e.Kind == chat.KindModelLoading {
		return c.waitLoading(ctx, e, retryAfter(cause))
	}
	// Another server's memory is not freed by unloading models here, and a small job unloads nothing.
	if e.Kind == chat.KindOutOfMemory && c.m.o.FreeMemory != nil && c.req.BaseURL == "" && c.req.Class != chat.ClassQuick && !c.req.Beside {
		if err := c.m.o.FreeMemory(ctx, c.req.Model); err != nil {
			c.m.o.Failed(e.Kind)
			e.Cause = errors.Join(e.Cause, err)
			return c.ended(ctx, e)
		}
	}
	delay := max(backoff(failed, c.m.o.BaseDelay, c.m.o.MaxDelay), retryAfter(cause))
	if c.req.Optional && time.Since(c.began)+delay > optionalTime {
		c.m.o.Failed(e.Kind)
		return e
	}
	c.m.o.Retried(e.Kind)
	retry := &chat.Retry{Attempt: failed, MaxAttempts: most, DelayMS: delay.Milliseconds(), RetryingAt: time.Now().Add(delay),
		Kind: e.Kind, Message: e.Message, StatusCode: e.StatusCode}
	if err := c.give(chat.Delta{Retry: retry}); err != nil {
		return err
	}
	return wait(ctx, delay)
}

// ended prefers the context's cause over e.
func (c *run) ended(ctx context.Context, e *chat.Error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e
}

// count books a failed attempt and says how many of its sort there were, how many there may be, and whether another follows.
func (c *run) count(e *chat.Error, cause error) (failed, most int, ok bool) {
	if !e.Retryable {
		return 0, 0, false
	}
	switch {
	case e.Kind == chat.KindModelLoading:
		var fired *guardFired
		return 0, 0, !errors.As(cause, &fired)
	case e.Kind == chat.KindOutOfMemory:
		c.memory++
		return c.memory, memoryAttempts, c.memory < memoryAttempts
	case parserFault(cause):
		c.parser++
		return c.parser, parserAttempts, c.parser < parserAttempts
	}
	c.failed++
	most = c.m.o.Attempts
	if c.req.Optional {
		most = min(most, optionalAttempts)
	}
	return c.failed, most, c.failed < most
}

// waitLoading waits a moment for a model that the server is loading, until the guard ends that.
func (c *run) waitLoading(ctx context.Context, e *chat.Error, least time.Duration) error {
	if c.loadingSince.IsZero() {
		c.loadingSince = time.Now()
	}
	left := c.m.o.Loading - time.Since(c.loadingSince)
	if left <= 0 {
		c.m.o.Failed(e.Kind)
		return e
	}
	c.loading++
	if err := c.give(chat.Delta{Phase: chat.PhaseLoading}); err != nil {
		return err
	}
	return wait(ctx, min(max(backoff(c.loading, c.m.o.BaseDelay, maxLoadingDelay), least), left))
}

// backoff is base doubled n-1 times, capped.
func backoff(n int, base, most time.Duration) time.Duration {
	d := base
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// retryAfter is the wait that the server named. One that names days is asked again before.
func retryAfter(err error) time.Duration {
	var f *chat.Fault
	if errors.As(err, &f) {
		return min(f.RetryAfter, maxRetryAfter)
	}
	return 0
}

// wait ends early, with the context's cause, when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
