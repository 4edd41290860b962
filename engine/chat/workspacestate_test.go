package chat_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// The golden file is the whole table: adding a pair is reading it there.
func TestNextWorkspaceTable(t *testing.T) {
	var b strings.Builder
	for _, s := range chat.WorkspaceStates {
		fmt.Fprintf(&b, "%s\n", s)
		for _, e := range chat.WorkspaceEvents {
			to, no := chat.NextWorkspace(s, e)
			if no != nil {
				if to != "" || no.Kind != chat.KindWrongState || !strings.Contains(no.Message, s.Words()) {
					t.Errorf("%s, %s: %q, %+v", s, e, to, no)
				}
				continue
			}
			fmt.Fprintf(&b, "  %-7s %s\n", e, to)
		}
	}
	const golden = "testdata/workspaces.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("the table is not that of %s, %v:\n%s", golden, err, b.String())
	}
}

func TestNextWorkspaceOfAnOldRecord(t *testing.T) {
	w := chat.WorkspaceRecord{}
	if w.Standing() != chat.WorkspaceRunning {
		t.Error(w.Standing())
	}
	if err := w.Move(chat.WorkspaceStop); err != nil || w.State != chat.WorkspaceStopping {
		t.Errorf("%s, %v", w.State, err)
	}
	if err := w.Move(chat.WorkspaceRetry); err == nil || w.State != chat.WorkspaceStopping {
		t.Errorf("%s, %v", w.State, err)
	}
}
