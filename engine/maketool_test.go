package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/workspace"
)

// template adds a Template over the rig's directory.
func (r *rig) template(setup, policy string) chat.Template {
	r.t.Helper()
	name, kind, yes := "tide", chat.TemplateDirectory, true
	t, err := r.spaces.CreateTemplate(context.Background(), r.who, workspace.CreateTemplateInput{TemplateFields: chat.TemplateFields{Name: &name, Kind: &kind,
		Source: &r.dir, Setup: &setup, Policy: &policy, AllowAgents: &yes, AllowMembers: &yes}})
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// making is a rig whose Chats have no Workspace, with a Template. calls are made one Step after the other; ID stands for the Template's id.
func making(t *testing.T, setupScript, policy string, steps ...[]scripted.Call) (*rig, chat.Template) {
	t.Helper()
	return makingIn(t, "", setupScript, policy, steps...)
}

// makingIn is making on a machine that confines commands, unless sandbox is "".
func makingIn(t *testing.T, sandbox chat.Profile, setupScript, policy string, steps ...[]scripted.Call) (*rig, chat.Template) {
	t.Helper()
	var tpl chat.Template
	r := newRig(t, setup{place: true, sandbox: sandbox, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		done := 0
		for _, m := range p.Messages {
			if m.Role == "assistant" {
				done++
			}
		}
		if done >= len(steps) {
			return scripted.Text("done")
		}
		calls := make([]scripted.Call, len(steps[done]))
		for i, c := range steps[done] {
			c.Args = json.RawMessage(strings.ReplaceAll(string(c.Args), "ID", string(tpl.ID)))
			calls[i] = c
		}
		return scripted.Calls(calls...)
	}}})
	r.space = ""
	tpl = r.template(setupScript, policy)
	return r, tpl
}

func (r *rig) made(id chat.ID) *chat.WorkspaceRecord {
	r.t.Helper()
	v := r.view(id)
	if v.Workspace == nil {
		r.t.Fatalf("the chat has no workspace\n%s", transcript(v.Messages))
	}
	return v.Workspace
}

