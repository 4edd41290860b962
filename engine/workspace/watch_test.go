package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// Whoever watches sees the states of a Workspace and what its setup says while it says it.
func TestWatchASetup(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir,
		Setup: ptr("echo step one; until [ -e go ]; do sleep 0.05; done; echo step two"), Policy: ptr(chat.PolicyTrusted), Sandbox: ptr("off")})
	watch, err := s.Watch(t.Context(), other, WatchInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	w, err := s.Make(t.Context(), admin, MakeInput{TemplateID: tpl.ID})
	if err != nil {
		t.Fatal(err)
	}
	until := func(state chat.WorkspaceState, text string) {
		t.Helper()
		for {
			<-watch.C
			list, err := s.List(t.Context(), admin, ListInput{})
			if err != nil {
				t.Fatal(err)
			}
			if list[0].State == state && strings.Contains(list[0].Made.Log, text) {
				return
			}
		}
	}
	until(chat.WorkspaceSetup, "step one")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(chat.WorkspaceRunning, "step two")
	if list, err := s.List(t.Context(), other, ListInput{}); err != nil || len(list) != 0 {
		t.Errorf("another person sees %v, %v", list, err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID}); err != nil {
		t.Fatal(err)
	}
	<-watch.C
}
