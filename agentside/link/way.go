package link

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// way leads to one Workspace beside an Agent. space is "" for the one that the Agent was enrolled with.
type way struct {
	*line
	space chat.WorkspaceID
}

// placed is the capability that a call to a Workspace which was made needs.
func (c call) placed() string {
	if c.space == "" {
		return ""
	}
	return CapPlaces
}

func (w way) ask(ctx context.Context, needs string, c call) (*reply, error) {
	c.space = w.space
	return w.line.ask(ctx, needs, c)
}

func (w way) askOnce(ctx context.Context, needs string, c call) (*reply, error) {
	c.space = w.space
	return w.line.askOnce(ctx, needs, c)
}

func (w way) follow(needs, path string, q url.Values) (<-chan struct{}, func()) {
	return w.line.follow(needs, call{method: http.MethodGet, path: path, query: q, space: w.space})
}

func (w way) later(f fence) {
	f.space = w.space
	w.line.later(f)
}
