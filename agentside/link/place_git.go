package link

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// remoteGit reads the repositories beside an Agent.
type remoteGit struct{ line way }

var _ chat.Git = (*remoteGit)(nil)

func (g *remoteGit) get(ctx context.Context, path string, q url.Values, v any) error {
	got, err := g.line.ask(ctx, CapGit, call{method: http.MethodGet, path: path, query: q})
	if err != nil {
		if _, message, ok := refusedBy(err); ok {
			return &chat.Error{Kind: chat.KindUnreachable, Message: message}
		}
		return err
	}
	if p := got.problem(); p != nil {
		return &chat.Error{Kind: chat.Kind(p.Kind), Message: p.Message, Detail: p.Detail}
	}
	return got.into(v)
}

// Status gives the repositories.
func (g *remoteGit) Status(ctx context.Context) ([]chat.RepoStatus, error) {
	var out []chat.RepoStatus
	err := g.get(ctx, "/git/status", nil, &out)
	return out, err
}

// Diff gives the change of a repository.
func (g *remoteGit) Diff(ctx context.Context, in chat.DiffQuery) ([]chat.FileDiff, error) {
	q := url.Values{}
	for name, value := range map[string]string{"repo": in.Repo, "path": in.Path, "base": in.Base} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var out []chat.FileDiff
	err := g.get(ctx, "/git/diff", q, &out)
	return out, err
}

// Watch follows the Agent's own watch.
func (g *remoteGit) Watch() (<-chan struct{}, func()) {
	return g.line.follow(CapGit, "/git/watch", nil)
}
