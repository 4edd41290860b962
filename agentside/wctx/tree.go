package wctx

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"holdfast/engine/chat"
)

// TreeOptions say how Trees watch; zero is the default.
type TreeOptions struct {
	Timing Timing
	// Skip are base names of directories that nobody looks into. Of .git only what stands right in it is watched.
	Skip []string
	// Most is how many directories of one tree are watched, the upper ones first.
	Most int
	Log  *slog.Logger
	// build makes the notifier; tests bend it.
	build func() (notifier, error)
}

// mostDirs is how many directories of one tree are watched by default.
const mostDirs = 2000

// skipped are the directories that programs fill.
var skipped = []string{".hg", ".svn", "node_modules", "target", "dist", "build", ".venv", "__pycache__"}

// Trees tell of any change of files below directories, whoever made it. All of them share one notifier, which is made for the first.
// What is too deep, too much or skipped is not seen: who looks reads anew anyway.
type Trees struct {
	o    TreeOptions
	wake chan struct{}
	stop chan struct{}
	run  sync.Once
	done sync.WaitGroup

	// mu guards wanted and closed.
	mu     sync.Mutex
	wanted map[string]*wantedTree
	closed bool
}

type wantedTree struct {
	dir     string
	touched func()
}

// NewTrees watches nothing yet.
func NewTrees(o TreeOptions) *Trees {
	o.Timing = o.Timing.orDefault()
	o.Most = cmp.Or(o.Most, mostDirs)
	if o.Skip == nil {
		o.Skip = skipped
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.build == nil {
		o.build = realNotifier
	}
	return &Trees{o: o, wake: make(chan struct{}, 1), stop: make(chan struct{}), wanted: map[string]*wantedTree{}}
}

// Follow watches a directory, which is real, under a name of the caller's. touched is called once when the watching begins and then
// after changes; it must not wait. The same name with another directory replaces the first.
func (t *Trees) Follow(name, dir string, touched func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.wanted[name]; t.closed || old != nil && old.dir == dir {
		return
	}
	t.wanted[name] = &wantedTree{dir: dir, touched: touched}
	t.run.Do(func() { t.done.Go(t.loop) })
	ring(t.wake)
}

// Forget ends the watching under a name.
func (t *Trees) Forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wanted, name)
	ring(t.wake)
}

// Close ends all watching and waits for it.
func (t *Trees) Close() {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.mu.Unlock()
	if first {
		close(t.stop)
	}
	t.done.Wait()
}

// grove is what the loop of Trees watches. Only the loop has it.
type grove struct {
	o        TreeOptions
	notifier notifier
	trees    map[string]*followed
	// timer fires when the first touch is due.
	timer *time.Timer
	// poor: the system had no more watches.
	poor bool
}

// followed is one directory with what of it is watched.
type followed struct {
	*wantedTree
	dirs map[string]bool
	// first is when the oldest change was heard that nobody was told of, due when they are; zero for none.
	first, due time.Time
}

func (t *Trees) loop() {
	n, err := t.o.build()
	if err != nil {
		t.o.Log.Warn("changes of files are not seen by themselves", chat.LogError, err)
		<-t.stop
		return
	}
	g := &grove{o: t.o, notifier: n, trees: map[string]*followed{}, timer: time.NewTimer(time.Hour)}
	g.timer.Stop()
	defer func() {
		g.timer.Stop()
		if err := n.close(); err != nil {
			t.o.Log.Warn("the watcher of files did not close", chat.LogError, err)
		}
	}()
	for {
		select {
		case <-t.stop:
			return
		case <-t.wake:
			t.mu.Lock()
			wanted := make(map[string]*wantedTree, len(t.wanted))
			for name, w := range t.wanted {
				wanted[name] = w
			}
			t.mu.Unlock()
			g.want(wanted)
		case e, ok := <-n.events:
			if !ok {
				return
			}
			g.hear(e)
		case err, ok := <-n.errors:
			if !ok {
				return
			}
			g.trouble(err)
		case <-g.timer.C:
			g.tell(time.Now())
		}
	}
}

