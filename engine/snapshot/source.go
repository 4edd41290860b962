package snapshot

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// resyncTime bounds a scan that somebody waits for.
const resyncTime = 30 * time.Second

// SourcesInput names a Workspace.
type SourcesInput struct{ ID chat.WorkspaceID }

// Sources gives the paths that were added to a Workspace, in the order of adding.
func (r *Room) Sources(ctx context.Context, _ chat.Principal, in SourcesInput) ([]string, error) {
	live, err := r.live(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return live.Sources(ctx)
}

// SourceInput names a path of a Workspace.
type SourceInput struct {
	ID   chat.WorkspaceID
	Path string
}

// Source gives the identity of a path that was added; KindNotFound for another one.
func (r *Room) Source(ctx context.Context, _ chat.Principal, in SourceInput) (string, error) {
	return r.act(ctx, in, chat.SourceFind)
}

// AddSource adds a path and gives its identity; adding again changes nothing.
func (r *Room) AddSource(ctx context.Context, _ chat.Principal, in AddSourceInput) (string, error) {
	return r.act(ctx, SourceInput(in), chat.SourceAdd)
}

// AddSourceInput and RemoveSourceInput name a path of a Workspace.
type (
	AddSourceInput    SourceInput
	RemoveSourceInput SourceInput
)

// RemoveSource takes a path away and gives its identity.
func (r *Room) RemoveSource(ctx context.Context, _ chat.Principal, in RemoveSourceInput) (string, error) {
	return r.act(ctx, SourceInput(in), chat.SourceRemove)
}

func (r *Room) act(ctx context.Context, in SourceInput, act chat.SourceAct) (string, error) {
	if strings.TrimSpace(in.Path) == "" {
		return "", chat.Invalid("path", "name a folder or file by its path")
	}
	live, err := r.live(ctx, in.ID)
	if err != nil {
		return "", err
	}
	defer r.o.Moved(in.ID)
	return live.Source(ctx, in.Path, act)
}

// ResyncInput names a Workspace.
type ResyncInput struct{ ID chat.WorkspaceID }

// Resync looks at a Workspace anew and gives what was found. What is found reaches the store on its own way.
func (r *Room) Resync(ctx context.Context, _ chat.Principal, in ResyncInput) (chat.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, resyncTime)
	defer cancel()
	live, err := r.live(ctx, in.ID)
	if err != nil {
		return chat.Snapshot{}, err
	}
	s, err := live.Resync(ctx)
	switch {
	case errors.Is(err, chat.ErrContextClosed):
		return s, &chat.Error{Kind: chat.KindStopping, Message: "The workspace has stopped."}
	case err != nil && ctx.Err() != nil:
		return s, &chat.Error{Kind: chat.KindTimeout, Message: "The workspace was not looked at in time.", Detail: "Try again."}
	}
	return s, err
}
