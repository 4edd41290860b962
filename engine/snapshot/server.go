package snapshot

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// connectTime is how long an approval waits for the server to connect.
const connectTime = 4 * time.Second

// maxNotedFiles is how many files of a server the audit names.
const maxNotedFiles = 2

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
	if err := r.noteServer(within, in.ID, s, in.Name); err != nil {
		return Done{}, err
	}
	live, err := r.live(within, in.ID)
	if err != nil {
		return Done{}, err
	}
	published, stop := live.Watch()
	defer stop()
	defer r.o.Moved(in.ID)
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

// RefuseServerInput is a no to what a person was shown.
type RefuseServerInput struct {
	ID   chat.WorkspaceID
	Name string
	Hash chat.Hash
}

// RefuseServer keeps a server from starting as it was shown, and ends it if it runs so; it asks again once it has changed.
func (r *Room) RefuseServer(ctx context.Context, p chat.Principal, in RefuseServerInput) (Done, error) {
	s, err := r.servers(ctx, in.ID)
	if err != nil {
		return Done{}, err
	}
	if s == nil {
		return Done{}, chat.NotFound("MCP server")
	}
	within, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := r.noteServer(within, in.ID, s, in.Name); err != nil {
		return Done{}, err
	}
	defer r.o.Moved(in.ID)
	return Done{}, s.Approve(ctx, chat.ServerApproval{Name: in.Name, Hash: in.Hash, By: p.UserID, Refused: true})
}

// noteServer adds to the record of the audit where a server is and which files it runs, whose hashes anybody can compare: the seal that is
// approved only its own machine can make.
func (r *Room) noteServer(ctx context.Context, id chat.WorkspaceID, servers chat.Servers, name string) error {
	note := chat.AuditOf(ctx)
	if note == nil {
		return nil
	}
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		rec, found, err := tx.Workspace(id)
		if found {
			note.Fact("folder", rec.Directory)
			note.Fact("agent", string(rec.AgentID))
		}
		return err
	})
	if err != nil {
		return err
	}
	all, err := servers.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Name != name {
			continue
		}
		note.Fact("entry_of", s.Config)
		// The rest of an address may be a secret.
		if u, err := url.Parse(s.Entry.URL); err == nil {
			note.Fact("host", u.Host)
		}
		for i, f := range s.Entry.Files {
			if i == maxNotedFiles {
				break
			}
			note.Fact(fmt.Sprintf("file_%d", i+1), filepath.Base(f.Path))
			note.Fact(fmt.Sprintf("file_%d_sha256", i+1), f.Hash.String())
		}
	}
	return nil
}

// AuditFacts gives what was approved, by its seal.
func (i ApproveServerInput) AuditFacts() map[string]string {
	return map[string]string{"server": i.Name, "tool": i.Tool, "hash": i.Hash.String()}
}

// AuditFacts gives what was refused, by its seal.
func (i RefuseServerInput) AuditFacts() map[string]string {
	return map[string]string{"server": i.Name, "hash": i.Hash.String()}
}
