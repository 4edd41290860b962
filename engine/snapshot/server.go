package snapshot

import (
	"context"
	"time"

	"holdfast/engine/chat"
)

// connectTime is how long an approval waits for the server to connect.
const connectTime = 4 * time.Second

// ServersInput names a Workspace.
type ServersInput struct{ ID chat.WorkspaceID }

// Servers gives the MCP servers that the files of a Workspace name, as they are now; a Workspace that runs none has none.
func (r *Room) Servers(ctx context.Context, _ chat.Principal, in ServersInput) ([]chat.Server, error) {
	s, err := r.servers(ctx, in.ID)
	if err != nil || s == nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, resyncTime)
	defer cancel()
	return s.List(ctx)
}

// servers gives those of a Workspace; nil for none.
func (r *Room) servers(ctx context.Context, id chat.WorkspaceID) (chat.Servers, error) {
	w, err := r.o.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	if k, ok := w.(chat.ServerKeeper); ok {
		return k.Servers(), nil
	}
	return nil, nil
}

// ApproveServerInput is a yes to what a person was shown: an entry and the files that it runs, or with Tool a tool that changed.
type ApproveServerInput struct {
	ID   chat.WorkspaceID
	Name string
	Tool string
	Hash chat.Hash
}

// ApproveServer lets a server start as it was shown, and waits a moment for it to connect.
func (r *Room) ApproveServer(ctx context.Context, p chat.Principal, in ApproveServerInput) (Done, error) {
	s, err := r.servers(ctx, in.ID)
	if err != nil {
		return Done{}, err
	}
	if s == nil {
		return Done{}, chat.NotFound("MCP server")
	}
	within, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	live, err := r.live(within, in.ID)
	if err != nil {
		return Done{}, err
	}
	published, stop := live.Watch()
	defer stop()
	if err := s.Approve(ctx, chat.ServerApproval{Name: in.Name, Tool: in.Tool, Hash: in.Hash, By: p.UserID}); err != nil {
		return Done{}, err
	}
	// The approval stands, whether it connects in time or not.
	for first := true; first || !live.Snapshot().MCPSettled; first = false {
		select {
		case <-published:
		case <-within.Done():
			return Done{}, nil
		}
	}
	return Done{}, nil
}
