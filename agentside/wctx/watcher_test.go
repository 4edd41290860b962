package wctx

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"holdfast/engine/chat"
)

// rehearsal is a watcher whose notifier the test plays.
type rehearsal struct {
	*watcher
	events chan fsnotify.Event
	errors chan error
	// full makes add fail.
	full      atomic.Bool
	calls     atomic.Int32
	recovered atomic.Int32
	ended     sync.WaitGroup
}

func rehearse(t *testing.T, r *resolver, changed func()) *rehearsal {
	t.Helper()
	h := &rehearsal{events: make(chan fsnotify.Event), errors: make(chan error)}
	w, err := newWatcher(watchOptions{timing: Timing{}.orDefault(), surround: r.surround, log: slog.New(slog.DiscardHandler),
		relevant:  func(base string) bool { return r.names.kind(base) != "" },
		changed:   func() { h.calls.Add(1); changed() },
		recovered: func() { h.recovered.Add(1) },
		build: func() (notifier, error) {
			return notifier{events: h.events, errors: h.errors, close: func() error { return nil }, remove: func(string) error { return nil }, add: func(string) error {
				if h.full.Load() {
					return syscall.ENOSPC
				}
				return nil
			}}, nil
		}})
	check(t, err)
	h.watcher = w
	h.ended.Go(func() { w.run(context.Background()) })
	return h
}

func (h *rehearsal) end(t *testing.T) {
	t.Helper()
	check(t, h.Close())
	check(t, h.Close())
	h.ended.Wait()
}

func TestCase27Debounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		h := rehearse(t, newResolver(t), func() { at = append(at, time.Since(begin)) })
		edit := fsnotify.Event{Name: "/w/AGENTS.md", Op: fsnotify.Write}
		for range 10 {
			time.Sleep(20 * time.Millisecond)
			h.events <- edit
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(at) != 1 || at[0] != 450*time.Millisecond {
			t.Errorf("called at %v", at)
		}
		at, begin = nil, time.Now()
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			h.events <- edit
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(at) < 4 || at[0] != 2100*time.Millisecond {
			t.Errorf("called at %v", at)
		}
		h.end(t)
	})
}

func TestWhatIsRelevant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := rehearse(t, newResolver(t), func() {})
		h.state.targets = map[string]bool{"/w/docs/guide.md": true}
		for _, c := range []struct {
			name string
			op   fsnotify.Op
			want int32
		}{
			{"AGENTS.md", fsnotify.Write, 1}, {"AGENTS.md", fsnotify.Chmod, 1}, {"main.go", fsnotify.Write, 0}, {"main.go", fsnotify.Chmod, 0}, {"main.go", fsnotify.Create, 1}, {"main.go", fsnotify.Remove, 1},
			{"main.go", fsnotify.Rename, 1}, {"SKILL.md", fsnotify.Write, 1}, {".mcp.json", fsnotify.Write, 1}, {"docs/guide.md", fsnotify.Write, 1}, {"guide.md", fsnotify.Write, 0}, {"agents.md", fsnotify.Write, 0},
		} {
			h.calls.Store(0)
			h.events <- fsnotify.Event{Name: "/w/" + c.name, Op: c.op}
			time.Sleep(time.Second)
			synctest.Wait()
			if h.calls.Load() != c.want {
				t.Errorf("%s %s: %d calls", c.op, c.name, h.calls.Load())
			}
		}
		h.calls.Store(0)
		h.errors <- errors.New("something else")
		h.errors <- fsnotify.ErrEventOverflow
		time.Sleep(time.Second)
		synctest.Wait()
		if h.calls.Load() != 1 {
			t.Errorf("overflow: %d calls", h.calls.Load())
		}
		// Nothing is told after the end.
		h.events <- fsnotify.Event{Name: "/w/AGENTS.md", Op: fsnotify.Write}
		h.end(t)
		time.Sleep(time.Second)
		if h.calls.Load() != 1 {
			t.Error("called after the end")
		}
	})
}

func TestCase28NoNotifier(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x"})
	m := New(Options{Dir: dir})
	m.build = func() (notifier, error) { return notifier{}, errors.New("inotify is not there") }
	run(t, m)
	m.SetReady()
	s := until(t, m, "ready", func(s chat.Snapshot) bool { return s.Ready })
	if !strings.Contains(s.Error, "changes are not seen, refresh by hand: inotify is not there") {
		t.Errorf("%q", s.Error)
	}
	m.mu.Lock()
	w := m.state.watcher
	m.mu.Unlock()
	for range 100 {
		check(t, w.Sync(t.Context(), []root{{path: dir}}, 9))
	}
	if got := m.Snapshot(); got.Version != s.Version {
		t.Errorf("version %d", got.Version)
	}
	// By hand all works.
	check(t, os.WriteFile(dir+"/AGENTS.md", []byte("edited"), 0o644))
	if s, err := m.Resync(t.Context()); err != nil || !holdsText("edited")(s) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := newWatcher(watchOptions{build: realNotifier}); err == nil {
		t.Error("a watcher that tells nobody")
	}
}

