package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
)

// mostSpans bounds a Trace: a Turn of 1200 Steps has some thousands.
const mostSpans = 8192

// tracer collects the Spans of a run. Tools write in it from their own goroutines.
type tracer struct {
	id string
	at time.Time

	mu    sync.Mutex // guards spans and last
	spans []chat.Span
	last  string
}

func newTracer(at time.Time) *tracer {
	return &tracer{id: uuid.Must(uuid.NewV7()).String(), at: at.UTC()}
}

// span notes what began at and ends now.
func (t *tracer) span(kind chat.SpanKind, name, ref string, step int64, at, now time.Time, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spans) < mostSpans {
		t.spans = append(t.spans, chat.Span{Kind: kind, Name: name, Ref: ref, Step: step, At: at.UTC(), Took: now.Sub(at), Failed: failed})
	}
	if kind == chat.SpanCommit && !failed {
		t.last = name
	}
}

// traced hands the run's Spans to the run log.
func (r *run) traced() {
	if r.e.ports.traces.hand == nil {
		return
	}
	t, now := r.books.trace, r.e.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := chat.Trace{ID: t.id, Chat: r.id, At: t.at, Took: now.Sub(t.at), Result: t.last, Spans: t.spans}
	if out.Result == "" {
		out.Result = "ended without a commit"
	}
	if m := r.t.asked(); m != nil {
		out.Message = m.ID
		if s, ok := r.e.ports.traces.take(r.id, m.CreatedAt, now); ok {
			out.Spans = append([]chat.Span{s}, out.Spans...)
		}
	}
	r.e.ports.traces.hand(out)
}

// asked is the user Message that the Turn answers; nil when the run never read its history.
func (t *turn) asked() *chat.Message {
	for i := len(t.history) - 1; i >= 0; i-- {
		if m := t.history[i]; m.Role == chat.RoleUser && m.Visibility != chat.VisibleModel && !m.Deleted {
			return m
		}
	}
	return nil
}

// traces are handed on, with the requests that brought a Message whose Turn has not ended yet. Those are in memory alone: what a restart
// forgets is only missing in a Trace.
type traces struct {
	hand func(chat.Trace)

	mu   sync.Mutex // guards open
	open []*openRequest
}

// openRequest is told from others of its Chat by when the Message was made; one for a new Chat by the Chat alone.
type openRequest struct {
	chat    chat.ID
	message time.Time
	span    chat.Span
	ended   time.Time
}

// mostRequests bounds what waits: Messages in queues of Chats that nobody runs any more.
const mostRequests = 512

// note keeps the request of ctx for the Turn of a Message. Call what it gives when the command is done.
func (q *traces) note(ctx context.Context, id chat.ID, message time.Time, now func() time.Time) (done func(err error)) {
	from, ok := chat.VisitOf(ctx)
	if !ok {
		return func(error) {}
	}
	r := &openRequest{chat: id, message: message, span: chat.Span{Kind: chat.SpanRequest, Name: from.Route, Ref: from.ID, At: from.At.UTC()}}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) >= mostRequests {
		q.open = append(q.open[:0], q.open[1:]...)
	}
	q.open = append(q.open, r)
	return func(err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		r.ended = now()
		if err != nil {
			q.drop(r)
		}
	}
}

// take gives the request that brought a Message, once.
func (q *traces) take(id chat.ID, message, now time.Time) (chat.Span, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.open {
		if r.chat != id || !r.message.IsZero() && !r.message.Equal(message) {
			continue
		}
		q.drop(r)
		if r.ended.IsZero() {
			// The Turn was faster than the answer to who asked for it.
			r.ended = now
		}
		r.span.Took = r.ended.Sub(r.span.At)
		return r.span, true
	}
	return chat.Span{}, false
}

// drop needs mu.
func (q *traces) drop(r *openRequest) {
	for i := range q.open {
		if q.open[i] == r {
			q.open = append(q.open[:i], q.open[i+1:]...)
			return
		}
	}
}
