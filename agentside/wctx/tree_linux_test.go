package wctx

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// wood follows directories with the system's own notifier; added are those that were asked for, in order.
type wood struct {
	*Trees
	dir     string
	touched chan struct{}
	mu      sync.Mutex
	added   []string
	// room is how many watches there are, 0 for enough.
	room int
}

func newWood(t *testing.T, o TreeOptions, dirs ...string) *wood {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &wood{dir: top, touched: make(chan struct{}, 1)}
	for _, dir := range dirs {
		w.mkdir(t, dir)
	}
	o.Timing = Timing{Debounce: time.Millisecond, Longest: 50 * time.Millisecond}
	o.build = func() (notifier, error) {
		n, err := realNotifier()
		add := n.add
		n.add = func(dir string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.room > 0 && len(w.added) >= w.room {
				return syscall.ENOSPC
			}
			w.added = append(w.added, dir)
			return add(dir)
		}
		return n, err
	}
	w.Trees = NewTrees(o)
	t.Cleanup(w.Close)
	return w
}

func (w *wood) follow(t *testing.T) {
	t.Helper()
	w.Follow("w", w.dir, func() { ring(w.touched) })
	w.hears(t, "the beginning")
}

func (w *wood) mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (w *wood) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *wood) hears(t *testing.T, what string) {
	t.Helper()
	select {
	case <-w.touched:
	case <-time.After(time.Minute):
		t.Fatalf("%s was not told", what)
	}
}

// watched gives the directories that were asked for, below the top.
func (w *wood) watched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, dir := range w.added {
		rel, _ := filepath.Rel(w.dir, dir)
		out = append(out, rel)
	}
	return out
}

// TestAnEditByAnybodyIsTold: deep files, new directories, replaced files and a commit; what programs fill is not looked into.
func TestAnEditByAnybodyIsTold(t *testing.T) {
	w := newWood(t, TreeOptions{}, "src/deep/er", "node_modules/x", ".git/refs/heads")
	if err := os.Symlink(t.TempDir(), filepath.Join(w.dir, "out")); err != nil {
		t.Fatal(err)
	}
	w.write(t, "src/deep/er/a.go", "one")
	w.follow(t)
	if got := w.watched(); !slices.Equal(got, []string{".", ".git", "src", "src/deep", "src/deep/er"}) {
		t.Errorf("watched %v", got)
	}
	// Each change is told before the next is made, so that none is told of for another.
	for what, do := range map[string]func() error{
		"an edit deep down": func() error { return os.WriteFile(filepath.Join(w.dir, "src/deep/er/a.go"), []byte("two"), 0o644) },
		"a file put in place": func() error {
			w.write(t, "src/tmp", "x")
			w.hears(t, "a new file")
			return os.Rename(filepath.Join(w.dir, "src/tmp"), filepath.Join(w.dir, "src/b.go"))
		},
		"a removal":     func() error { return os.Remove(filepath.Join(w.dir, "src/deep/er/a.go")) },
		"another index": func() error { return os.WriteFile(filepath.Join(w.dir, ".git/index"), nil, 0o644) },
		"another mode":  func() error { return os.Chmod(filepath.Join(w.dir, "src"), 0o700) },
	} {
		w.quiet(t)
		if what == "a removal" {
			w.write(t, "src/deep/er/a.go", "three")
			w.hears(t, "the file of "+what)
			w.quiet(t)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		w.hears(t, what)
	}
	w.quiet(t)
	w.mkdir(t, "fresh/one")
	w.hears(t, "a new directory")
	w.until(t, "fresh/one")
	w.quiet(t)
	w.write(t, "fresh/one/c.go", "x")
	w.hears(t, "a file in a new directory")
	w.quiet(t)
	if err := os.RemoveAll(filepath.Join(w.dir, "fresh")); err != nil {
		t.Fatal(err)
	}
	w.hears(t, "a removed directory")
	w.mkdir(t, "fresh")
	w.hears(t, "a directory that is there again")
}

// quiet waits until what was done so far is told of, by a mark of its own in a tree of its own.
func (w *wood) quiet(t *testing.T) {
	t.Helper()
	mark, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{}, 1)
	name := "mark" + mark
	w.Follow(name, mark, func() { ring(told) })
	<-told
	if err := os.WriteFile(filepath.Join(mark, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Events come in their order, and what is due is told in the order of being due.
	<-told
	w.Forget(name)
	for len(w.touched) > 0 {
		<-w.touched
	}
}

func (w *wood) until(t *testing.T, dir string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !slices.Contains(w.watched(), dir); {
		if time.Now().After(late) {
			t.Fatalf("%s is not watched: %v", dir, w.watched())
		}
		w.hears(t, "what goes on around "+dir)
	}
}

// TestTheUpperDirectoriesAreWatchedFirst: a limit, of ours or the system's, costs what is deepest.
func TestTheUpperDirectoriesAreWatchedFirst(t *testing.T) {
	for name, set := range map[string]func(*wood, *TreeOptions){
		"ours":         func(_ *wood, o *TreeOptions) { o.Most = 4 },
		"the system's": func(w *wood, _ *TreeOptions) { w.room = 4 },
	} {
		var o TreeOptions
		set(&wood{}, &o)
		w := newWood(t, o, "a/deep", "b/deep", "c/deep")
		set(w, &o)
		w.follow(t)
		if got := w.watched(); !slices.Equal(got, []string{".", "a", "b", "c"}) {
			t.Errorf("%s: watched %v", name, got)
		}
		w.write(t, "c/x", "x")
		w.hears(t, name+": a change in what is watched")
	}
}

// TestTreesShareADirectory: what two names follow stays watched until both are forgotten; after the end nobody is told.
func TestTreesShareADirectory(t *testing.T) {
	w := newWood(t, TreeOptions{}, "inner")
	inner := make(chan struct{}, 1)
	w.Follow("inner", filepath.Join(w.dir, "inner"), func() { ring(inner) })
	<-inner
	w.follow(t)
	w.write(t, "inner/x", "1")
	<-inner
	w.hears(t, "a change for both")
	w.Forget("w")
	w.quiet(t)
	w.write(t, "inner/x", "2")
	<-inner
	if len(w.touched) > 0 {
		t.Error("who was forgotten was told")
	}
	w.Close()
	w.Close()
	w.Follow("late", w.dir, func() { t.Error("told after the end") })
	w.Forget("late")
}

// TestLostEventsCount: an overflow of the system's queue touches every tree; without a notifier nothing happens.
func TestLostEventsCount(t *testing.T) {
	errs := make(chan error, 1)
	told := make(chan struct{}, 1)
	trees := NewTrees(TreeOptions{Timing: Timing{Debounce: time.Millisecond}, build: func() (notifier, error) {
		return notifier{events: make(chan fsnotify.Event), errors: errs, add: func(string) error { return nil }, remove: func(string) error { return nil },
			close: func() error { return nil }}, nil
	}})
	trees.Follow("w", t.TempDir(), func() { ring(told) })
	<-told
	errs <- fmt.Errorf("lost: %w", fsnotify.ErrEventOverflow)
	<-told
	trees.Close()
	none := NewTrees(TreeOptions{build: func() (notifier, error) { return notifier{}, syscall.EMFILE }})
	none.Follow("w", t.TempDir(), func() { t.Error("told without a notifier") })
	none.Close()
}
