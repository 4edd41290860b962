package call

import (
	"context"
	"time"

	"holdfast/engine/chat"
)

// Bounds of the first part guard once the model's speed is known, and of the silence guard with Tools.
const (
	minFirstPart    = time.Minute
	maxFirstPart    = 15 * time.Minute
	minToolSilence  = 10 * time.Minute
	bytesPerToken   = 3
	firstPartFactor = 3
)

// guardFired is the cause of an attempt that a guard ended.
type guardFired struct{ kind chat.Kind }

// Error names the guard for the log.
func (g *guardFired) Error() string { return "the guard fired: " + string(g.kind) }

// guard ends an attempt that does not move. Only the timer's function runs on another goroutine, and it only cancels.
type guard struct {
	c      *run
	cancel context.CancelCauseFunc
	timer  *time.Timer
	kind   chat.Kind
	spoke  bool
}

// newGuard expects the first part at once: an adapter without phases has no queue to wait in.
func newGuard(c *run, cancel context.CancelCauseFunc) *guard {
	g := &guard{c: c, cancel: cancel}
	g.arm(chat.KindSlowStart, c.firstPart())
	return g
}

func (g *guard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
	g.kind = ""
}

func (g *guard) arm(kind chat.Kind, d time.Duration) {
	if g.kind == kind {
		// Each part comes by here; the timer is as good as a new one, and what it did when it had fired stays done.
		g.timer.Reset(d)
		return
	}
	g.stop()
	g.kind = kind
	g.timer = time.AfterFunc(d, func() { g.cancel(&guardFired{kind: kind}) })
}

func (g *guard) see(d chat.Delta) {
	switch {
	case d.Text != "", d.Reasoning != "", d.Call != nil:
		if !g.spoke {
			g.spoke = true
			g.c.loading, g.c.loadingSince = 0, time.Time{}
		}
		g.arm(chat.KindSilent, g.c.silence())
	case g.spoke:
	case d.Phase == chat.PhaseQueued:
		g.stop()
	case d.Phase == chat.PhaseLoading && g.kind != chat.KindModelLoading:
		if g.c.loadingSince.IsZero() {
			g.c.loadingSince = time.Now()
		}
		g.arm(chat.KindModelLoading, max(0, g.c.m.o.Loading-time.Since(g.c.loadingSince)))
	case d.Phase == chat.PhaseReading && g.kind != chat.KindSlowStart:
		g.arm(chat.KindSlowStart, g.c.firstPart())
	}
}

// firstPart is three times the expected time of reading the prompt, within bounds; without a measured speed Options.FirstPart.
func (c *run) firstPart() time.Duration {
	speed := c.m.speeds.of(c.req).prefill
	if speed <= 0 {
		return c.m.o.FirstPart
	}
	expected := float64(requestBytes(c.req)) / bytesPerToken / speed
	seconds := min(firstPartFactor*expected, maxFirstPart.Seconds())
	return max(time.Duration(seconds*float64(time.Second)), minFirstPart)
}

// silence is long with Tools, as a server sends nothing while it writes a Call.
func (c *run) silence() time.Duration {
	if len(c.req.Tools) == 0 {
		return c.m.o.Silence
	}
	speed := c.m.speeds.of(c.req).eval
	if speed <= 0 {
		return minToolSilence
	}
	return max(minToolSilence, time.Duration(1.5*float64(c.req.MaxTokens)/speed*float64(time.Second)))
}

func requestBytes(req *chat.Request) int {
	n := len(req.System)
	for i := range req.Messages {
		m := &req.Messages[i]
		n += len(m.Content) + len(m.Reasoning)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	for i := range req.Tools {
		n += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	return n
}
