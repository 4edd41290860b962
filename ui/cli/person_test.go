package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

const questions = `{"questions":[{"question":"How long?","options":[{"label":"6 hours","description":"one tide"},{"label":"1 day"}]},` +
	`{"question":"Which pages?","multiple":true,"options":[{"label":"one"},{"label":"two"}]}]}`

func asks() []scripted.Script {
	return []scripted.Script{
		{User: "ask", Reply: scripted.Calls(scripted.Call{Name: "ask_user_question", Args: json.RawMessage(questions)})},
		{Contains: "How long?", Reply: scripted.Text("Good.")},
		{User: "6 hours, one", Reply: scripted.Text("Fine.")},
	}
}

// wide is an appliance whose model has a window with room for the tools that act on chats.
func wide(t *testing.T, o apitest.Options) *apitest.Appliance {
	t.Helper()
	a := start(t, o)
	all, err := a.Client.Models(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if _, err := a.Client.UpdateModel(t.Context(), all[0].ID, client.ModelFields{ContextLimit: client.Some(int64(32768)), Options: &chat.Options{NumCtx: 32768}}); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAQuestionThatNobodyCanAnswer: exit 10, and a later call answers it.
func TestAQuestionThatNobodyCanAnswer(t *testing.T) {
	bare(t)
	a := wide(t, apitest.Options{Scripts: asks()})
	for _, args := range [][]string{{"ask"}, {"--json", "ask"}} {
		code, _, failure := run(t.Context(), "", "chat", append([]string{"--data", a.Dir}, args...)...)
		if code != cli.CodeNeedsPerson || !strings.Contains(failure, "asks: How long?") || !strings.Contains(failure, "holdfast chat --chat ") {
			t.Fatalf("%v: exit %d, stderr %q", args, code, failure)
		}
		_, id, _ := strings.Cut(failure, "holdfast chat --chat ")
		id, _, _ = strings.Cut(id, " ")
		code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--chat", id, "6 hours, one")
		if code != 0 || out != "Fine.\n" {
			t.Errorf("exit %d, %q, %q", code, out, failure)
		}
	}
}

// delegating starts a sub-agent that wants to run a command, and waits for it.
func delegating(p *scripted.Prompt) scripted.Reply {
	var r struct {
		ChatID string `json:"chat_id"`
	}
	got := p.Results()
	switch {
	case strings.Contains(p.Messages[0].Content, "<sub-agent>") && len(got) == 0:
		return scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"touch made"}`)})
	case strings.Contains(p.Messages[0].Content, "<sub-agent>") || len(got) > 1:
		return scripted.Text("Done.")
	case len(got) == 0:
		return scripted.Calls(scripted.Call{Name: "spawn_agent", Args: json.RawMessage(`{"prompt":"touch it","title":"Toucher"}`)})
	}
	if err := json.Unmarshal([]byte(got[0].Content), &r); err != nil {
		return scripted.Text(err.Error())
	}
	return scripted.Calls(scripted.Call{Name: "wait_agent", Args: json.RawMessage(`{"chat_id":"` + r.ChatID + `"}`)})
}

// TestASubAgentThatNeedsAPerson: its parent waits for it, so the command ends with exit 10.
func TestASubAgentThatNeedsAPerson(t *testing.T) {
	bare(t)
	a := wide(t, apitest.Options{Answer: delegating})
	code, _, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--workspace", t.TempDir(), "go")
	if code != cli.CodeNeedsPerson || !strings.Contains(failure, "sub-agent “Toucher” waits for a person") || !strings.Contains(failure, "→ spawn_agent Toucher") {
		t.Errorf("exit %d, %q", code, failure)
	}
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--workspace", t.TempDir(), "--trust", "go")
	if code != 0 || out != "Done.\n" || !strings.Contains(failure, "← wait_agent done") {
		t.Errorf("trusted: exit %d, %q, %q", code, out, failure)
	}
}

// TestAProgramIsAPersonToo: nobody at this end can run a tool of the program that made the chat.
func TestAProgramIsAPersonToo(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Scripts: []scripted.Script{
		{User: "ring", Reply: scripted.Calls(scripted.Call{Name: "ring", Args: json.RawMessage(`{}`)})}, {Reply: scripted.Text("Hello.")}}})
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("hello"), Title: "t", ClientTools: []client.ClientTool{{Name: "ring"}}})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	code, _, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--chat", string(c.ID), "ring")
	if code != cli.CodeNeedsPerson || !strings.Contains(failure, "waits for the program that runs ring") {
		t.Errorf("exit %d, %q", code, failure)
	}
}

func TestPlanAndWork(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		if strings.Contains(p.Messages[0].Content, "<plan-mode>") {
			return scripted.Text("planning")
		}
		return scripted.Text("working")
	}})
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--plan", "go")
	_, id, _ := strings.Cut(strings.TrimSpace(failure), "chat ")
	if code != 0 || out != "planning\n" {
		t.Fatalf("exit %d, %q, %q", code, out, failure)
	}
	if code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--chat", id, "go on"); code != 0 || out != "planning\n" {
		t.Errorf("exit %d, %q, %q", code, out, failure)
	}
	if code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--chat", id, "--work", "go on"); code != 0 || out != "working\n" {
		t.Errorf("exit %d, %q, %q", code, out, failure)
	}
	if c, err := a.Client.Chat(t.Context(), chat.ID(id)); err != nil || c.PlanMode != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if code, _, _ := run(t.Context(), "", "chat", "--data", a.Dir, "--work", "--plan", "go"); code != cli.CodeUsage {
		t.Errorf("both: exit %d", code)
	}
}

// TestAnAdvisorWithoutALimit: the cap on steps, which then bounds it, is no figure for a person.
func TestAnAdvisorWithoutALimit(t *testing.T) {
	bare(t)
	a := wide(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			return scripted.Text("Take the small step.")
		case len(p.Results()) == 0:
			return scripted.Calls(scripted.Call{Name: "advisor", Args: json.RawMessage(`{"question":"Which step?"}`)})
		}
		return scripted.Text("Done.")
	}})
	if err := a.Client.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	code, _, failure := run(t.Context(), "", "chat", "--data", a.Dir, "go")
	if code != cli.CodeDone || !strings.Contains(failure, "← advisor scripted:latest, no limit:\n  Take the small step.\n") {
		t.Errorf("exit %d, %q", code, failure)
	}
}

// TestAPlanThatNobodyCanJudge: exit 10, and the terminal has the plan; the advisor's answer stands there, too.
func TestAPlanThatNobodyCanJudge(t *testing.T) {
	bare(t)
	a := wide(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		call := func(tool, args string) scripted.Reply {
			return scripted.Calls(scripted.Call{Name: tool, Args: json.RawMessage(args)})
		}
		switch got := p.Results(); {
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			return scripted.Text("Take the small step.")
		case !strings.Contains(p.Messages[0].Content, "<plan-mode>"):
			return scripted.Text("working")
		case len(got) == 0:
			return call("advisor", `{"question":"Which step?"}`)
		default:
			_, path, _ := strings.Cut(p.Messages[0].Content, "<plan-file-path>")
			path, _, _ = strings.Cut(path, "</plan-file-path>")
			path = strings.TrimSpace(path)
			if len(got) > 1 {
				return call("propose_plan", `{"path":"`+path+`"}`)
			}
			return call("write_file", `{"path":"`+path+`","content":"# The plan\n\nOne small step.\n"}`)
		}
	}})
	if err := a.Client.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3}); err != nil {
		t.Fatal(err)
	}
	code, _, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--workspace", t.TempDir(), "--plan", "go")
	if code != cli.CodeNeedsPerson || !strings.Contains(failure, "→ advisor Which step?\n← advisor scripted:latest, 2 uses left:\n  Take the small step.\n") ||
		!strings.Contains(failure, "# The plan\n  \n  One small step.\n") || !strings.Contains(failure, "shows a plan; answer it in the browser") {
		t.Errorf("exit %d, %q", code, failure)
	}
}