func offeredNames(p scripted.Prompt) string {
	var names []string
	for _, t := range p.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

// Case 15 and the awareness of Workspaces: a model makes the Workspace of its Chat and works in it in the same Turn.
func TestAModelMakesItsWorkspace(t *testing.T) {
	r, tpl := making(t, "echo ready > ready.txt; echo set up", chat.PolicyTrusted,
		[]scripted.Call{toolCall("list_templates", `{"query":"TIDE"}`), toolCall("read_file", `{"path":"ready.txt"}`)},
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID","name":"bay"}`), toolCall("create_workspace", `{"template_id":"ID"}`)},
		[]scripted.Call{toolCall("read_file", `{"path":"ready.txt"}`)})
	id := r.create("go")
	text := transcript(r.rest(id).Messages)
	w := r.made(id)
	if w.Standing() != chat.WorkspaceRunning || w.Name != "bay" || w.Made.ChatID != id || w.Directory != r.dir || !w.Trusted {
		t.Errorf("%+v", w)
	}
	for _, want := range []string{string(tpl.ID), "No workspace yet. Call create_workspace first.", `"state":"running"`, `"setup_log":"set up"`, "ready"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(text, `"workspace_id":"`+string(w.ID)) != 2 {
		t.Errorf("two calls, one workspace:\n%s", text)
	}
	if list, err := r.spaces.List(context.Background(), r.who, workspace.ListInput{}); err != nil || len(list) != 2 {
		t.Errorf("%d workspaces, %v", len(list), err)
	}
	told := ""
	for _, m := range r.all(id) {
		if m.Role == chat.RoleSystem || m.Visibility == chat.VisibleModel {
			told += chat.PlainText(m.Content) + "\n"
		}
	}
	if want := chat.TextNoWorkspace + "\n" + chat.TextWorkspace + "\n" + chat.TextWorkspace + "\n"; told != want {
		t.Errorf("the model was told\n%s", told)
	}
	prompts := r.prompts()
	for i := range prompts {
		if names := offeredNames(prompts[i]); names != offeredNames(prompts[0]) || !strings.Contains(names, "create_workspace") || !strings.Contains(names, "execute") {
			t.Errorf("step %d is offered %s", i, names)
		}
		if prompts[i].Messages[0].Content != prompts[0].Messages[0].Content {
			t.Errorf("the beginning of step %d is another:\n%s", i, prompts[i].Messages[0].Content)
		}
	}
	r.send(id, "again", "")
	r.rest(id)
	prompts = r.prompts()
	last := prompts[len(prompts)-1]
	if !strings.Contains(last.Messages[0].Content, chat.TextWorkspace) || strings.Contains(last.Messages[0].Content, chat.TextNoWorkspace) {
		t.Errorf("the next turn begins with\n%s", last.Messages[0].Content)
	}
	if offeredNames(last) != offeredNames(prompts[0]) {
		t.Errorf("the next turn is offered %s", offeredNames(last))
	}
}

// A setup waits for a person, who sees it; another one than was seen does not run.
func TestSetupAsks(t *testing.T) {
	r, tpl := making(t, "echo mine > ran.txt", chat.PolicyAsk,
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)},
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)},
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)})
	id := r.create("go")
	v := r.asks(id)
	if o := v.Chat.Outstanding; len(o) != 1 || o[0].Command != "echo mine > ran.txt" || v.Chat.WorkspaceID != "" {
		t.Fatalf("%+v", v.Chat)
	}
	other := "echo other > ran.txt"
	if _, err := r.spaces.UpdateTemplate(context.Background(), r.who, workspace.UpdateTemplateInput{ID: tpl.ID, TemplateFields: chat.TemplateFields{Setup: &other}}); err != nil {
		t.Fatal(err)
	}
	if err := r.answer(id, v.Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	v = r.until(id, "the next card", func(v2 engine.View) bool {
		return len(v2.Chat.Outstanding) == 1 && v2.Chat.State == chat.RequiresAction && v2.Chat.Outstanding[0].Call.ID != v.Chat.Outstanding[0].Call.ID
	})
	if text := transcript(v.Messages); !strings.Contains(text, "was changed after it was asked about") || r.read("ran.txt") != "(none)" || v.Chat.WorkspaceID != "" {
		t.Fatalf("%q\n%s", r.read("ran.txt"), text)
	}
	if err := r.answer(id, v.Chat.Outstanding[0].Call.ID, "deny", "not now"); err != nil {
		t.Fatal(err)
	}
	first := v.Chat.Outstanding[0].Call.ID
	v = r.until(id, "the third card", func(v engine.View) bool {
		return len(v.Chat.Outstanding) == 1 && v.Chat.State == chat.RequiresAction && v.Chat.Outstanding[0].Call.ID != first
	})
	if err := r.answer(id, v.Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	if w := r.made(id); w.Standing() != chat.WorkspaceRunning || w.Trusted || r.read("ran.txt") != "other\n" {
		t.Errorf("%+v, %q", w, r.read("ran.txt"))
	}
}

// A setup that the sandbox holds to its workspace asks nobody; one that may use the network does, and then has it.
func TestSetupInTheSandbox(t *testing.T) {
	make := []scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)}
	outside := filepath.Join(t.TempDir(), "outside")
	script := "echo in > in.txt; echo out > " + outside + "; ls /sys/class/net; true"
	for _, profile := range []chat.Profile{chat.ProfileWorkspace, chat.ProfileReadOnly} {
		r, tpl := makingIn(t, chat.ProfileWorkspace, script, chat.PolicyAsk, make)
		sandbox := string(profile)
		if _, err := r.spaces.UpdateTemplate(t.Context(), r.who, workspace.UpdateTemplateInput{ID: tpl.ID, TemplateFields: chat.TemplateFields{Sandbox: &sandbox}}); err != nil {
			t.Fatal(err)
		}
		held := r.measured(chat.ProfileWorkspace)
		t.Logf("measured %+v", held)
		id := r.create("go")
		if !held.Full() {
			if o := r.asks(id).Chat.Outstanding; len(o) != 1 || o[0].Command != script {
				t.Fatalf("%+v", o)
			}
			continue
		}
		r.rest(id)
		if w := r.made(id); w.Standing() != chat.WorkspaceRunning || r.read("in.txt") != "in\n" {
			t.Errorf("%+v, %q", w, r.read("in.txt"))
		}
		if _, err := os.Stat(outside); err == nil {
			t.Error("it wrote outside of its workspace")
		}
	}
	r, tpl := makingIn(t, chat.ProfileWorkspace, "echo in > in.txt", chat.PolicyAsk, make)
	yes := true
	if _, err := r.spaces.UpdateTemplate(t.Context(), r.who, workspace.UpdateTemplateInput{ID: tpl.ID, TemplateFields: chat.TemplateFields{SetupNetwork: &yes}}); err != nil {
		t.Fatal(err)
	}
	id := r.create("go")
	if o := r.asks(id).Chat.Outstanding; len(o) != 1 || o[0].Command != "# This setup may use the network.\necho in > in.txt" {
		t.Fatalf("%+v", o)
	}
}

