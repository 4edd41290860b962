package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// plans starts a Chat in plan mode.
func (r *rig) plans(text string) chat.ID {
	r.t.Helper()
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts(text), Title: "a chat", WorkspaceID: r.space, PlanMode: "plan"})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// planPath finds the plan file that the system text names.
func planPath(p *scripted.Prompt) string {
	_, rest, _ := strings.Cut(p.Messages[0].Content, "<plan-file-path>\n")
	path, _, _ := strings.Cut(rest, "\n")
	return path
}

// inPlan lets a model in plan mode make these Calls, one a Step, with $PLAN for the plan file; in another Chat it says done.
func inPlan(steps ...scripted.Call) func(*scripted.Prompt) scripted.Reply {
	return func(p *scripted.Prompt) scripted.Reply {
		n := len(p.Results())
		if planPath(p) == "" || n >= len(steps) {
			return scripted.Text("done")
		}
		call := steps[n]
		call.Args = json.RawMessage(strings.ReplaceAll(string(call.Args), "$PLAN", planPath(p)))
		return scripted.Calls(call)
	}
}

// TestCase71PlanModeWritesThePlanOnly.
func TestCase71PlanModeWritesThePlanOnly(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: inPlan(
		toolCall("write_file", `{"path":"a.txt","content":"x"}`),
		toolCall("write_file", `{"path":"$PLAN/../../../a.txt","content":"x"}`),
		toolCall("edit_files", `{"files":[{"path":"b.txt","edits":[{"search":"old","replace":"new"}]}]}`),
		toolCall("write_file", `{"path":"link.md","content":"x"}`),
		toolCall("write_file", `{"path":"./$PLAN","content":"# The plan"}`),
		toolCall("edit_files", `{"files":{"path":"$PLAN","edits":{"search":"plan","replace":"whole plan"}}}`),
		toolCall("process_signal", `{"process_id":"x","signal":"kill"}`),
		toolCall("spawn_agent", `{"prompt":"x","type":"general"}`),
		toolCall("propose_plan", `{"path":"$PLAN"}`))}})
	r.write("b.txt", "old")
	if err := os.Symlink("b.txt", filepath.Join(r.dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	id := r.plans("go")
	v := r.rest(id)
	got, path := resultParts(v), chat.PlanPath(id)
	if len(got) != 9 {
		t.Fatalf("%s", transcript(v.Messages))
	}
	for i, p := range got {
		refused := i < 4 || i == 6 || i == 7
		if p.IsError != refused || i < 4 && !strings.Contains(string(p.Result), path) {
			t.Errorf("%d: %s", i, p.Result)
		}
	}
	if r.read("a.txt") != "(none)" || r.read("b.txt") != "old" || r.read(path) != "# The whole plan" {
		t.Errorf("a %q, b %q, the plan %q", r.read("a.txt"), r.read("b.txt"), r.read(path))
	}
	// The plan ended the Turn, and stays as it was shown.
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != "" || v.Chat.Turn.Asks == nil || v.Chat.Turn.Asks.Kind != chat.AskingPlan {
		t.Errorf("%+v", v.Chat)
	}
	r.write(path, "something else")
	var d chat.PlanDetail
	if err := json.Unmarshal(resultParts(r.view(id))[8].Detail, &d); err != nil || d.Plan != "# The whole plan" || d.Path != path {
		t.Errorf("%+v, %v", d, err)
	}
	// The go-ahead leaves plan mode.
	act := ""
	if _, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts("Implement the plan."), PlanMode: &act, Answers: v.Chat.Turn.Asks.CallID}); err != nil {
		t.Fatal(err)
	}
	v = r.rest(id)
	if v.Chat.PlanMode != "" || v.Chat.Turn.Asks != nil {
		t.Errorf("%+v", v.Chat)
	}
	last := r.prompts()[len(r.prompts())-1]
	if strings.Contains(last.Messages[0].Content, "<plan-mode>") || strings.Contains(offers(&last), "propose_plan") {
		t.Error("the next turn is in plan mode")
	}
	if _, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts("Implement the plan."), Answers: got[8].CallID}); !isKind(err, chat.KindWrongState) {
		t.Errorf("a second go-ahead: %v", err)
	}
}

