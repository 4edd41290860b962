package api

import (
	"strings"

	"holdfast/engine"
	"holdfast/ui/api/client"
)

// diff joins the differences of all repositories of a Chat's Workspace.
func (a *API) diff(q *request, _ none) (client.Diff, error) {
	repos, err := a.o.Chats.Repositories(q.ctx(), q.who, engine.RepositoriesInput{ChatID: q.chat()})
	if err != nil {
		return client.Diff{}, err
	}
	var out client.Diff
	var text strings.Builder
	for i, r := range repos {
		if i == 0 {
			out.Branch = r.Branch
		}
		out.ChangedFiles += len(r.Files)
		out.Incomplete = out.Incomplete || r.Incomplete != ""
		for _, f := range r.Files {
			out.Additions += f.Additions
			out.Deletions += f.Deletions
		}
		for _, d := range r.Diffs {
			if len(repos) > 1 && d.Diff != "" {
				// The names in a difference are those within its repository.
				text.WriteString("# " + r.Path + "\n")
			}
			text.WriteString(d.Diff)
			out.Incomplete = out.Incomplete || d.Truncated
		}
	}
	out.Diff = strings.ToValidUTF8(text.String(), "\uFFFD")
	return out, nil
}
