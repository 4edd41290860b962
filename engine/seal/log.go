package seal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Handler passes log records on, cleaned: message, names and values, whatever the values are.
func (f *Filter) Handler(next slog.Handler) slog.Handler { return handler{next, f} }

type handler struct {
	slog.Handler
	filter *Filter
}

// Handle cleans the record.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if h.filter.replacer() == nil {
		return h.Handler.Handle(ctx, r)
	}
	clean := slog.NewRecord(r.Time, r.Level, h.filter.Clean(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.filter.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs cleans what is known by now; each record after it is cleaned when it is written.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.filter.attr(a)
	}
	return handler{h.Handler.WithAttrs(clean), h.filter}
}

// WithGroup keeps the filter in front.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(h.filter.Clean(name)), h.filter}
}

func (f *Filter) attr(a slog.Attr) slog.Attr {
	a.Key = f.Clean(a.Key)
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(f.Clean(a.Value.String()))
	case slog.KindGroup:
		group := a.Value.Group()
		clean := make([]slog.Attr, len(group))
		for i, inner := range group {
			clean[i] = f.attr(inner)
		}
		a.Value = slog.GroupValue(clean...)
	case slog.KindAny:
		a.Value = f.any(a.Value)
	}
	return a
}

// any writes a value as the handlers might, and keeps it when no secret shows in that.
func (f *Filter) any(v slog.Value) slog.Value {
	text := fmt.Sprintf("%+v", v.Any())
	if clean := f.Clean(text); clean != text {
		return slog.StringValue(clean)
	}
	b, err := json.Marshal(v.Any())
	if err != nil {
		return v
	}
	if clean := f.Clean(string(b)); clean != string(b) {
		return slog.StringValue(clean)
	}
	return v
}