// want makes the trees those that are wanted.
func (g *grove) want(wanted map[string]*wantedTree) {
	for name, t := range g.trees {
		// One that was forgotten and is wanted again begins anew.
		if wanted[name] != t.wantedTree {
			delete(g.trees, name)
			g.release(t.dirs)
		}
	}
	for name, w := range wanted {
		if g.trees[name] == nil {
			t := &followed{wantedTree: w, dirs: map[string]bool{}}
			g.trees[name] = t
			g.grow(t, w.dir)
			w.touched()
		}
	}
}

// grow watches a directory and those below it, the upper ones first. Links are not followed.
func (g *grove) grow(t *followed, dir string) {
	for todo := []string{dir}; len(todo) > 0 && len(t.dirs) < g.o.Most; todo = todo[1:] {
		at := todo[0]
		if err := g.notifier.add(at); err != nil {
			if exhausted(err) {
				if !g.poor {
					g.o.Log.Warn("the system has no more watches; not all changes of files are seen by themselves", chat.LogDirectory, t.dir)
				}
				g.poor = true
				return
			}
			continue
		}
		t.dirs[at] = true
		if filepath.Base(at) == ".git" {
			continue
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && !slices.Contains(g.o.Skip, e.Name()) {
				todo = append(todo, filepath.Join(at, e.Name()))
			}
		}
	}
}

// release gives watches back that no tree needs any more.
func (g *grove) release(dirs map[string]bool) {
	for dir := range dirs {
		needed := false
		for _, t := range g.trees {
			needed = needed || t.dirs[dir]
		}
		if needed {
			continue
		}
		if err := g.notifier.remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			g.o.Log.Debug("a watch was not given back", chat.LogDirectory, dir, chat.LogError, err)
		}
	}
	g.poor = false
}

// hear notes a change for the trees that it is in, and follows directories that come and go.
func (g *grove) hear(e fsnotify.Event) {
	dir := filepath.Dir(e.Name)
	for _, t := range g.trees {
		if !t.dirs[dir] && !t.dirs[e.Name] {
			continue
		}
		g.touch(t)
		switch {
		case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
			g.prune(t, e.Name)
		case e.Has(fsnotify.Create) && filepath.Base(dir) != ".git" && !slices.Contains(g.o.Skip, filepath.Base(e.Name)):
			if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
				g.grow(t, e.Name)
			}
		}
	}
}

// prune forgets a directory that is gone, and those below it.
func (g *grove) prune(t *followed, dir string) {
	gone := map[string]bool{}
	for d := range t.dirs {
		if _, in := below(dir, d); in {
			gone[d] = true
			delete(t.dirs, d)
		}
	}
	g.release(gone)
}

// trouble reads everything anew when changes were lost.
func (g *grove) trouble(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		g.o.Log.Warn("watching files", chat.LogError, err)
		return
	}
	for _, t := range g.trees {
		g.grow(t, t.dir)
		g.touch(t)
	}
}

// touch has a tree told of when it is quiet for a while, but not too late.
func (g *grove) touch(t *followed) {
	now := time.Now()
	if t.first.IsZero() {
		t.first = now
	}
	t.due = now.Add(g.o.Timing.Debounce)
	if last := t.first.Add(g.o.Timing.Longest); t.due.After(last) {
		t.due = last
	}
	g.plan(now)
}

// plan sets the timer to what is due first.
func (g *grove) plan(now time.Time) {
	var first time.Time
	for _, t := range g.trees {
		if !t.due.IsZero() && (first.IsZero() || t.due.Before(first)) {
			first = t.due
		}
	}
	if !first.IsZero() {
		g.timer.Reset(max(first.Sub(now), 0))
	}
}

// tell tells of what is due, in the order of being due.
func (g *grove) tell(now time.Time) {
	var due []*followed
	for _, t := range g.trees {
		if !t.due.IsZero() && !t.due.After(now) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *followed) int { return a.due.Compare(b.due) })
	for _, t := range due {
		t.first, t.due = time.Time{}, time.Time{}
		t.touched()
	}
	g.plan(now)
}
