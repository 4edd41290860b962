package chat

import (
	"context"
	"time"
)

// SpanKind is what a Span measures.
type SpanKind string

const (
	SpanRequest SpanKind = "request"
	SpanStep    SpanKind = "step"
	SpanCall    SpanKind = "call"
	SpanCommit  SpanKind = "commit"
)

// Span is what a Turn spent a piece of its time on. Model calls are kept by themselves and name their Trace.
type Span struct {
	Kind SpanKind `json:"kind"`
	// Name is a route, a Tool, or the event that was committed; never what somebody wrote.
	Name string `json:"name,omitempty"`
	// Ref is the id of the request or of the Call.
	Ref    string        `json:"ref,omitempty"`
	Step   int64         `json:"step,omitempty"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Failed bool          `json:"failed,omitempty"`
}

// Trace are the Spans of one lease on a Chat, from Acquire to the event that gave it back. A Turn that was resumed has several.
type Trace struct {
	ID      string
	Chat    ID
	Message MessageID
	At      time.Time
	Took    time.Duration
	// Result is the last event that the run committed, or why it had none.
	Result string
	Spans  []Span
}

// Visit is an HTTP request that a command came with.
type Visit struct {
	ID    string
	Route string
	At    time.Time
}

type visitKey struct{}

// WithVisit notes the request that the commands made with the context came with.
func WithVisit(ctx context.Context, v Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// VisitOf gives what WithVisit noted; false outside of a request.
func VisitOf(ctx context.Context) (Visit, bool) {
	v, ok := ctx.Value(visitKey{}).(Visit)
	return v, ok
}