func TestPlanModeOffersWhatItRuns(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: inPlan()}})
	r.rest(r.plans("go"))
	p := r.prompts()[0]
	want := "execute process_output process_list read_file write_file edit_files list_files search_files ask_user_question propose_plan spawn_agent wait_agent"
	if offers(&p) != want {
		t.Errorf("%s", offers(&p))
	}
	at := 0
	for _, section := range []string{"<workspace-context>", "<plan-mode>", "<plan-file-path>"} {
		i := strings.Index(p.Messages[0].Content, section)
		if i < at {
			t.Errorf("%s stands at %d", section, i)
		}
		at = i
	}
}

// TestCommandsAskInPlanMode: also in a Workspace that is trusted.
func TestCommandsAskInPlanMode(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: inPlan(toolCall("execute", `{"command":"echo x > ran"}`))}})
	id := r.plans("go")
	v := r.asks(id)
	if len(v.Chat.Outstanding) != 1 || v.Chat.Outstanding[0].Kind != chat.OutstandingApproval || r.read("ran") != "(none)" {
		t.Fatalf("%+v", v.Chat)
	}
	if err := r.answer(id, v.Chat.Outstanding[0].Call.ID, "deny", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	if r.read("ran") != "(none)" {
		t.Error("a denied command ran")
	}
}

func TestPlansThatCannotBeProposed(t *testing.T) {
	big := strings.Repeat("x", 33<<10)
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: inPlan(
		toolCall("propose_plan", `{"path":"$PLAN"}`), toolCall("write_file", `{"path":"$PLAN","content":" \n"}`), toolCall("propose_plan", `{"path":"$PLAN"}`),
		toolCall("write_file", `{"path":"$PLAN","content":"`+big+`"}`), toolCall("propose_plan", `{"path":"$PLAN"}`),
		toolCall("propose_plan", `{"path":"plan.txt"}`), toolCall("propose_plan", `{"path":"other.md"}`))}})
	r.write("other.md", "# Not it")
	id := r.plans("go")
	v := r.rest(id)
	said := []string{}
	for _, p := range resultParts(v) {
		if p.ToolName == "propose_plan" {
			if !p.IsError {
				t.Errorf("%s", p.Result)
			}
			said = append(said, string(p.Result))
		}
	}
	slices.Sort(said)
	if len(slices.Compact(said)) != 5 || v.Chat.Turn.Asks != nil || !strings.HasSuffix(transcript(v.Messages), "assistant: done\n") {
		t.Errorf("%q\n%s", said, transcript(v.Messages))
	}
}

func TestQuestionsEndTheTurn(t *testing.T) {
	good := `{"questions":[{"header":"Age","question":"How long?","options":[{"label":"6 hours","description":"One tide"},{"label":"1 day"}]}]}`
	r := newRig(t, setup{model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("ask_user_question", `{"questions":[]}`)),
		scripted.Calls(toolCall("ask_user_question", `{"questions":[{"question":"How?","options":[{"label":"one"}]}]}`)),
		scripted.Calls(toolCall("ask_user_question", `{"questions":[`+strings.Repeat(`{"question":"How?","options":[{"label":"a"},{"label":"b"}]},`, 4)+`{"question":"How?","options":[{"label":"a"},{"label":"b"}]}]}`)),
		scripted.Calls(toolCall("ask_user_question", good)), scripted.Text("thanks"))}})
	id := r.create("go")
	v := r.rest(id)
	got := resultParts(v)
	if len(got) != 4 || !got[0].IsError || !got[1].IsError || !got[2].IsError || got[3].IsError {
		t.Fatalf("%s", transcript(v.Messages))
	}
	asks := v.Chat.Turn.Asks
	if v.Chat.State != chat.Waiting || asks == nil || asks.Kind != chat.AskingQuestion || asks.CallID != got[3].CallID || len(r.prompts()) != 4 {
		t.Fatalf("%+v", v.Chat)
	}
	r.send(id, "6 hours", "")
	v = r.rest(id)
	if v.Chat.Turn.Asks != nil || !strings.HasSuffix(transcript(v.Messages), "user: 6 hours\nassistant: thanks\n") {
		t.Errorf("%s", transcript(v.Messages))
	}
}

