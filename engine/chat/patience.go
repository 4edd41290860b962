package chat

import "context"

type impatientKey struct{}

// Impatient marks what somebody waits for: an Agent that is away is given a moment to come back, not the minute that a Call of a model has.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

// IsImpatient says whether Impatient marked the context.
func IsImpatient(ctx context.Context) bool {
	marked, _ := ctx.Value(impatientKey{}).(bool)
	return marked
}
