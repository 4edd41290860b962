package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// SpaceContext is the context of a Workspace as the appliance has it, wherever the files are. Answers are the bytes that it sent.
type SpaceContext struct {
	client *Client
	id     chat.WorkspaceID
}

// Context gives the context of a Workspace.
func (c *Client) Context(id chat.WorkspaceID) *SpaceContext { return &SpaceContext{client: c, id: id} }

// Sources gives the Sources of the Workspace.
func (s *SpaceContext) Sources(ctx context.Context) ([]byte, error) {
	return s.call(ctx, http.MethodGet, "/sources", nil)
}

// AddSource adds a path; adding it again changes nothing.
func (s *SpaceContext) AddSource(ctx context.Context, path string) ([]byte, error) {
	return s.call(ctx, http.MethodPost, "/sources", ContextSource{Path: path})
}

// RemoveSource takes a path away.
func (s *SpaceContext) RemoveSource(ctx context.Context, path string) error {
	_, err := s.call(ctx, http.MethodDelete, "/sources/"+url.PathEscape(path), nil)
	return err
}

// Snapshot gives the newest one that the appliance has.
func (s *SpaceContext) Snapshot(ctx context.Context) ([]byte, error) {
	return s.call(ctx, http.MethodGet, "", nil)
}

// Resync looks anew and gives what there is then.
func (s *SpaceContext) Resync(ctx context.Context) ([]byte, error) {
	return s.call(ctx, http.MethodPost, "/resync", nil)
}

func (s *SpaceContext) call(ctx context.Context, method, path string, in any) ([]byte, error) {
	var out []byte
	return out, s.client.call(ctx, method, workspacePath(s.id)+"/context"+path, nil, in, &out)
}
