package wctx

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
)

// surroundings are the directories whose changes matter for some roots, the most important first, and the files that links lead to.
type surroundings struct {
	dirs    []string
	targets map[string]bool
}

// surround finds them without opening a file.
func (r *resolver) surround(ctx context.Context, roots []root) (surroundings, error) {
	type ranked struct {
		dir        string
		root, rank int
	}
	var all []ranked
	out := surroundings{targets: map[string]bool{}}
	for i, one := range roots {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		w := walk{ctx: ctx, disk: r.disk, names: r.names, denied: r.denied, entries: r.caps.Entries, git: true,
			// The resolver tells what cannot be read.
			problem: func(string) {}}
		w.dir = func(how rank, dir string) { all = append(all, ranked{dir, i, int(how)}) }
		w.file = func(c candidate) {
			if dir, target := linkTarget(c); dir != "" {
				out.targets[target] = true
				w.dir(rankTarget, dir)
			}
		}
		if err := w.root(one); err != nil {
			return out, err
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.rank, b.rank)) })
	seen, children := map[string]bool{}, 0
	for _, d := range all {
		if seen[d.dir] {
			continue
		}
		if rank(d.rank) == rankChild || rank(d.rank) == rankGit {
			if children++; children > maxChildren {
				continue
			}
		}
		seen[d.dir] = true
		out.dirs = append(out.dirs, d.dir)
	}
	return out, nil
}

// linkTarget gives what a link inside its place leads to, and the directory in which it stands or would have to be made; "" for what is
// no link or leads out.
func linkTarget(c candidate) (dir, target string) {
	to, err := c.place.follow(c.at)
	if err != nil || !to.linked {
		return "", ""
	}
	for at := filepath.Dir(to.name); ; at = filepath.Dir(at) {
		if info, err := c.place.lstat(at); err == nil && info.IsDir() {
			return c.place.abs(at), c.place.abs(to.name)
		}
		if at == "." {
			return c.place.dir, c.place.abs(to.name)
		}
	}
}
