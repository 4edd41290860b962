package ui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

func message(id chat.MessageID, role chat.Role, step int64, parts ...chat.Part) *chat.Message {
	return &chat.Message{ID: id, Role: role, Step: step, Content: parts, CreatedAt: time.Date(2026, 11, 20, 14, 6, int(id), 0, time.Local)}
}

func call(id, tool, args string) chat.Part {
	return chat.Part{Type: chat.PartToolCall, CallID: id, ToolName: tool, Args: json.RawMessage(args)}
}

func answer(id, tool, result string, isError bool) chat.Part {
	at := time.Date(2026, 11, 20, 14, 6, 0, 0, time.UTC)
	end := at.Add(1200 * time.Millisecond)
	return chat.Part{Type: chat.PartToolResult, CallID: id, ToolName: tool, Result: json.RawMessage(result), IsError: isError, CreatedAt: &at, CompletedAt: &end}
}

func entriesOf(c *chat.Chat, msgs ...*chat.Message) []view.Entry {
	s := &Site{prose: text.NewCache(1 << 20)}
	v := engine.View{Chat: c, Messages: msgs}
	return s.transcript(v, time.Date(2026, 11, 20, 15, 0, 0, 0, time.Local)).entries(msgs, true)
}

func TestEntriesPairCallsWithResults(t *testing.T) {
	got := entriesOf(&chat.Chat{ID: "c", State: chat.Waiting},
		message(1, chat.RoleUser, 0, chat.Part{Type: chat.PartText, Text: "go"}),
		message(2, chat.RoleAssistant, 1, call("a", "read_file", `{"path":"x.go"}`), call("b", "execute", `{"command":"ls\nrm x"}`)),
		message(3, chat.RoleTool, 1, answer("a", "read_file", `{"error":"there is no x.go. Look again."}`, true)),
		message(4, chat.RoleTool, 1, answer("b", "execute", `{"error":"`+chat.TextCut+`"}`, true)),
		message(5, chat.RoleAssistant, 2, chat.Part{Type: chat.PartText, Text: "done"}))
	if len(got) != 3 || got[0].Ask == nil || got[1].Step == nil || got[2].Step == nil {
		t.Fatalf("entries %+v", got)
	}
	if got[0].Ask.Day != "Today, 20 November" {
		t.Errorf("day %q", got[0].Ask.Day)
	}
	rows := got[1].Step.Parts[0].Rows
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	if r := rows[0]; r.Kind != view.RowRead || r.Path != "x.go" || r.State != view.RowFailed || r.Out != "there is no x.go" || r.Took != "1.2 s" {
		t.Errorf("read row %+v", r)
	}
	if r := rows[1]; r.Target != "ls …" || r.State != view.RowStopped || r.Out != "interrupted" || r.Fetch != "/chats/c/rows/4/b" {
		t.Errorf("run row %+v", r)
	}
	if got[2].Step.Meta == nil || got[1].Step.Meta != nil {
		t.Error("the facts belong under the last Step of the Turn")
	}
}

func TestOpenCardStandsAtItsCall(t *testing.T) {
	c := &chat.Chat{ID: "c", State: chat.RequiresAction, Outstanding: []chat.OutstandingCall{{Call: chat.Call{ID: "a", Name: "execute", Args: []byte(`{"command":"make"}`)}}}}
	got := entriesOf(c, message(1, chat.RoleUser, 0, chat.Part{Type: chat.PartText, Text: "go"}),
		message(2, chat.RoleAssistant, 1, call("a", "execute", `{"command":"make"}`)))
	row := got[1].Step.Parts[0].Rows[0]
	if row.State != view.RowWaits || row.Ask == nil || row.Ask.Command != "make" || row.Ask.Post != "/chats/c/approvals/a" {
		t.Errorf("row %+v", row)
	}
}

// A summary that the appliance ordered is told in words; what it was ordered with is nobody's.
func TestASummaryShowsNoArguments(t *testing.T) {
	for _, failed := range []bool{false, true} {
		got := entriesOf(&chat.Chat{ID: "c", State: chat.Waiting}, message(1, chat.RoleAssistant, 1, call("a", chat.SummaryTool, `{"source":"automatic","threshold_percent":70}`)),
			message(2, chat.RoleTool, 1, chat.Part{Type: chat.PartToolResult, CallID: "a", ToolName: chat.SummaryTool, IsError: failed, Result: []byte(`{"error":"It went wrong."}`)}))
		row, want := got[0].Step.Parts[0].Rows[0], "earlier messages, for the model"
		if failed {
			want = "the history was not summarised"
		}
		if row.Kind != view.RowSummary || row.Target != want || row.In != "" {
			t.Errorf("failed %t: %+v", failed, row)
		}
	}
}

