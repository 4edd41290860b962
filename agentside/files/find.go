package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// Limits of one search.
const (
	findTime    = 10 * time.Second
	maxListing  = 1000
	maxNames    = 500
	maxMatches  = 200
	maxPerFile  = 20
	maxFileGrep = 2 << 20
	maxDepth    = 64
	maxInDir    = 20_000
)

var skippedDirs = []string{".git", ".hg", ".svn", "node_modules", "vendor", "target", "dist", "build", ".venv", "__pycache__"}

// Find lists a directory, or searches names or contents below it. Links are never followed. A path that is asked for itself is
// searched even where a search from above would leave it out.
func (f *Files) Find(ctx context.Context, q chat.FindQuery) (chat.Found, error) {
	p, err := f.locate(q.Path)
	if err != nil {
		return chat.Found{}, err
	}
	defer p.close()
	if p.info == nil {
		return chat.Found{}, refuse("not_found", p.shown, "There is no file or directory %s.", p.shown)
	}
	// Names below the temporary root are what keeps Chats apart.
	if p.temp && (p.info.IsDir() || q.Kind != chat.FindContent) {
		return chat.Found{}, outside(p.shown)
	}
	w := &walk{files: f, place: p, query: q, until: f.now().Add(findTime)}
	if err := w.prepare(); err != nil {
		return chat.Found{}, err
	}
	err = w.run(ctx)
	if ctx.Err() != nil {
		return chat.Found{}, interrupted(p.shown)
	}
	if err != nil && !errors.Is(err, errStopped) {
		return chat.Found{}, err
	}
	w.found.Incomplete = w.left.String()
	return w.found, nil
}

// errStopped ends a walk that has enough; left says why.
var errStopped = errors.New("stopped")

// walk is one search on its way through the tree.
type walk struct {
	files *Files
	place *place
	query chat.FindQuery
	until time.Time

	glob  *glob
	grep  *grep
	limit int
	depth int
	found chat.Found
	left  left
}

func (w *walk) prepare() error {
	q := w.query
	limits := map[chat.FindKind]int{chat.FindList: maxListing, chat.FindName: maxNames, chat.FindContent: maxMatches}
	most, known := limits[q.Kind]
	if !known {
		return refuse("invalid", q.Path, "The kind of search %q is not known.", q.Kind)
	}
	w.limit = q.Limit
	if w.limit <= 0 || w.limit > most {
		w.limit = most
	}
	w.depth = maxDepth
	pattern := q.Glob
	if q.Kind == chat.FindList {
		w.depth = min(q.Depth, 5)
		if q.Depth < 1 {
			w.depth = 2
		}
	}
	if q.Kind == chat.FindName {
		pattern = q.Pattern
	}
	if pattern != "" || q.Kind == chat.FindName {
		g, err := newGlob(pattern, q.IgnoreCase)
		if err != nil {
			return refuse("invalid", q.Path, "The glob %q cannot be used: %v.", pattern, err)
		}
		w.glob = g
	}
	if q.Kind == chat.FindContent {
		g, err := newGrep(q)
		if err != nil {
			return refuse("invalid", q.Path, "The pattern %q is not a regular expression that can be used (RE2 syntax): %v.", q.Pattern, err)
		}
		w.grep = g
	}
	return nil
}

func (w *walk) run(ctx context.Context) error {
	start := filepath.ToSlash(w.place.rel)
	if !w.place.info.IsDir() {
		// A file that is asked for itself is not filtered by its name.
		w.glob = nil
		return w.visit(ctx, start, w.place.info.Mode())
	}
	ignore := w.ignoreAbove(ctx, start)
	return w.directory(ctx, start, ignore, 1)
}

// ignoreAbove collects the .gitignore files of the directories above the start; its own comes with the walk.
func (w *walk) ignoreAbove(ctx context.Context, start string) []*ignoreFile {
	if start == "." {
		return nil
	}
	ignore := w.ignoreIn(ctx, nil, ".")
	names := strings.Split(start, "/")
	for i := 1; i < len(names); i++ {
		ignore = w.ignoreIn(ctx, ignore, path.Join(names[:i]...))
	}
	return ignore
}

// directory visits what is in a directory, in name order.
func (w *walk) directory(ctx context.Context, dir string, ignore []*ignoreFile, depth int) error {
	entries, err := w.entries(dir)
	if err != nil {
		if depth == 1 {
			return osRefusal(w.place.shown, "list", err)
		}
		w.left.unreadable++
		return nil
	}
	ignore = w.ignoreIn(ctx, ignore, dir)
	for _, entry := range entries {
		if err := w.stop(ctx); err != nil {
			return err
		}
		name := path.Join(dir, entry.Name())
		if w.place.refuses(filepath.FromSlash(name)) {
			w.left.refused++
			continue
		}
		ignored := ignores(ignore, name, entry.IsDir())
		skipped := entry.IsDir() && slices.Contains(skippedDirs, entry.Name())
		// A list shows what is there; only what lies below is left out.
		if w.query.Kind == chat.FindList || !ignored && !skipped {
			if err := w.visit(ctx, name, entry.Type()); err != nil {
				return err
			}
		}
		if !entry.IsDir() {
			if ignored && w.query.Kind != chat.FindList {
				w.left.ignored++
			}
			continue
		}
		if depth == w.depth {
			w.left.deeper = w.left.deeper || w.query.Kind != chat.FindList
			continue
		}
		if skipped {
			w.left.dir(entry.Name())
			continue
		}
		if ignored {
			w.left.ignored++
			continue
		}
		if err := w.directory(ctx, name, ignore, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) stop(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if w.files.now().After(w.until) {
		w.left.late = true
		return errStopped
	}
	return nil
}

// entries reads a directory. What was a directory a moment ago may be a pipe by now, so it is opened without blocking.
func (w *walk) entries(dir string) ([]fs.DirEntry, error) {
	file, err := w.place.root.OpenFile(filepath.FromSlash(dir), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(maxInDir)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) == maxInDir {
		w.left.crowded++
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// visit adds an entry, or the matches in a file.
func (w *walk) visit(ctx context.Context, name string, mode fs.FileMode) error {
	if w.glob != nil && !w.glob.match(name, w.fromStart(name)) {
		return nil
	}
	if w.query.Kind == chat.FindContent {
		if mode.IsRegular() {
			return w.search(ctx, name)
		}
		return nil
	}
	if len(w.found.Entries) == w.limit {
		w.left.full = fmt.Sprintf("stopped after %d entries", w.limit)
		return errStopped
	}
	entry := chat.FileEntry{Path: name, Type: "other"}
	switch {
	case mode.IsDir():
		entry.Type = "dir"
	case mode&fs.ModeSymlink != 0:
		entry.Type, entry.Target = "link", w.target(name)
	case mode.IsRegular():
		entry.Type = "file"
		info, err := w.place.root.Lstat(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			w.left.unreadable++
			return nil
		}
		entry.Size = info.Size()
	}
	w.found.Entries = append(w.found.Entries, entry)
	return nil
}

func (w *walk) fromStart(name string) string {
	start := filepath.ToSlash(w.place.rel)
	if start == "." {
		return name
	}
	return strings.TrimPrefix(name, start+"/")
}

// target is where a link leads, when that is inside the Workspace.
func (w *walk) target(name string) string {
	link := &place{root: w.place.root, dir: w.place.dir, shown: name, refused: w.place.refused}
	if link.follow(filepath.FromSlash(name)) != nil {
		return ""
	}
	return filepath.ToSlash(link.rel)
}
