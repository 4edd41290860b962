package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestInstructionsOutliveACompaction: those of a directory that a Tool has just met are in the request that follows a compaction, and are read again when
// the directory is met after one.
func TestInstructionsOutliveACompaction(t *testing.T) {
	const rules = "Everything below sub is written in verse."
	var steps atomic.Int32
	r := newRig(t, setup{place: true, config: half, tools: []chat.Tool{instant("big", strings.Repeat("word ", 20000))},
		model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if isSummary(p) {
				return scripted.Text("Goal: read. Open: go on.")
			}
			switch n := steps.Add(1); n {
			case 1, 3, 4:
				return scripted.Calls(toolCall("big", fmt.Sprintf(`{"n":%d}`, n)))
			case 2, 5:
				return scripted.Calls(toolCall("read_file", fmt.Sprintf(`{"path":"sub/%d.txt"}`, n)))
			}
			return scripted.Text("done")
		}}})
	if err := os.Mkdir(filepath.Join(r.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("sub/AGENTS.md", rules)
	// The second read fills the window, so that what was met is still to be told when the history is summarised.
	r.write("sub/2.txt", strings.Repeat("long line\n", 3000))
	r.write("sub/5.txt", "short")
	v := r.rest(r.create("read"))
	if v.Chat.State != chat.Waiting || v.Chat.Turn.Compactions < 2 {
		t.Fatalf("%s %+v, %+v", v.Chat.State, v.Chat.LastError, v.Chat.Turn)
	}
	var told []string
	for _, p := range r.prompts() {
		one := "-"
		for _, m := range p.Messages {
			if strings.Contains(m.Content, rules) && m.Role == "user" {
				one = "rules"
			}
		}
		if isSummary(&p) {
			one += "(summary)"
		}
		told = append(told, one)
	}
	// Before it was met; asked for the summary with what was met; told after it; gone with the next summary; met again.
	if got := strings.Join(told, " "); got != "- - rules(summary) rules rules rules(summary) - rules" {
		t.Errorf("the requests had %s", got)
	}
}