// TestAQuestionBesideAClientCall: the Turn ends when the program has answered.
func TestAQuestionBesideAClientCall(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`),
		toolCall("ask_user_question", `{"questions":[{"question":"How?","options":[{"label":"a"},{"label":"b"}]}]}`)), scripted.Text("never"))}})
	id := r.declares(ringAndDial)
	call := r.asks(id).Chat.Outstanding[0].Call.ID
	if err := r.submit(id, output(call, `1`)); err != nil {
		t.Fatal(err)
	}
	if v := r.rest(id); v.Chat.Turn.Asks == nil || len(r.prompts()) != 1 {
		t.Errorf("%s", transcript(v.Messages))
	}
}

// TestPlanModeComesWithTheMessage: absent is unchanged, "" clears it; a queued Message brings its own. case 8
func TestPlanModeComesWithTheMessage(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "one" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("gate", `{}`))
		}
		return echo(p)
	}}})
	id := r.create("one")
	<-running
	send := func(text string, mode *string) {
		if _, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts(text), PlanMode: mode}); err != nil {
			t.Fatal(err)
		}
	}
	plan, act, odd := "plan", "", "draft"
	send("two", &plan)
	send("three", nil)
	send("four", &act)
	if _, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts("x"), PlanMode: &odd}); !isKind(err, chat.KindInvalid) {
		t.Errorf("%v", err)
	}
	if r.view(id).Chat.PlanMode != "" {
		t.Error("a message that waits has changed the mode")
	}
	close(release)
	r.until(id, "all four", func(v engine.View) bool { return v.Chat.State.AtRest() && len(v.Queue) == 0 && len(v.Messages) == 10 })
	var modes []bool
	for _, p := range r.prompts() {
		modes = append(modes, strings.Contains(p.Messages[0].Content, "<plan-mode>"))
	}
	if !slices.Equal(modes, []bool{false, false, true, true, false}) {
		t.Errorf("%v", modes)
	}
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, PlanMode: &plan}); err != nil || r.view(id).Chat.PlanMode != "plan" {
		t.Error(err)
	}
}

// TestAllDefinitionsFit: those of a root Chat take at most 9,000 bytes.
func TestAllDefinitionsFit(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Text("done"))}})
	r.rest(r.create("go"))
	var body struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(r.server.Requests("/api/chat")[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, tool := range body.Tools {
		size += len(tool)
	}
	if size > 9000 || len(body.Tools) != 15 {
		t.Errorf("%d definitions take %d bytes", len(body.Tools), size)
	}
}

// TestTheSiteSpeaksInPlanMode: what it says stands in the section of plan mode, and only there.
func TestTheSiteSpeaksInPlanMode(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Text("planned"), scripted.Text("worked"))}})
	r.update(func(tx *kv.Tx) error {
		return tx.PutSite(site.PlanModeKey, chat.PlanModeConfig{Text: "Name the risks."})
	})
	r.rest(r.plans("go"))
	r.rest(r.create("go"))
	_, section, found := strings.Cut(r.prompts()[0].Messages[0].Content, "<plan-mode>\n")
	section, _, _ = strings.Cut(section, "</plan-mode>")
	if !found || !strings.HasSuffix(strings.TrimSpace(section), "\n\nName the risks.") {
		t.Errorf("the section is %q", section)
	}
	if strings.Contains(r.prompts()[1].Messages[0].Content, "Name the risks.") {
		t.Error("a working turn is told what counts for planning")
	}
}
