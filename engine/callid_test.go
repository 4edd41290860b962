package engine_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestCallIDsLeadNowhere: the id of a Call stands in addresses; a server chooses neither a path nor a name of ours with it.
func TestCallIDsLeadNowhere(t *testing.T) {
	var calls []scripted.Call
	for _, id := range []string{"../../../workspaces/w/trust?trusted=1", "..", "a/b", `"><b>`, "é", "x\n", "call_1_2", strings.Repeat("a", 65), "", "fine-1_A", "call_abc12345"} {
		calls = append(calls, scripted.Call{ID: id, Name: "list_files", Args: json.RawMessage(`{"path":"."}`)})
	}
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Calls(calls...), scripted.Text("done"))}})
	v := r.rest(r.create("go"))
	plain, seen := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), map[string]int{}
	for _, m := range v.Messages {
		for _, p := range m.Content {
			if p.CallID == "" {
				continue
			}
			if !plain.MatchString(p.CallID) {
				t.Errorf("a call has the id %q", p.CallID)
			}
			if seen[p.CallID]++; p.Type == chat.PartToolCall && seen[p.CallID] > 1 {
				t.Errorf("two calls have the id %q", p.CallID)
			}
		}
	}
	if len(seen) != len(calls) || seen["fine-1_A"] != 2 || seen["call_abc12345"] != 2 {
		t.Errorf("ids %v", seen)
	}
}