func TestCase29NoMoreWatches(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "skills/a/SKILL.md": skillFile("a")})
	synctest.Test(t, func(t *testing.T) {
		h := rehearse(t, newResolver(t), func() {})
		roots := []root{{path: dir}}
		h.full.Store(true)
		check(t, h.Sync(t.Context(), roots, 1))
		if !strings.Contains(h.Reason(), "no more watches") || len(h.state.armed) != 0 {
			t.Errorf("%q, %v", h.Reason(), h.state.armed)
		}
		time.Sleep(16 * time.Minute)
		synctest.Wait()
		if h.calls.Load() != 0 || h.recovered.Load() != 0 {
			t.Error("a retry that changed nothing told somebody")
		}
		h.full.Store(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if h.Reason() != "" || h.recovered.Load() != 1 || h.calls.Load() != 0 || len(h.state.armed) != 3 {
			t.Errorf("%q, %d, %v", h.Reason(), h.recovered.Load(), h.state.armed)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if h.recovered.Load() != 1 {
			t.Error("it goes on after it recovered")
		}
		h.end(t)
	})
}

func TestCase29RoomAgain(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x"})
	m := New(Options{Dir: dir, Limits: Limits{Timing: Timing{Retry: 5 * time.Millisecond}}})
	var full atomic.Bool
	full.Store(true)
	m.build = func() (notifier, error) {
		n, err := realNotifier()
		add := n.add
		n.add = func(dir string) error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return add(dir)
		}
		return n, err
	}
	run(t, m)
	m.SetReady()
	until(t, m, "the reason", func(s chat.Snapshot) bool { return strings.Contains(s.Error, "no more watches") })
	check(t, os.WriteFile(dir+"/AGENTS.md", []byte("missed"), 0o644))
	full.Store(false)
	s := until(t, m, "what was missed", holdsText("missed"))
	if s.Error != "" {
		t.Errorf("%q", s.Error)
	}
	check(t, os.WriteFile(dir+"/AGENTS.md", []byte("seen"), 0o644))
	until(t, m, "the next edit", holdsText("seen"))
}

func TestAQuietPassThatFindsNothingNewIsNotPublished(t *testing.T) {
	m := New(Options{Dir: tree(t, map[string]string{"AGENTS.md": "x"})})
	m.SetReady()
	first, err := m.Resync(t.Context())
	check(t, err)
	if _, err := m.pass(t.Context(), true); err != nil || m.Snapshot().Version != first.Version {
		t.Errorf("version %d, %v", m.Snapshot().Version, err)
	}
	check(t, os.WriteFile(m.dir()+"/AGENTS.md", []byte("y"), 0o644))
	if _, err := m.pass(t.Context(), true); err != nil || m.Snapshot().Version != first.Version+1 {
		t.Errorf("version %d, %v", m.Snapshot().Version, err)
	}
	m.Close()
}

// TestNobodyIsWokenWhereNothingHappens: a watched Workspace that nobody touches is not looked at again, however long that is.
func TestNobodyIsWokenWhereNothingHappens(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "skills/a/SKILL.md": skillFile("a"), "p/.git/": ""})
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Dir: dir})
		m.build = func() (notifier, error) {
			return notifier{events: make(chan fsnotify.Event), errors: make(chan error), close: func() error { return nil }, remove: func(string) error { return nil },
				add: func(string) error { return nil }}, nil
		}
		looks := counting(m)
		ended := make(chan error, 1)
		go func() { ended <- m.Run(t.Context()) }()
		m.SetReady()
		synctest.Wait()
		before, version := looks(), m.Snapshot().Version
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if looks() != before || m.Snapshot().Version != version || before == 0 {
			t.Errorf("%d looks and version %d became %d and %d", before, version, looks(), m.Snapshot().Version)
		}
		m.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestCase30ASkillsDirectoryMadeAgain(t *testing.T) {
	dir := tree(t, map[string]string{"skills/a/SKILL.md": skillFile("a")})
	m := running(t, Options{Dir: dir})
	m.SetReady()
	until(t, m, "the skill", holdsText("does a"))
	check(t, os.RemoveAll(dir+"/skills"))
	grow(t, dir, map[string]string{"skills/b/SKILL.md": skillFile("b")})
	until(t, m, "the new skill", holdsText("does b"))
	check(t, os.WriteFile(dir+"/skills/b/SKILL.md", []byte(strings.Replace(skillFile("b"), "does b", "brews", 1)), 0o644))
	until(t, m, "its edit", holdsText("brews"))
}

