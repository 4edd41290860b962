package gate

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
)

// visit is what the Gate finds out about one request.
type visit struct {
	id        string
	start     time.Time
	source    string
	route     Route
	principal chat.Principal
	gate      *Gate
	// err is what WriteError was given.
	err error
}

type visitKey struct{}

func newVisit(g *Gate, source string) *visit {
	return &visit{id: uuid.Must(uuid.NewV7()).String(), start: time.Now(), source: source, gate: g}
}

func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// RequestID gives the id of the request that ctx belongs to, "" outside of one.
func RequestID(ctx context.Context) string {
	if v := visitOf(ctx); v != nil {
		return v.id
	}
	return ""
}

// Principal gives who asks. On Public and Local routes it is the zero Principal unless somebody is signed in.
func Principal(ctx context.Context) chat.Principal {
	if v := visitOf(ctx); v != nil {
		return v.principal
	}
	return chat.Principal{}
}

// LogHandler adds the request's id to every line that is logged with a request's context.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle adds the id and passes the line on.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String(chat.LogRequestID, id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the wrapper around the handler with attributes.
func (h logHandler) WithAttrs(a []slog.Attr) slog.Handler { return logHandler{h.Handler.WithAttrs(a)} }

// WithGroup keeps the wrapper around the handler of the group.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