// A summary of a model that the site chose says whose it is, and opened, why it is another's.
func TestASummarySaysWhoWroteIt(t *testing.T) {
	result := chat.Part{Type: chat.PartToolResult, CallID: "a", ToolName: chat.SummaryTool, Result: []byte(`{"summary":"All of it.","model":"scribe:latest","note":"That is why."}`)}
	got := entriesOf(&chat.Chat{ID: "c", State: chat.Waiting}, message(1, chat.RoleAssistant, 1, call("a", chat.SummaryTool, `{}`)), message(2, chat.RoleTool, 1, result))
	if row := got[0].Step.Parts[0].Rows[0]; row.Out != "by scribe:latest" || row.Target != "earlier messages, for the model" {
		t.Errorf("%+v", row)
	}
	if body := rowBody(&result); body.Note != "All of it." || body.Facts != "That is why." {
		t.Errorf("%+v", body)
	}
}

func TestPartialSaysWhy(t *testing.T) {
	for reason, want := range map[string]string{"interrupted": "Interrupted by you; what was written is kept", "error": "The reply broke off here; what was written is kept"} {
		m := message(2, chat.RoleAssistant, 1, chat.Part{Type: chat.PartText, Text: "half"})
		m.Partial, m.FinishReason = true, reason
		if got := entriesOf(&chat.Chat{ID: "c", State: chat.Waiting}, m); got[0].Step.Note != want {
			t.Errorf("%s: %q", reason, got[0].Step.Note)
		}
	}
}

func TestAfter(t *testing.T) {
	list := []view.Entry{{Ask: &view.Ask{ID: 4}}, {Step: &view.Step{N: 2}}, {Mark: &view.Mark{ID: 9}}}
	for id, want := range map[string]int{"": 0, "m-4": 1, "s-2": 2, "x-9": 3, "m-5": -1} {
		if got := after(list, id); got != want {
			t.Errorf("after %q: %d, want %d", id, got, want)
		}
	}
}

// TestApprovalCardTellsTheTruth: what a model or its server wrote leads no button elsewhere and hides nothing of what is asked.
func TestApprovalCardTellsTheTruth(t *testing.T) {
	const id = "../../../workspaces/w/trust?trusted=1"
	args := `{"command":"echo \u202ehi","workdir":"sub\u200b"}`
	c := &chat.Chat{ID: "c", State: chat.RequiresAction, Outstanding: []chat.OutstandingCall{{Call: chat.Call{ID: id, Name: "execute", Args: []byte(args)}}}}
	s := &Site{prose: text.NewCache(1 << 20)}
	msgs := []*chat.Message{message(2, chat.RoleAssistant, 1, call(id, "execute", args))}
	tr := s.transcript(engine.View{Chat: c, Messages: msgs}, time.Now())
	tr.space = &chat.WorkspaceRecord{Name: "w", Directory: "/src/w"}
	ask := tr.entries(msgs, true)[0].Step.Parts[0].Rows[0].Ask
	if ask == nil {
		t.Fatal("there is no card")
	}
	if ask.Post != "/chats/c/approvals/..%2F..%2F..%2Fworkspaces%2Fw%2Ftrust%3Ftrusted=1" {
		t.Errorf("the buttons post to %s", ask.Post)
	}
	if ask.Command != "echo ⟨U+202E⟩hi" || ask.Directory != "/src/w/sub⟨U+200B⟩" {
		t.Errorf("asked for %q in %q", ask.Command, ask.Directory)
	}
}

func TestARowOfTheQueueIsShort(t *testing.T) {
	for said, want := range map[string]string{"as it is": "as it is", strings.Repeat("\u00e4", 301): strings.Repeat("\u00e4", 300) + "\u2026"} {
		if got := queuedView(&chat.QueuedMessage{ID: 7, Content: []chat.Part{{Type: chat.PartText, Text: said}}}); got.Text != want || got.ID != 7 {
			t.Errorf("%d runes gave %+v", len(said), got)
		}
	}
}