// TestChangesAreSeen: real files, real notifier, one change after the other.
func TestChangesAreSeen(t *testing.T) {
	dir := tree(t, map[string]string{"repo/.git/": "", "docs/": "", "CLAUDE.md": "-> docs/guide.md", "later/x": ""})
	m := running(t, Options{Dir: dir})
	m.SetReady()
	until(t, m, "ready", func(s chat.Snapshot) bool { return s.Ready })
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"the target of a link", func() { grow(t, dir, map[string]string{"docs/guide.md": "made target"}) }},
		{"the target of a link is edited", func() { grow(t, dir, map[string]string{"docs/guide.md": "edited target"}) }},
		{"a file", func() { grow(t, dir, map[string]string{"AGENTS.md": "made file"}) }},
		{"a file replaced at once", func() {
			grow(t, dir, map[string]string{"tmp": "replaced file"})
			check(t, os.Rename(dir+"/tmp", dir+"/AGENTS.md"))
		}},
		{"a container in several steps", func() { grow(t, dir, map[string]string{".agents/skills/brew/SKILL.md": skillFile("brew")}) }},
		{"a skill more", func() { grow(t, dir, map[string]string{".agents/skills/tea/SKILL.md": skillFile("tea")}) }},
		{"a child project with a repository", func() { grow(t, dir, map[string]string{"repo/AGENTS.md": "made child"}) }},
		{"its edit", func() { grow(t, dir, map[string]string{"repo/AGENTS.md": "edited child"}) }},
		{"a new child project", func() {
			grow(t, dir, map[string]string{"tmp/AGENTS.md": "moved child"})
			check(t, os.Rename(dir+"/tmp", dir+"/fresh"))
		}},
	} {
		step.change()
		text := map[string]string{"the target of a link": "made target", "the target of a link is edited": "edited target", "a file": "made file", "a file replaced at once": "replaced file",
			"a container in several steps": "does brew", "a skill more": "does tea", "a child project with a repository": "made child", "its edit": "edited child", "a new child project": "moved child"}[step.name]
		until(t, m, step.name, holdsText(text))
	}
	if _, err := m.AddSource(t.Context(), dir+"/missing/deep"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Resync(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, os.Mkdir(dir+"/missing", 0o755))
	grow(t, dir, map[string]string{"missing/deep/AGENTS.md": "made source"})
	until(t, m, "a source that was missing", holdsText("made source"))
	check(t, os.Remove(dir+"/AGENTS.md"))
	until(t, m, "a removal", func(s chat.Snapshot) bool { return !holdsText("replaced file")(s) })
}

func TestSurroundings(t *testing.T) {
	files := map[string]string{"w/skills/a/SKILL.md": "x", "w/skills/b/": "", "w/.claude/": "", "w/docs/guide.md": "x", "w/CLAUDE.md": "-> docs/guide.md", "w/.cursorrules": "-> ../outside", "w/zz/AGENTS.md": "x",
		"w/git/.git/": "", "w/plain/x": "", "file/AGENTS.md": "x"}
	dir := tree(t, files)
	r := newResolver(t)
	got, err := r.surround(t.Context(), []root{{path: dir + "/file/AGENTS.md"}, {path: dir + "/none/at/all"}, {path: dir + "/w", children: true}})
	check(t, err)
	var rel []string
	for _, d := range got.dirs {
		name, err := filepath.Rel(dir, d)
		check(t, err)
		rel = append(rel, name)
	}
	if s := strings.Join(rel, " "); s != "file . w w/skills w/skills/a w/skills/b w/.claude w/docs w/zz w/git" || !got.targets[dir+"/w/docs/guide.md"] || len(got.targets) != 1 {
		t.Errorf("%s, %v", s, got.targets)
	}
	// 64 child projects, those with an instruction file first.
	many := map[string]string{}
	for i := range 60 {
		many[filepath.Join("a", "p"+string(rune('A'+i/26))+string(rune('a'+i%26)), ".git")] = "x"
		many[filepath.Join("a", "q"+string(rune('A'+i/26))+string(rune('a'+i%26)), "AGENTS.md")] = "x"
	}
	dir = tree(t, many)
	got, err = r.surround(t.Context(), []root{{path: dir + "/a", children: true}})
	check(t, err)
	if len(got.dirs) != 65 || !strings.Contains(got.dirs[60], "/qC") || !strings.Contains(got.dirs[61], "/pA") {
		t.Errorf("%d, %s, %s", len(got.dirs), got.dirs[60], got.dirs[61])
	}
}

func TestSyncOrder(t *testing.T) {
	a, b := tree(t, map[string]string{"x": ""}), tree(t, map[string]string{"x": ""})
	h := rehearse(t, newResolver(t), func() {})
	check(t, h.Sync(t.Context(), []root{{path: b}}, 2))
	check(t, h.Sync(t.Context(), []root{{path: a}}, 1))
	if !h.state.armed[b] || h.state.armed[a] {
		t.Errorf("an older call won: %v", h.state.armed)
	}
	check(t, h.Sync(t.Context(), []root{{path: a}}, 3))
	if h.state.armed[b] || !h.state.armed[a] {
		t.Errorf("%v", h.state.armed)
	}
	h.events <- fsnotify.Event{Name: a, Op: fsnotify.Remove}
	h.events <- fsnotify.Event{Name: a + "/x", Op: fsnotify.Chmod}
	h.mu.Lock()
	gone := !h.state.armed[a]
	h.mu.Unlock()
	if !gone {
		t.Error("a removed directory is still watched")
	}
	h.end(t)
	check(t, h.Sync(t.Context(), []root{{path: b}}, 4))
	if h.state.armed[b] {
		t.Error("armed after the end")
	}
}
