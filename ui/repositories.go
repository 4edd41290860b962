package ui

import (
	"net/http"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// repositories fills the part of the right column that git knows: what differs from the last commit.
func (s *Site) repositories(w http.ResponseWriter, r *http.Request) {
	out := view.Repos{Asked: time.Now().UnixMilli()}
	repos, err := s.chats.Repositories(r.Context(), gate.Principal(r.Context()), engine.RepositoriesInput{ChatID: chat.ID(r.PathValue("id"))})
	if err != nil {
		out.Problem = sentence(err)
	}
	rows, files := inspectedRows, inspectedFiles
	for _, repo := range repos {
		one := view.Repo{Path: repo.Path, Branch: repo.Branch, Upstream: repo.Upstream, Ahead: repo.Ahead, Behind: repo.Behind, Note: repo.Incomplete}
		if one.Path == "." {
			one.Path = ""
		}
		differ := map[string]chat.FileDiff{}
		for _, d := range repo.Diffs {
			differ[d.Path] = d
		}
		for _, f := range repo.Files {
			one.Adds += f.Additions
			one.Dels += f.Deletions
			if files == 0 {
				one.More++
				continue
			}
			files--
			one.Files = append(one.Files, repoFile(f, differ[f.Path], &rows))
		}
		out.Repos = append(out.Repos, one)
	}
	s.fragment(w, r, view.RepoList(out))
}

// repoFile is one changed file; rows is how many lines may still be shown.
func repoFile(f chat.RepoEntry, d chat.FileDiff, rows *int) view.RepoFile {
	out := view.RepoFile{Path: f.Path, From: f.From, State: f.State, Adds: f.Additions, Dels: f.Deletions}
	for _, part := range text.Diff(f.Path, d.Diff) {
		out.Diff.Rows = append(out.Diff.Rows, part.Rows...)
	}
	if *rows < len(out.Diff.Rows) {
		out.Diff.Rows, d.Truncated = out.Diff.Rows[:*rows], true
	}
	*rows -= len(out.Diff.Rows)
	switch {
	case f.Binary || d.Binary:
		out.Note = "Binary file, not shown."
	case d.Truncated && len(out.Diff.Rows) == 0:
		out.Note = "Too large to be shown here."
	case d.Truncated:
		out.Note = "More lines differ than are shown here."
	case strings.TrimSpace(d.Diff) == "" && f.From != "":
		out.Note = "Only the name is another."
	case strings.TrimSpace(d.Diff) == "":
		out.Note = "No line differs."
	}
	return out
}
