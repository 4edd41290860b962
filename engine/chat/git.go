package chat

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
)

// Git reads the repositories of one Workspace: its directory and that directory's children, at most 64. It never changes them.
type Git interface {
	// Status gives the repositories; none is an empty list. Without git, or when it fails, it is an *Error whose message
	// gives the reason.
	Status(ctx context.Context) ([]RepoStatus, error)
	// Diff gives the change of one path ("" for all) of a repository against a base commit ("" is HEAD), untracked files included.
	Diff(ctx context.Context, q DiffQuery) ([]FileDiff, error)
	// Watch is touched, without payload, when files or the repository may have changed. The func ends the subscription.
	Watch() (<-chan struct{}, func())
}

// RepoStatus is one repository. Path is relative to the Workspace, "." for its directory.
type RepoStatus struct {
	Path     string      `json:"path"`
	Branch   string      `json:"branch"`
	Upstream string      `json:"upstream,omitempty"`
	Ahead    int         `json:"ahead"`
	Behind   int         `json:"behind"`
	Files    []RepoEntry `json:"files"`
	// Mark is another one when a file of Files was written since, "" where that is not known.
	Mark string `json:"mark,omitempty"`
	// Incomplete says what was left out and why, "" when nothing was.
	Incomplete string `json:"incomplete,omitempty"`
}

// RepoEntry is one changed file. State is added, modified, deleted, renamed, untracked or conflicted.
type RepoEntry struct {
	Path      string `json:"path"`
	From      string `json:"from,omitempty"`
	State     string `json:"state"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Binary    bool   `json:"binary,omitempty"`
}

// DiffQuery asks for the change of Path in the repository Repo since Base.
type DiffQuery struct {
	Repo string
	Path string
	Base string
}

// FileDiff is the unified diff of one file, cut at 256 KiB.
type FileDiff struct {
	RepoEntry
	Diff      string `json:"diff,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// DiffStatus sums what the repositories of a Workspace differ from their last commits. Branch is that of the first one.
type DiffStatus struct {
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Files     int    `json:"files"`
	Branch    string `json:"branch,omitempty"`
}

// DiffMarkOf is another one when the files of repositories differ otherwise than before, though what DiffStatusOf adds up may be the same.
func DiffMarkOf(repos []RepoStatus) string {
	sum := fnv.New64a()
	for _, r := range repos {
		fmt.Fprintf(sum, "%q %q %q\n", r.Path, r.Branch, r.Mark)
		for _, f := range r.Files {
			fmt.Fprintf(sum, "%q %q %s %d %d\n", f.Path, f.From, f.State, f.Additions, f.Deletions)
		}
	}
	return strconv.FormatUint(sum.Sum64(), 36)
}

// DiffStatusOf adds up what repositories differ.
func DiffStatusOf(repos []RepoStatus) DiffStatus {
	var d DiffStatus
	for i, r := range repos {
		if i == 0 {
			d.Branch = r.Branch
		}
		d.Files += len(r.Files)
		for _, f := range r.Files {
			d.Additions += f.Additions
			d.Deletions += f.Deletions
		}
	}
	return d
}
