package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// TestChatsOfAWorkspaceShareACache: what a confined command keeps to make anew is there for another Chat of the Workspace, for another
// Workspace of the same folder it is not, and what may only read puts nothing there.
func TestChatsOfAWorkspaceShareACache(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !box.Confines(chat.ProfileWorkspace) {
		level, reason := box.Level()
		t.Logf("this machine measures %s: %s", level, reason)
		return
	}
	b := newBench(t)
	b.manager.opts.Sandbox, b.manager.caches = box, caches{realDir(t)}
	other := b.manager.Scope("w2", b.dir, Confinement{Profile: chat.ProfileWorkspace})
	own := b.manager.Scope("w1", b.dir, Confinement{Profile: chat.ProfileWorkspace})
	run := func(s *Scope, req chat.ProcessStart) string {
		t.Helper()
		req.ID = b.id()
		if _, err := s.Start(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		out, err := s.Output(t.Context(), req.ChatID, req.ID, 0, time.Minute)
		if err != nil || out.Running {
			t.Fatalf("%+v, %v", out, err)
		}
		return strings.TrimSpace(out.Output)
	}
	const look = `cat "$XDG_CACHE_HOME/made" "$npm_config_cache/made" 2>&1`
	run(own, chat.ProcessStart{ChatID: "c1", Command: `mkdir "$npm_config_cache"; echo one >"$XDG_CACHE_HOME/made"; echo two >"$npm_config_cache/made"`})
	if got := run(own, chat.ProcessStart{ChatID: "c2", Command: look}); got != "one\ntwo" {
		t.Errorf("another chat: %q", got)
	}
	if got := run(other, chat.ProcessStart{ChatID: "c1", Command: look}); strings.Contains(got, "one") {
		t.Errorf("another workspace: %q", got)
	}
	path := filepath.Join(b.manager.caches.root, "w1", "made")
	run(other, chat.ProcessStart{ChatID: "c1", Command: "cat " + path + "; echo bad >>" + path})
	run(own, chat.ProcessStart{ChatID: "c1", Command: "echo bad >>" + path, ReadOnly: true})
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\n" {
		t.Errorf("the cache holds %q, %v", text, err)
	}
	b.manager.ForgetCache("w1")
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("a forgotten cache is there: %v", err)
	}
}

// TestOldCachesGo: at the start those go that no command used for long, also with directories that may only be read.
func TestOldCachesGo(t *testing.T) {
	root, now := realDir(t), time.Now()
	c := caches{root}
	for id, age := range map[chat.WorkspaceID]time.Duration{"new": cacheAge - time.Hour, "old": cacheAge + time.Hour} {
		dir, err := c.of(id, now)
		if err != nil {
			t.Fatal(err)
		}
		locked := filepath.Join(dir, "locked")
		if err := os.Mkdir(locked, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(locked, "file"), nil, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(locked, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(locked, 0o700) })
		if _, err := c.of(id, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.of("../out", now); err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), Options{Caches: root})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(t.Context())
	all, err := os.ReadDir(root)
	if err != nil || !slices.EqualFunc(all, []string{"new"}, func(d fs.DirEntry, name string) bool { return d.Name() == name }) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(root), "out")); !os.IsNotExist(err) {
		t.Errorf("an id led out: %v", err)
	}
}
