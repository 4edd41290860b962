package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

func (r *rig) answer(id chat.ID, callID, decision, reason string) error {
	_, err := r.engine.Answer(context.Background(), r.who, engine.AnswerInput{ChatID: id, CallID: callID, Decision: decision, Reason: reason})
	return err
}

func (r *rig) asks(id chat.ID) engine.View {
	r.t.Helper()
	return r.until(id, "a question", func(v engine.View) bool { return v.Chat.State == chat.RequiresAction })
}

// TestApproval: in a Workspace that is not trusted a command waits for a person, and runs exactly once when allowed.
func TestApproval(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("list_files", `{"path":"."}`), toolCall("execute", `{"command":"echo x | tee -a ran"}`), toolCall("execute", `{"command":"echo y | tee -a ran2"}`)),
		scripted.Text("done"))}})
	id := r.create("go")
	v := r.asks(id)
	if v.Chat.Lease != nil || len(v.Chat.Outstanding) != 2 || v.Draft != nil || r.read("ran") != "(none)" {
		t.Fatalf("%+v", v.Chat)
	}
	if len(v.Messages) != 3 || v.Messages[2].Content[0].ToolName != "list_files" {
		t.Errorf("the other call has no result:\n%s", transcript(v.Messages))
	}
	first, second := v.Chat.Outstanding[0].Call.ID, v.Chat.Outstanding[1].Call.ID
	if err := r.answer(id, first, "maybe", ""); !isKind(err, chat.KindInvalid) {
		t.Errorf("maybe: %v", err)
	}
	if err := r.answer(id, "no such call", "allow_once", ""); !isKind(err, chat.KindNotFound) {
		t.Errorf("unknown call: %v", err)
	}
	if err := r.answer(id, first, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	if err := r.answer(id, first, "deny", ""); !isKind(err, chat.KindWrongState) {
		t.Errorf("a second answer: %v", err)
	}
	if v := r.view(id); v.Chat.State != chat.RequiresAction {
		t.Errorf("%s with an open card", v.Chat.State)
	}
	if err := r.answer(id, second, "deny", "not on a Friday"); err != nil {
		t.Fatal(err)
	}
	v = r.rest(id)
	if r.read("ran") != "x\n" || r.read("ran2") != "(none)" {
		t.Errorf("ran %q, ran2 %q", r.read("ran"), r.read("ran2"))
	}
	got := transcript(v.Messages)
	if !strings.HasSuffix(got, `tool: execute = {"error":"the user denied this call: not on a Friday"}`+"\nassistant: done\n") ||
		!strings.Contains(string(v.Messages[3].Content[0].Result), `"success":true`) || len(v.Chat.Outstanding) != 0 {
		t.Errorf("%s", got)
	}
	// The model sees each Result once, behind its Call.
	p := r.prompts()
	var roles []string
	for _, m := range p[1].Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool tool" {
		t.Errorf("the request has %s", got)
	}
}

func TestApprovalSurvivesARestart(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("execute", `{"command":"echo x | tee -a ran"}`)), scripted.Text("done"))}})
	id := r.create("go")
	call := r.asks(id).Chat.Outstanding[0].Call.ID
	r.reopen()
	if err := r.answer(id, call, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	// Allowed, and stopped again before it ran.
	r.reopen()
	r.start()
	r.rest(id)
	if r.read("ran") != "x\n" || len(r.prompts()) != 2 {
		t.Errorf("ran %q, %d requests", r.read("ran"), len(r.prompts()))
	}
}

// TestOpenCardsAreAnsweredByWhatEndsThem: an interrupt, an urgent Message and archiving answer open cards with text:user-stop.
func TestOpenCardsAreAnsweredByWhatEndsThem(t *testing.T) {
	stop := `tool: execute = {"error":"interrupted by user"}`
	yes := true
	for name, c := range map[string]struct {
		end   func(r *rig, id chat.ID)
		after []string
	}{
		"interrupt": {func(r *rig, id chat.ID) { r.interrupt(id) }, nil},
		"send":      {func(r *rig, id chat.ID) { r.send(id, "other", engine.BusyInterrupt) }, []string{"user: other", "assistant: re: other"}},
		"archive": {func(r *rig, id chat.ID) {
			if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, Archived: &yes}); err != nil {
				r.t.Fatal(err)
			}
		}, nil},
		"interrupt after the answer, before it ran": {func(r *rig, id chat.ID) {
			r.reopen()
			if err := r.answer(id, r.view(id).Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
				r.t.Fatal(err)
			}
			r.interrupt(id)
			r.start()
		}, nil},
		"urgent message after the answer, before it ran": {func(r *rig, id chat.ID) {
			r.reopen()
			if err := r.answer(id, r.view(id).Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
				r.t.Fatal(err)
			}
			r.send(id, "other", engine.BusyInterrupt)
			r.start()
		}, []string{"user: other", "assistant: re: other"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
				if p.User() == "go" {
					return scripted.Calls(toolCall("execute", `{"command":"echo x | tee -a ran"}`))
				}
				return echo(p)
			}}})
			id := r.create("go")
			r.asks(id)
			c.end(r, id)
			v := r.rest(id)
			said(t, v, append([]string{"user: go", `assistant: execute({"command":"echo x | tee -a ran"})`, stop}, c.after...)...)
			if len(v.Chat.Outstanding) != 0 || r.read("ran") != "(none)" {
				t.Errorf("outstanding %v, ran %q", v.Chat.Outstanding, r.read("ran"))
			}
		})
	}
}

