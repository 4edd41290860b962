package link

import (
	"net/http"

	"holdfast/engine/chat"
)

func (a *API) gitStatus(w http.ResponseWriter, r *http.Request) {
	if !readQuery(r).ok(w) {
		return
	}
	all, err := a.place.Git().Status(r.Context())
	if err != nil {
		refuseError(w, err)
		return
	}
	if all == nil {
		all = []chat.RepoStatus{}
	}
	writeJSON(w, http.StatusOK, all)
}

func (a *API) gitDiff(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "repo", "path", "base")
	if !q.ok(w) {
		return
	}
	all, err := a.place.Git().Diff(r.Context(), chat.DiffQuery{Repo: q.text("repo"), Path: q.text("path"), Base: q.text("base")})
	if err != nil {
		refuseError(w, err)
		return
	}
	if all == nil {
		all = []chat.FileDiff{}
	}
	writeJSON(w, http.StatusOK, all)
}

// watchGit writes a line when files or a repository may have changed, until the caller goes.
func (a *API) watchGit(w http.ResponseWriter, r *http.Request) {
	if !readQuery(r).ok(w) {
		return
	}
	touched, end := a.place.Git().Watch()
	defer end()
	a.tell(w, r, touched)
}
