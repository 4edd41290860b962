package agentside

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestChangesAreTold: a successful write, edit or removal and the end of a command touch the feed and the report; nothing else does.
func TestChangesAreTold(t *testing.T) {
	h := newHouse(t)
	h.changes.trees.Close()
	told := make(chan chat.WorkspaceID, 100)
	h.OnChange(func(id chat.WorkspaceID) { told <- id })
	dir := filepath.Join(h.top, "home/work")
	ws, err := h.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.Open(t.Context(), chat.WorkspaceRecord{ID: "w2", Kind: chat.WorkspaceLocal, Directory: filepath.Join(h.top, "other")})
	if err != nil {
		t.Fatal(err)
	}
	touched, stop := ws.Git().Watch()
	elsewhere, stopOther := other.Git().Watch()
	defer stopOther()
	files := ws.Files()
	hash := ""
	write := func(req chat.WriteRequest) error {
		w, err := files.Write(t.Context(), req)
		if err == nil && !req.DryRun {
			hash = w.Hash
		}
		return err
	}
	edit := func(search string, dry bool) error {
		_, err := files.Edit(t.Context(), chat.EditRequest{DryRun: dry, Files: []chat.FileEdits{{Path: "a", Edits: []chat.TextEdit{{Search: search, Replace: "b"}}}}})
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
		want int
	}{
		{"a dry write", func() error { return write(chat.WriteRequest{Path: "a", Content: []byte("a"), DryRun: true}) }, 0},
		{"a write", func() error { return write(chat.WriteRequest{Path: "a", Content: []byte("a")}) }, 1},
		{"the same again", func() error { return write(chat.WriteRequest{Path: "a", Content: []byte("a")}) }, 0},
		{"a dry edit", func() error { return edit("a", true) }, 0},
		{"an edit", func() error { return edit("a", false) }, 1},
		{"a read", func() error { _, err := files.Raw(t.Context(), "a", 0); return err }, 0},
		{"a write back", func() error { return write(chat.WriteRequest{Path: "a", Content: []byte("c")}) }, 1},
		{"a removal", func() error { return write(chat.WriteRequest{Path: "a", IfMatch: hash, Remove: true}) }, 1},
		{"a command", func() error {
			if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "beside1", Command: "echo; echo"}); err != nil {
				return err
			}
			<-touched
			_, err := ws.Processes().Output(t.Context(), "", "beside1", 0, time.Minute)
			return err
		}, 1},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.name == "a command" {
			if id := <-told; id != "w1" {
				t.Errorf("told of %s", id)
			}
			continue
		}
		if len(told) != step.want || len(touched) != step.want {
			t.Errorf("%s: told %d times, touched %d times, want %d", step.name, len(told), len(touched), step.want)
		}
		for len(told) > 0 {
			if id := <-told; id != "w1" {
				t.Errorf("%s: told of %s", step.name, id)
			}
		}
		for len(touched) > 0 {
			<-touched
		}
	}
	if len(elsewhere) > 0 {
		t.Error("another Workspace was touched")
	}
	if stop(); write(chat.WriteRequest{Path: "a", Content: []byte("d")}) != nil || len(touched) > 0 {
		t.Error("touched after the end of the subscription, or not written")
	}
}

// TestAnEditOnDiskIsTold: whoever changes a file, an open Workspace tells of it, until it is stopped.
func TestAnEditOnDiskIsTold(t *testing.T) {
	h := newHouse(t)
	told := make(chan chat.WorkspaceID, 100)
	h.OnChange(func(id chat.WorkspaceID) { told <- id })
	dir := filepath.Join(h.top, "home/work")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "src/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	rec := chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir}
	ws, err := h.Open(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	<-told
	touched, stop := ws.Git().Watch()
	defer stop()
	write("src/deep/a.go", "package a")
	if id := <-told; id != "w1" {
		t.Errorf("told of %s", id)
	}
	<-touched
	if err := h.Stop(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	// Opened again, it is followed again.
	<-told
}

func TestGitOfAWorkspace(t *testing.T) {
	h := newHouse(t)
	dir := filepath.Join(h.top, "home/work")
	ws, err := h.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := ws.Files().Write(t.Context(), chat.WriteRequest{Path: "a", Content: []byte("1\n2\n")}); err != nil {
		t.Fatal(err)
	}
	all, err := ws.Git().Status(t.Context())
	if err != nil || chat.DiffStatusOf(all) != (chat.DiffStatus{Additions: 2, Files: 1, Branch: "main"}) {
		t.Errorf("got %+v, %v", all, err)
	}
}
