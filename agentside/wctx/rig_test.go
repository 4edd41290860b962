package wctx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// late is how long a test waits for what must come; it is never waited for when all is well.
const late = 60 * time.Second

// tree makes files below a new real directory: "-> x" is a link to x, a name with a slash at its end a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	grow(t, dir, files)
	return dir
}

func grow(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			check(t, os.MkdirAll(at, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			check(t, os.Symlink(target, at))
			continue
		}
		check(t, os.WriteFile(at, []byte(content), 0o644))
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newResolver(t testing.TB) *resolver {
	t.Helper()
	return &resolver{disk: realDisk(), names: newNames(func(string) string { return "" }, nil), caps: Caps{}.orDefault(), key: []byte("0123456789abcdef0123456789abcdef")}
}

// resolved reads roots with the defaults.
func resolved(t testing.TB, r *resolver, roots ...root) body {
	t.Helper()
	b, err := r.resolve(t.Context(), roots, nil)
	check(t, err)
	return b
}

// said writes Resources as "status kind path" with the paths from dir.
func said(b body, dir string) []string {
	out := []string{}
	for _, r := range b.resources {
		path := strings.TrimPrefix(strings.TrimPrefix(r.Source, filepath.ToSlash(dir)), "/")
		out = append(out, string(r.Status)+" "+string(r.Kind)+" "+path)
	}
	return out
}

func wantSaid(t *testing.T, b body, dir string, want ...string) {
	t.Helper()
	if got := said(b, dir); !slices.Equal(got, slices.Sorted(slices.Values(want))) && !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("got %q, want %q; problems %q", got, want, b.problems)
	}
}

func find(t testing.TB, list []chat.Resource, suffix string) chat.Resource {
	t.Helper()
	for _, r := range list {
		if strings.HasSuffix(r.Source, suffix) {
			return r
		}
	}
	t.Fatalf("there is no resource %q in %v", suffix, list)
	return chat.Resource{}
}

// skillFile is a skill of this name.
func skillFile(name string) string {
	return "---\nname: " + name + "\ndescription: does " + name + "\n---\n# " + name + "\n"
}

// running is a Manager that runs; the end of the test checks that nothing of it is left.
func running(t *testing.T, o Options) *Manager {
	t.Helper()
	m := New(o)
	run(t, m)
	return m
}

func run(t *testing.T, m *Manager) {
	t.Helper()
	before := runtime.NumGoroutine()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(context.Background()) }()
	t.Cleanup(func() {
		m.Close()
		if err := <-ended; err != nil && !errors.Is(err, ErrRunning) {
			t.Errorf("run ended with %v", err)
		}
		for until := time.Now().Add(late); time.Now().Before(until); runtime.Gosched() {
			if runtime.NumGoroutine() <= before {
				return
			}
		}
		stack := make([]byte, 1<<16)
		t.Errorf("goroutines are left:\n%s", stack[:runtime.Stack(stack, true)])
	})
}

// until waits for a Snapshot that is as wanted.
func until(t *testing.T, m *Manager, what string, ok func(chat.Snapshot) bool) chat.Snapshot {
	t.Helper()
	changed, end := m.Watch()
	defer end()
	timeout := time.After(late)
	for {
		if s := m.Snapshot(); ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("never: %s; the snapshot is %+v", what, m.Snapshot())
		}
	}
}

// holds gives a condition: the Snapshot has an ok Resource with this payload.
func holdsText(text string) func(chat.Snapshot) bool {
	return func(s chat.Snapshot) bool {
		return slices.ContainsFunc(s.Resources, func(r chat.Resource) bool { return strings.Contains(string(r.Payload), text) })
	}
}
