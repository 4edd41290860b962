package chat

import "context"

// Origin says what a model call is for. It goes with the context, for the run log; no server sees it.
type Origin struct {
	Chat ID
	// Purpose is one of UsageTurn to UsageSummary.
	Purpose string
	// Trace is the id of the Trace that the call belongs to, "" for none.
	Trace string
}

type originKey struct{}

// WithOrigin notes the origin of the model calls that are made with the context.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// WithPurpose is WithOrigin for another purpose of the same Chat.
func WithPurpose(ctx context.Context, purpose string) context.Context {
	o := OriginOf(ctx)
	o.Purpose = purpose
	return WithOrigin(ctx, o)
}

// OriginOf gives what WithOrigin noted, the zero Origin without it.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
