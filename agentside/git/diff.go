package git

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/chat"
)

// baseName is a commit as somebody may name one: it cannot be taken for an option, a range or a file.
var baseName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./@{}~^+-]{0,199}$`) })

// Diff gives the difference of one path, or of all, from a commit; "" is the last one.
func (r *Repositories) Diff(ctx context.Context, q chat.DiffQuery) ([]chat.FileDiff, error) {
	ctx, leave, err := r.program.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if q.Base != "" && (!baseName().MatchString(q.Base) || strings.Contains(q.Base, "..")) {
		return nil, chat.Invalid("base", "It must name one commit, such as HEAD~1, main or a hash.")
	}
	if strings.ContainsRune(q.Path, 0) || path.IsAbs(q.Path) || q.Path != "" && (path.Clean(q.Path) != q.Path || strings.HasPrefix(q.Path, "..")) {
		return nil, chat.Invalid("path", "It must be the path of a file in the repository, as its status has it.")
	}
	found, _, err := r.find()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(f repository) bool { return f.name == q.Repo || q.Repo == "" && f.name == "." })
	if i < 0 {
		return nil, chat.NotFound("repository")
	}
	out, err := r.program.diff(ctx, found[i], q)
	if err == nil {
		return out, nil
	}
	why, err := r.reason(ctx, err)
	if err != nil {
		return nil, err
	}
	return nil, &chat.Error{Kind: chat.KindUnavailable, Message: "The repository cannot be compared.", Detail: why}
}

func (p *Program) diff(ctx context.Context, repo repository, q chat.DiffQuery) (out []chat.FileDiff, err error) {
	if repo.refused != nil {
		return nil, repo.refused
	}
	s, err := p.stand(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	head, _, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	base := s.base(head)
	if q.Base != "" {
		if base, err = s.commit(ctx, q.Base); err != nil {
			return nil, err
		}
	}
	files, _, err := s.changes(ctx, base, head.conflicts)
	if err != nil {
		return nil, err
	}
	contents := map[string]content{}
	untracked := head.untracked
	if q.Path != "" {
		untracked = slices.DeleteFunc(untracked, func(name string) bool { return name != q.Path })
	}
	if files, err = s.addUntracked(files, untracked, &lefts{}, func(name string, c content) { contents[name] = c }); err != nil {
		return nil, err
	}
	if q.Path != "" {
		files = slices.DeleteFunc(files, func(e chat.RepoEntry) bool { return e.Path != q.Path })
	}
	slices.SortFunc(files, func(a, b chat.RepoEntry) int { return strings.Compare(a.Path, b.Path) })
	if len(files) > maxFiles {
		files = files[:maxFiles]
	}
	return s.compare(ctx, base, q.Path != "", files, contents)
}

// commit gives the hash of a commit that somebody named.
func (s *standIn) commit(ctx context.Context, name string) (string, error) {
	out, _, err := s.output(ctx, 1<<10, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	var failed *failure
	if errors.As(err, &failed) {
		return "", chat.Invalid("base", "There is no such commit.")
	}
	return strings.TrimSpace(out), err
}

// compare gives the files with their differences, 1 MiB in all.
func (s *standIn) compare(ctx context.Context, base string, one bool, files []chat.RepoEntry, contents map[string]content) ([]chat.FileDiff, error) {
	var paths []string
	if one {
		for _, f := range files {
			paths = append(paths, f.Path)
			if f.From != "" {
				paths = append(paths, f.From)
			}
		}
	}
	if one && len(paths) == 0 {
		return []chat.FileDiff{}, nil
	}
	changed, err := s.patch(ctx, base, paths)
	if err != nil {
		return nil, err
	}
	room := maxDiff
	for _, c := range changed {
		room -= len(c.hunks)
	}
	out := make([]chat.FileDiff, 0, len(files))
	for _, f := range files {
		d := chat.FileDiff{RepoEntry: f}
		c, untracked := contents[f.Path]
		switch p := changed[f.Path]; {
		case untracked:
			d.Diff, d.Truncated = c.diff(f.Path, min(maxFileDiff, room))
			d.Truncated = d.Truncated || !c.whole
			room -= len(d.Diff)
		case p != nil:
			d.Truncated, d.Binary = p.cut, d.Binary || p.binary
			if p.hunks != "" {
				d.Diff = heads(sides(f)) + p.hunks
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// sides are the names before and after a change.
func sides(e chat.RepoEntry) (from, to string) {
	from, to = e.Path, e.Path
	if e.From != "" {
		from = e.From
	}
	switch e.State {
	case "added", "untracked":
		from = ""
	case "deleted":
		to = ""
	}
	return from, to
}

func (s *standIn) patch(ctx context.Context, base string, paths []string) (map[string]*section, error) {
	p := patch{from: rand.Text() + "/", to: rand.Text() + "/", max: maxDiff}
	args := diffArgs([]string{"--patch", "--src-prefix=" + p.from, "--dst-prefix=" + p.to}, base, paths...)
	err := s.git(ctx, p.read, args...)
	return p.files, err
}