// The rest of case 15: a setup that fails leaves its log and is run again by the next Call.
func TestSetupFailsThenIsRunAgain(t *testing.T) {
	r, _ := making(t, "echo try >> tries.txt; test $(wc -l < tries.txt) -ge 2", chat.PolicyTrusted,
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)},
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)},
		[]scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)})
	id := r.create("go")
	text := transcript(r.rest(id).Messages)
	if !strings.Contains(text, `"state":"setup_failed"`) || !strings.Contains(text, "exit code 1") || strings.Count(text, `"state":"running"`) != 2 {
		t.Errorf("%s", text)
	}
	if w := r.made(id); w.Standing() != chat.WorkspaceRunning || r.read("tries.txt") != "try\ntry\n" {
		t.Errorf("%+v, %q", w, r.read("tries.txt"))
	}
}

// Without a Template for models nobody is told of Workspaces that could be made.
func TestNothingToMake(t *testing.T) {
	r, tpl := making(t, "", chat.PolicyTrusted, []scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)})
	no := false
	if _, err := r.spaces.UpdateTemplate(context.Background(), r.who, workspace.UpdateTemplateInput{ID: tpl.ID, TemplateFields: chat.TemplateFields{AllowAgents: &no}}); err != nil {
		t.Fatal(err)
	}
	id := r.create("go")
	v := r.rest(id)
	if names := offeredNames(r.prompts()[0]); strings.Contains(names, "create_workspace") || strings.Contains(names, "execute") || v.Chat.WorkspaceID != "" {
		t.Errorf("%s, %q", names, v.Chat.WorkspaceID)
	}
}

// An interrupt ends a setup and leaves a Workspace that can be set up again.
func TestInterruptedSetup(t *testing.T) {
	r, _ := making(t, "echo up; sleep 1000", chat.PolicyTrusted, []scripted.Call{toolCall("create_workspace", `{"template_id":"ID"}`)})
	id := r.create("go")
	r.until(id, "the log of the setup", func(v engine.View) bool {
		return v.Draft != nil && strings.Contains(fmt.Sprintf("%+v", v.Draft), "up\n")
	})
	r.interrupt(id)
	r.rest(id)
	if err := r.spaces.Settle(context.Background(), r.made(id).ID); err != nil {
		t.Fatal(err)
	}
	if w := r.made(id); w.Standing() != chat.WorkspaceSetupFailed {
		t.Errorf("%+v", w)
	}
}
