package agentside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// sink takes Snapshots.
type sink struct {
	pushed chan pushed
}

type pushed struct {
	id      chat.WorkspaceID
	s       chat.Snapshot
	initial bool
}

func (s *sink) Push(ctx context.Context, id chat.WorkspaceID, snapshot chat.Snapshot, initial bool) (bool, string, error) {
	select {
	case s.pushed <- pushed{id, snapshot, initial}:
		return true, "", nil
	case <-ctx.Done():
		return false, "", ctx.Err()
	}
}

func (s *sink) Changed(chat.WorkspaceID) {}

// anyone takes everything.
type anyone struct{}

func (anyone) Push(context.Context, chat.WorkspaceID, chat.Snapshot, bool) (bool, string, error) {
	return true, "", nil
}
func (anyone) Changed(chat.WorkspaceID) {}

// next waits for the next Snapshot.
func (s *sink) next(t *testing.T) pushed {
	t.Helper()
	select {
	case p := <-s.pushed:
		return p
	case <-time.After(time.Minute):
		t.Fatal("nothing was pushed")
	}
	return pushed{}
}

// TestAWorkspaceIsLookedAtWhenItIsSetUp: what a setup leaves half made is not read; the end of the setup, good or bad, opens the gate
// (case 19 where it is called).
func TestAWorkspaceIsLookedAtWhenItIsSetUp(t *testing.T) {
	h := newHouse(t)
	s := &sink{pushed: make(chan pushed, 10)}
	h.PushTo(s)
	dir := filepath.Join(h.top, "home/work")
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	rec := chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir, State: chat.WorkspaceSetup}
	open := func() chat.Context {
		t.Helper()
		w, err := h.Open(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		return w.(chat.ContextKeeper).Context()
	}
	live := open()
	if got, err := live.Resync(t.Context()); err != nil || got.Ready || got.Version != 0 || len(s.pushed) > 0 {
		t.Errorf("%+v, %v, %d pushed", got, err, len(s.pushed))
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("whole"), 0o644); err != nil {
		t.Fatal(err)
	}
	rec.State = chat.WorkspaceSetupFailed
	open()
	if got := s.next(t); got.s.Version != 1 || string(got.s.Resources[0].Payload) != "whole" {
		t.Errorf("%+v", got)
	}
}

func (h *house) work(t *testing.T, id chat.WorkspaceID) chat.ContextKeeper {
	t.Helper()
	w, err := h.Open(t.Context(), chat.WorkspaceRecord{ID: id, Kind: chat.WorkspaceLocal, Directory: filepath.Join(h.top, "home/work")})
	if err != nil {
		t.Fatal(err)
	}
	return w.(chat.ContextKeeper)
}

func TestContextOfAWorkspace(t *testing.T) {
	h := newHouse(t)
	guide := filepath.Join(h.top, "home/work/AGENTS.md")
	if err := os.WriteFile(guide, []byte("first"), 0o644); err != nil {
		t.Fatal(err)
	}
	if h.work(t, "w1").Context() != nil {
		t.Error("there is a context that nobody takes")
	}
	h.PushTo(anyone{})
	c := h.work(t, "w1").Context()
	if c != h.work(t, "w1").Context() {
		t.Error("a workspace has two contexts")
	}
	s, err := c.Resync(t.Context())
	if err != nil || !s.Ready || len(s.Resources) != 1 || string(s.Resources[0].Payload) != "first" || s.BootID == "" || s.Error != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	for path, ok := range map[string]bool{filepath.Join(h.top, "home/work/own"): true, filepath.Join(h.top, "other"): false, h.data: false, "~": false} {
		if _, err := c.Source(t.Context(), path, chat.SourceAdd); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := h.Stop(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resync(t.Context()); !errors.Is(err, chat.ErrContextClosed) {
		t.Error(err)
	}
	// It begins anew, and Sources are still there.
	again := h.work(t, "w1").Context()
	list, err := again.Sources(t.Context())
	if err != nil || len(list) != 1 || again == c {
		t.Errorf("%v, %v", list, err)
	}
	if s, err := again.Resync(t.Context()); err != nil || len(s.Resources) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if list, err := h.work(t, "w2").Context().Sources(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	w := h.work(t, "w3")
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Context().Resync(t.Context()); !errors.Is(err, chat.ErrContextClosed) {
		t.Error(err)
	}
}

func TestSnapshotsArePushed(t *testing.T) {
	h := newHouse(t)
	guide := filepath.Join(h.top, "home/work/AGENTS.md")
	s := &sink{pushed: make(chan pushed)}
	h.PushTo(s)
	early := h.work(t, "w1").Context()
	if p := s.next(t); p.id != "w1" || !p.initial || len(p.s.Resources) != 0 {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(guide, []byte("first"), 0o644); err != nil {
		t.Fatal(err)
	}
	for p := s.next(t); len(p.s.Resources) == 0 || string(p.s.Resources[0].Payload) != "first"; p = s.next(t) {
		if p.id != "w1" || p.initial {
			t.Errorf("%+v", p)
		}
	}
	late := h.work(t, "w2").Context()
	if p := s.next(t); p.id != "w2" || !p.initial || p.s.BootID != early.Snapshot().BootID || late.Snapshot().FullHash != p.s.FullHash {
		t.Errorf("%+v", p)
	}
}

func TestContextRootsOfTheSite(t *testing.T) {
	h := newHouse(t)
	other := filepath.Join(h.top, "other")
	w, err := New(t.Context(), Options{Data: filepath.Join(h.top, "home/.second"), Temp: filepath.Join(h.top, "cache2"), ContextRoots: func() []string { return []string{other} },
		Environ: []string{"HOLDFAST_CONTEXT_INSTRUCTIONS_FILE=HOUSE.md", "HOLDFAST_CONTEXT_INSTRUCTIONS_DIRS=" + other}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(context.WithoutCancel(t.Context()))
	for _, file := range []string{filepath.Join(other, "HOUSE.md"), filepath.Join(h.top, "home/work/HOUSE.md")} {
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.PushTo(anyone{})
	opened, err := w.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: filepath.Join(h.top, "home/work")})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := opened.(chat.ContextKeeper).Context().Source(t.Context(), other+"/x", chat.SourceAdd); err != nil || id != other+"/x" {
		t.Error(id, err)
	}
	if s, err := opened.(chat.ContextKeeper).Context().Resync(t.Context()); err != nil || len(s.Resources) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}
