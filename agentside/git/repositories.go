package git

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

// Bounds of a status.
const (
	maxOutput = 8 << 20
	maxFiles  = 1000
)

// Repositories are those at the directory of one Workspace and at its children.
type Repositories struct {
	program *Program
	dir     string
	watch   func() (<-chan struct{}, func())
}

var _ chat.Git = (*Repositories)(nil)

// Repositories gives those of a Workspace, whose directory is absolute and real. watch subscribes to its changes.
func (p *Program) Repositories(dir string, watch func() (<-chan struct{}, func())) *Repositories {
	return &Repositories{program: p, dir: dir, watch: watch}
}

// Watch is touched when files may have changed.
func (r *Repositories) Watch() (<-chan struct{}, func()) { return r.watch() }

// Status gives the repositories in name order. One that cannot be looked at says why in Incomplete.
func (r *Repositories) Status(ctx context.Context) ([]chat.RepoStatus, error) {
	ctx, leave, err := r.program.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, left, err := r.find()
	if err != nil || len(found) == 0 {
		return []chat.RepoStatus{}, err
	}
	out := make([]chat.RepoStatus, 0, len(found))
	for _, repo := range found {
		status, err := r.program.status(ctx, repo)
		if err != nil {
			if status.Incomplete, err = r.reason(ctx, err); err != nil {
				return nil, err
			}
		}
		out = append(out, status)
	}
	if left != "" {
		last := &out[len(out)-1]
		last.Incomplete = strings.TrimSpace(last.Incomplete + " " + left)
	}
	return out, nil
}

// find gives the repositories when there is a git at all.
func (r *Repositories) find() ([]repository, string, error) {
	found, left, err := find(r.dir)
	if err != nil {
		return nil, "", &chat.Error{Kind: chat.KindUnavailable, Message: "The directory of the workspace cannot be read.", Cause: err}
	}
	if len(found) > 0 {
		_, err = r.program.find()
	}
	return found, left, err
}

// reason turns what went wrong with one repository into a sentence. What went wrong for all stays an error.
func (r *Repositories) reason(ctx context.Context, err error) (string, error) {
	var refused *chat.Error
	var failed *failure
	switch {
	case errors.As(err, &refused):
		return "", err
	case errors.Is(err, errLate):
		return "git took longer than " + r.program.time.String() + ".", nil
	case errors.Is(err, errClosed):
		return "", &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."}
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &failed):
		r.program.log.Info("git failed", chat.LogError, err)
		return "git could not read it.", nil
	case errors.Is(err, errOutside), errors.Is(err, errBroken), errors.Is(err, errBorrowed):
		return "It is not looked at: " + err.Error() + ".", nil
	}
	r.program.log.Warn("git could not be run", chat.LogError, err)
	return "", &chat.Error{Kind: chat.KindUnavailable, Message: "git could not be run.", Cause: err}
}

func (p *Program) status(ctx context.Context, repo repository) (out chat.RepoStatus, err error) {
	out = chat.RepoStatus{Path: repo.name, Files: []chat.RepoEntry{}}
	if repo.refused != nil {
		return out, repo.refused
	}
	s, err := p.stand(ctx, repo)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	head, cut, err := s.head(ctx)
	if err != nil {
		return out, err
	}
	out.Branch, out.Upstream, out.Ahead, out.Behind = head.shown(), head.upstream, head.ahead, head.behind
	files, cutToo, err := s.changes(ctx, s.base(head), head.conflicts)
	if err != nil {
		return out, err
	}
	left := lefts{}
	left.say(cut || cutToo, "There are more changed files than can be read.")
	if files, err = s.addUntracked(files, head.untracked, &left, nil); err != nil {
		return out, err
	}
	slices.SortFunc(files, func(a, b chat.RepoEntry) int { return strings.Compare(a.Path, b.Path) })
	if len(files) > maxFiles {
		left.say(true, fmt.Sprintf("%d more files are changed.", len(files)-maxFiles))
		files = files[:maxFiles]
	}
	if files != nil {
		out.Files = files
		out.Mark = markOf(repo.dir, files)
	}
	out.Incomplete = strings.Join(left, " ")
	return out, nil
}

// markOf is another one when one of the files was written since, though as many lines may differ as before.
func markOf(dir string, files []chat.RepoEntry) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	sum := fnv.New64a()
	for _, f := range files {
		// One that is deleted has neither.
		if info, err := root.Lstat(f.Path); err == nil {
			fmt.Fprintf(sum, "%q %d %d\n", f.Path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return strconv.FormatUint(sum.Sum64(), 36)
}

// lefts are sentences on what was left out.
type lefts []string

func (l *lefts) say(so bool, sentence string) {
	if so {
		*l = append(*l, sentence)
	}
}

// head reads the branch, and the files that are untracked or in conflict.
func (s *standIn) head(ctx context.Context) (b branch, cut bool, err error) {
	out, cut, err := s.output(ctx, maxOutput, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all",
		"--ignore-submodules=all", "--no-renames")
	if err != nil {
		return b, false, err
	}
	return parseStatus(out, cut), cut, nil
}

func (s *standIn) base(b branch) string {
	if b.commit == "" {
		return s.emptyTree()
	}
	return "HEAD"
}

// plain are the options of every difference: nothing that a repository could name is run.
var plain = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=all", "--find-renames"}

func diffArgs(options []string, base string, paths ...string) []string {
	return slices.Concat([]string{"diff"}, plain, options, []string{base, "--"}, paths)
}

// changes lists the tracked files that differ from base.
func (s *standIn) changes(ctx context.Context, base string, conflicts []string) (files []chat.RepoEntry, cut bool, err error) {
	out, cut, err := s.output(ctx, maxOutput, diffArgs([]string{"--raw", "--numstat", "-z"}, base)...)
	if err != nil {
		return nil, false, err
	}
	files = parseChanges(out, cut)
	at := map[string]int{}
	for i, f := range files {
		at[f.Path] = i
	}
	for _, path := range conflicts {
		if i, known := at[path]; known {
			files[i].State = "conflicted"
		} else {
			files = append(files, chat.RepoEntry{Path: path, State: "conflicted"})
		}
	}
	return files, cut, nil
}

// addUntracked adds the untracked files with their lines; each, unless nil, is given their contents.
func (s *standIn) addUntracked(files []chat.RepoEntry, untracked []string, left *lefts, each func(string, content)) ([]chat.RepoEntry, error) {
	if len(untracked) == 0 {
		return files, nil
	}
	r, err := newReader(s.repo.dir)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, f := range files {
		at[f.Path] = i
	}
	nested := 0
	for _, name := range untracked {
		if strings.HasSuffix(name, "/") {
			nested++
			continue
		}
		c, ok := r.read(name)
		if !ok {
			continue
		}
		if each != nil {
			each(name, c)
		}
		// A file that was only taken out of the index is still there.
		if i, known := at[name]; known {
			files[i].State, files[i].Additions, files[i].Binary = "modified", c.lines, files[i].Binary || c.binary
			continue
		}
		files = append(files, chat.RepoEntry{Path: name, State: "untracked", Additions: c.lines, Binary: c.binary})
	}
	left.say(r.skipped > 0, fmt.Sprintf("The lines of %d untracked files are not counted: they are too large.", r.skipped))
	left.say(nested > 0, fmt.Sprintf("%d repositories inside it are not looked into.", nested))
	return files, r.close()
}