// TestInterruptMeetsAskAction: a Step that would ask a person, committed while the Chat is interrupting, leaves nothing outstanding.
func TestInterruptMeetsAskAction(t *testing.T) {
	var r *rig
	var id chat.ID
	var once atomic.Bool
	hear := make(chan struct{})
	self := &probe{name: "self", run: func(context.Context, chat.Env, json.RawMessage) chat.Result {
		if once.CompareAndSwap(false, true) {
			<-hear
			r.interrupt(id)
		}
		return chat.Result{Content: "ok"}
	}}
	r = newRig(t, setup{place: true, untrusted: true, tools: []chat.Tool{self}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("self", `{}`), toolCall("execute", `{"command":"echo x | tee -a ran"}`)), scripted.Text("done"))}})
	id = r.create("go")
	close(hear)
	v := r.rest(id)
	said(t, v, "user: go", `assistant: self({}) execute({"command":"echo x | tee -a ran"})`, `tool: self = {"output":"ok"}`,
		`tool: execute = {"error":"`+chat.TextCut+`"}`)
	if len(v.Chat.Outstanding) != 0 || v.Chat.RestReason != chat.RestInterrupted {
		t.Errorf("%+v", v.Chat)
	}
}

// TestInterruptWhileAnAllowedCallRuns: its Result is kept once and nothing stays outstanding.
func TestInterruptWhileAnAllowedCallRuns(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("execute", `{"command":"echo begun; sleep 600","timeout":"5m"}`)), scripted.Text("done"))}})
	id := r.create("go")
	if err := r.answer(id, r.asks(id).Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	r.until(id, "live output", func(v engine.View) bool {
		return v.Draft != nil && len(v.Draft.Parts) == 1 && strings.Contains(v.Draft.Parts[0].Live, "begun")
	})
	r.interrupt(id)
	v := r.rest(id)
	if len(v.Messages) != 3 || len(v.Chat.Outstanding) != 0 || !strings.Contains(string(v.Messages[2].Content[0].Result), "begun") {
		t.Errorf("%s, outstanding %v", transcript(v.Messages), v.Chat.Outstanding)
	}
	r.send(id, "next", "")
	if v = r.rest(id); len(v.Messages) != 5 {
		t.Errorf("%s", transcript(v.Messages))
	}
}

// TestApprovedCallsRunWhereTheyWereAsked: while a card is open the Chat stays in its Workspace.
func TestApprovedCallsRunWhereTheyWereAsked(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("execute", `{"command":"echo x | tee -a ran"}`)), scripted.Text("done"))}})
	id := r.create("go")
	call := r.asks(id).Chat.Outstanding[0].Call.ID
	var none chat.WorkspaceID
	title := "another title"
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, WorkspaceID: &none, Title: &title}); !isKind(err, chat.KindWrongState) {
		t.Errorf("leaving the workspace: %v", err)
	}
	if c := r.view(id).Chat; c.WorkspaceID == "" || c.Title == title {
		t.Errorf("it was half done: %+v", c)
	}
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, Title: &title}); err != nil {
		t.Errorf("a title: %v", err)
	}
	if err := r.answer(id, call, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	if r.read("ran") != "x\n" {
		t.Errorf("ran %q", r.read("ran"))
	}
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, WorkspaceID: &none}); err != nil {
		t.Errorf("at rest: %v", err)
	}
}

// TestASubAgentsCardIsAnsweredForTheFamily: the parent's page has the card of its sub-agent; what is allowed for the chat counts for the
// whole family, also for the next sub-agent.
func TestASubAgentsCardIsAnsweredForTheFamily(t *testing.T) {
	child := func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) == 0 {
			return scripted.Calls(toolCall("execute", `{"command":"tee -a ran"}`))
		}
		return scripted.Text("ran it")
	}
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: family(child, toolCall("spawn_agent", `{"prompt":"first"}`),
		toolCall("wait_agent", `{"chat_id":"$ID"}`), toolCall("spawn_agent", `{"prompt":"second"}`))}})
	id := r.create("go")
	var asking *chat.Chat
	r.until(id, "the sub-agent's card", func(v engine.View) bool {
		for _, c := range v.Children {
			if c.State == chat.RequiresAction && len(c.Outstanding) == 1 {
				asking = c
			}
		}
		return asking != nil
	})
	if err := r.answer(asking.ID, asking.Outstanding[0].Call.ID, "allow_chat", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	r.until(id, "both sub-agents at rest", func(v engine.View) bool {
		if len(v.Children) != 2 {
			return false
		}
		for _, c := range v.Children {
			if c.State == chat.RequiresAction {
				t.Fatal("the second sub-agent asks for what the family has leave for")
			}
			if !c.State.AtRest() {
				return false
			}
		}
		return true
	})
	if err := r.store.View(context.Background(), func(tx *kv.Tx) error {
		set, err := tx.ChatRules(id)
		if err == nil && (len(set.Rules) != 1 || set.Rules[0].Command != "tee -a ran") {
			t.Errorf("%+v", set)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
