package agentside

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

type house struct {
	*Workspaces
	top  string
	data string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	before := runtime.NumGoroutine()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{top: top, data: filepath.Join(top, "home", ".data")}
	for _, dir := range []string{"home/work", "other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.Workspaces, err = New(t.Context(), Options{Data: h.data, Temp: filepath.Join(top, "cache", "chats")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
		for late := time.Now().Add(10 * time.Second); time.Now().Before(late); runtime.Gosched() {
			if runtime.NumGoroutine() <= before {
				return
			}
		}
		if n := runtime.NumGoroutine(); n > before {
			stack := make([]byte, 1<<16)
			t.Errorf("%d goroutines before, %d after:\n%s", before, n, stack[:runtime.Stack(stack, true)])
		}
	})
	return h
}

func kindOf(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestResolve(t *testing.T) {
	h := newHouse(t)
	work := filepath.Join(h.top, "home/work")
	for link, target := range map[string]string{"link": work, "datalink": h.data, "loop": filepath.Join(h.top, "loop")} {
		if err := os.Symlink(target, filepath.Join(h.top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(h.top, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(h.data, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(h.top, "home"))
	for dir, want := range map[string]string{work: work, work + "/": work, " " + work + " ": work, work + "/../work": work, h.top + "/link": work,
		"~/work": work, h.top + "/other": h.top + "/other"} {
		if got, err := h.Resolve(t.Context(), dir); err != nil || got != want {
			t.Errorf("%q: %q %v", dir, got, err)
		}
	}
	for dir, says := range map[string]string{
		"": "give the path", "work": "absolute", "./work": "absolute", "../x": "absolute", "a\x00b": "absolute", h.top + "/none": "no directory", h.top + "/file": "not a directory",
		h.top + "/loop": "cannot be reached", "/": "root of the file system", "/..": "root of the file system",
		h.data: "own directory", h.data + "/inner": "own directory", h.top + "/datalink": "own directory", h.top + "/home": "own directory", "~": "own directory",
		h.top: "own directory", h.top + "/cache": "own directory", h.top + "/cache/chats": "own directory",
	} {
		got, err := h.Resolve(t.Context(), dir)
		if kindOf(err) != chat.KindInvalid || got != "" {
			t.Errorf("%q: %q %v", dir, got, err)
			continue
		}
		var e *chat.Error
		if errors.As(err, &e); !strings.Contains(e.Detail, says) || len(e.Validations) != 1 || e.Validations[0].Field != "directory" {
			t.Errorf("%q: no %q in %q", dir, says, e.Detail)
		}
	}
}

func TestOpen(t *testing.T) {
	h := newHouse(t)
	dir := filepath.Join(h.top, "home/work")
	rec := chat.WorkspaceRecord{ID: "w1", Name: "work", Kind: chat.WorkspaceLocal, Directory: dir, CreatedAt: time.Now()}
	a, err := h.Open(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	again := rec
	again.CreatedAt = rec.CreatedAt.UTC().Round(0)
	if b, err := h.Open(t.Context(), again); err != nil || a != b {
		t.Error("the same record gave another Workspace", err)
	}
	if _, err := a.Processes().Start(t.Context(), chat.ProcessStart{ID: "beside1", ChatID: "c1", Command: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	rec.Trusted = true
	c, err := h.Open(t.Context(), rec)
	if err != nil || c == a {
		t.Error("a changed record is not seen", err)
	}
	if list, err := c.Processes().List(t.Context(), "c1"); err != nil || len(list) != 1 {
		t.Error("the processes are not the same", list, err)
	}
	other := chat.WorkspaceRecord{ID: "w2", Kind: chat.WorkspaceLocal, Directory: filepath.Join(h.top, "other")}
	d, err := h.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := d.Processes().List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Error("another Workspace shows them", list, err)
	}
	for _, c := range []struct {
		rec  chat.WorkspaceRecord
		kind chat.Kind
	}{
		{chat.WorkspaceRecord{ID: "x", Kind: "remote", Directory: dir}, chat.KindInvalid},
		{chat.WorkspaceRecord{ID: "x", Kind: chat.WorkspaceLocal, Directory: h.top + "/gone"}, chat.KindNotFound},
		{chat.WorkspaceRecord{ID: "x", Kind: chat.WorkspaceLocal, Directory: h.data}, chat.KindInvalid},
	} {
		if _, err := h.Open(t.Context(), c.rec); kindOf(err) != c.kind {
			t.Errorf("%+v: %v", c.rec, err)
		}
	}
	if err := errors.Join(os.Remove(other.Directory), os.Symlink("/etc", other.Directory)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), other); kindOf(err) != chat.KindInvalid {
		t.Error("a link in the directory's place was followed:", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), rec); kindOf(err) != chat.KindStopping {
		t.Error(err)
	}
	if out, err := c.Processes().Output(t.Context(), "c1", "beside1", 0, 0); err != nil || out.Running {
		t.Error("a process outlived Close", err)
	}
}

// TestWholeOutputCanBeRead: the file that a cut output names is read through the Workspace, and removed with its Chat.
func TestWholeOutputCanBeRead(t *testing.T) {
	h := newHouse(t)
	w, err := h.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: filepath.Join(h.top, "other")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Processes().Start(t.Context(), chat.ProcessStart{ID: "beside1", ChatID: "c1", Command: "seq 20000"}); err != nil {
		t.Fatal(err)
	}
	out, err := w.Processes().Output(t.Context(), "c1", "beside1", 0, time.Minute)
	if err != nil || out.Log == "" || out.Running {
		t.Fatal(out.Log, err)
	}
	lines, err := w.Files().Lines(t.Context(), chat.LinesQuery{Path: out.Log, Offset: 12345, Limit: 1})
	if err != nil || lines.Content != "12345\t12345" || lines.TotalLines != 20000 {
		t.Error(lines.Content, lines.TotalLines, err)
	}
	if err := h.Forget("../.."); kindOf(err) != chat.KindNotFound {
		t.Error(err)
	}
	if err := h.Forget("c1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(out.Log)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("still there:", err)
	}
	if err := h.Forget("c1"); err != nil {
		t.Error("twice:", err)
	}
}

func TestNewNeedsItsDirectories(t *testing.T) {
	if _, err := New(t.Context(), Options{}); err == nil {
		t.Error("no data directory, and no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Options{Data: file, Temp: t.TempDir()}); err == nil {
		t.Error("a data directory that is a file, and no error")
	}
}

// TestTheSystemIsNoWorkspace: what the kernel shows as files holds the environment of the appliance.
func TestTheSystemIsNoWorkspace(t *testing.T) {
	h := newHouse(t)
	for _, dir := range []string{"/proc", "/proc/self", "/sys", "/sys/kernel", "/dev", "/proc/self/task/../.."} {
		if real, err := h.Resolve(t.Context(), dir); kindOf(err) != chat.KindInvalid {
			t.Errorf("%s: %q, %v", dir, real, err)
		}
	}
}
