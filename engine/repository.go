package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
)

// RepositoriesInput names the Chat whose Workspace is asked for.
type RepositoriesInput struct{ ChatID chat.ID }

// Repository is one of the Workspace's, with the differences of its files from the last commit.
type Repository struct {
	chat.RepoStatus
	Diffs []chat.FileDiff
}

// maxRepositoriesDiff bounds the differences of all repositories together, in bytes.
const maxRepositoriesDiff = 1 << 20

// Repositories reads the repositories of a Chat's Workspace as they are now; a folder that is none has an empty list. Without a Workspace
// it is KindNotFound.
func (e *Engine) Repositories(ctx context.Context, _ chat.Principal, in RepositoriesInput) ([]Repository, error) {
	ws, err := e.workspaceOf(ctx, in.ChatID)
	if err != nil {
		return nil, err
	}
	if ws == nil {
		return nil, chat.NotFound("workspace")
	}
	repos, err := ws.Git().Status(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Repository, 0, len(repos))
	room := maxRepositoriesDiff
	for _, r := range repos {
		one := Repository{RepoStatus: r}
		if len(r.Files) > 0 && room > 0 {
			if one.Diffs, err = ws.Git().Diff(ctx, chat.DiffQuery{Repo: r.Path}); err != nil {
				// What is changed is known; only its lines are missing.
				var refused *chat.Error
				if !errors.As(err, &refused) {
					return nil, err
				}
				one.Incomplete = refused.Message + " " + refused.Detail
			}
			for i := range one.Diffs {
				if room -= len(one.Diffs[i].Diff); room < 0 {
					one.Diffs[i].Diff, one.Diffs[i].Truncated = "", true
				}
			}
		}
		out = append(out, one)
	}
	// Whoever looks sees more than was last told of: a person may have changed files without us.
	e.compareDiff(ctx, in.ChatID, repos)
	return out, nil
}

// compareDiff has the Workspace of a Chat read again when the Chat says something else than what was just found.
func (e *Engine) compareDiff(ctx context.Context, id chat.ID, repos []chat.RepoStatus) {
	c, err := e.Get(ctx, chat.Principal{}, GetInput{ChatID: id})
	if err != nil {
		return
	}
	if !seenIn(repos).of(c) {
		e.feed.diffs.note(c.WorkspaceID, id)
	}
}
