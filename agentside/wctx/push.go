package wctx

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"holdfast/engine/chat"
)

// ErrUnsupported: the other side knows no pushes. The loop ends; the next connection may try again.
var ErrUnsupported = errors.New("the other side takes no workspace context")

// Waits between tries of a push, each with a fifth of jitter up or down.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// Pushed is what is pushed: a Manager.
type Pushed interface {
	Snapshot() chat.Snapshot
	Watch() (<-chan struct{}, func())
	Closed() <-chan struct{}
}

// Send hands on one Snapshot; initial until one of this connection was answered. A refusal is accepted false with the reason. ErrUnsupported ends the
// loop; a chat.Error of a kind that says that the Snapshot itself is wrong is not sent again; any other error is.
type Send func(ctx context.Context, s chat.Snapshot, initial bool) (accepted bool, reason string, err error)

// PushOptions may be zero.
type PushOptions struct {
	Log *slog.Logger
	// Report hears why the newest Snapshot is not known to the other side, "" when it is.
	Report func(problem string)
}

// Push hands each new Snapshot on until ctx ends, which is its error, or the Manager, which is none. There is one Push per connection.
func Push(ctx context.Context, from Pushed, send Send, o PushOptions) error {
	if from == nil || send == nil {
		return errors.New("push: there is nothing to push, or nobody to push to")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	p := &pusher{from: from, send: send, o: o, initial: true}
	changed, unwatch := from.Watch()
	defer unwatch()
	for {
		if s := from.Snapshot(); s.Ready && (!p.settled || s.FullHash != p.known) {
			if err := p.push(ctx); err != nil {
				return p.end(err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-from.Closed():
			return nil
		case <-changed:
		}
	}
}

// pusher is one connection's loop.
type pusher struct {
	from Pushed
	send Send
	o    PushOptions
	// initial: nothing was answered yet. known is the Snapshot that was answered or given up last, once settled.
	initial, settled bool
	known            chat.Hash
}

// errEnded: the Manager has ended.
var errEnded = errors.New("ended")

func (p *pusher) end(err error) error {
	switch {
	case errors.Is(err, errEnded):
		return nil
	case errors.Is(err, ErrUnsupported):
		p.o.Log.Info("the other side takes no workspace context")
		return nil
	}
	return err
}

// push tries until the newest Snapshot is answered or given up.
func (p *pusher) push(ctx context.Context) error {
	wait := firstWait
	for {
		s := p.from.Snapshot()
		accepted, reason, err := p.attempt(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p.closed():
			return errEnded
		case err == nil:
			p.initial = false
			problem := ""
			if !accepted {
				problem = "refused: " + reason
			}
			p.settle(s, problem)
			return nil
		case errors.Is(err, ErrUnsupported):
			return err
		case permanent(err):
			p.settle(s, detail(err))
			return nil
		}
		p.o.Report(clip(detail(err), chat.MaxResourceError))
		if err := p.pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

// attempt ends with the Manager too.
func (p *pusher) attempt(ctx context.Context, s chat.Snapshot) (accepted bool, reason string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-p.from.Closed():
			cancel()
		case <-over:
		}
	}()
	defer func() { <-done }()
	defer close(over)
	return p.send(ctx, s, p.initial)
}

func (p *pusher) closed() bool {
	select {
	case <-p.from.Closed():
		return true
	default:
		return false
	}
}

// settle remembers that nothing is to be done about a Snapshot any more.
func (p *pusher) settle(s chat.Snapshot, problem string) {
	p.known, p.settled = s.FullHash, true
	if problem != "" {
		p.o.Log.Warn("the workspace's context was not taken", chat.LogVersion, s.Version, chat.LogReason, problem)
	}
	p.o.Report(clip(problem, chat.MaxResourceError))
}

func (p *pusher) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.from.Closed():
		return errEnded
	}
}

// permanent: sending the same again cannot help.
func permanent(err error) bool {
	var refused *chat.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Kind {
	case chat.KindInvalid, chat.KindForbidden, chat.KindWrongState, chat.KindTooLarge, chat.KindNotFound:
		return true
	}
	return false
}
