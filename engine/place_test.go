package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/workspace"
)

// The end of case 18: a stopped Workspace has its files, and the next Call that needs it lets it run again.
func TestAStoppedWorkspaceRunsAgainByItself(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Scripts: []scripted.Script{
		{User: "read", Results: 0, Reply: scripted.Calls(scripted.Call{Name: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`)})},
		{Results: scripted.Any, Reply: scripted.Text("hello")},
	}}})
	if err := os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("still here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := func() chat.WorkspaceState {
		w, err := r.spaces.Get(context.Background(), r.who, workspace.GetInput{ID: r.space})
		if err != nil {
			t.Fatal(err)
		}
		return w.Standing()
	}
	id := r.create("talk")
	r.rest(id)
	if _, err := r.spaces.Stop(context.Background(), r.who, workspace.StopInput{ID: r.space}); err != nil || state() != chat.WorkspaceStopped {
		t.Fatalf("%s, %v", state(), err)
	}
	r.send(id, "talk again", "")
	r.rest(id)
	if state() != chat.WorkspaceStopped {
		t.Errorf("talking alone made it %s", state())
	}
	r.send(id, "read", "")
	v := r.rest(id)
	if text := transcript(v.Messages); !strings.Contains(text, "still here") || state() != chat.WorkspaceRunning {
		t.Errorf("it is %s after\n%s", state(), text)
	}
}
