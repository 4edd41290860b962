package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Diff is what the repositories of a Chat's Workspace differ from their last commits, untracked files included. Branch is that of the
// first one. Diff is unified, 1 MiB at most; with several repositories each file follows a line with "# " and its repository.
type Diff struct {
	Additions    int    `json:"additions"`
	Deletions    int    `json:"deletions"`
	ChangedFiles int    `json:"changed_files"`
	Branch       string `json:"branch"`
	Diff         string `json:"diff"`
	// Incomplete: something was too large, or could not be read.
	Incomplete bool `json:"incomplete"`
}

// Diff gives what the files of a Chat's Workspace differ from the last commit. Without a Workspace it is not found; without git it is
// unavailable.
func (c *Client) Diff(ctx context.Context, id chat.ID) (Diff, error) {
	var out Diff
	return out, c.call(ctx, http.MethodGet, "/chats/"+url.PathEscape(string(id))+"/diff", nil, nil, &out)
}
