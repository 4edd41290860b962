package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// chatTools are those that the engine adds behind the others in a root Chat.
var chatTools = []string{"ask_user_question", "spawn_agent", "wait_agent", "message_agent", "close_agent"}

var ringAndDial = []chat.ClientTool{{Name: "ring", Description: "Ring a bell.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
	{Name: "dial", Description: "Dial.", Schema: nil}}

// declares starts a Chat with Tools that its program runs.
func (r *rig) declares(tools []chat.ClientTool) chat.ID {
	r.t.Helper()
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts("go"), Title: "a chat", WorkspaceID: r.space, ClientTools: tools})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

func (r *rig) submit(id chat.ID, results ...engine.ClientResult) error {
	_, err := r.engine.Submit(context.Background(), r.who, engine.SubmitInput{ChatID: id, Results: results})
	return err
}

func output(callID, raw string) engine.ClientResult {
	return engine.ClientResult{CallID: callID, Output: json.RawMessage(raw)}
}

// TestCase72ResultsMustBeExactlyTheOutstandingOnes. The rules of the tools page about a mixed batch are here, too.
func TestCase72ResultsMustBeExactlyTheOutstandingOnes(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("ring", `{"n":"7"}`), toolCall("list_files", `{"path":"."}`), toolCall("dial", `{}`)), scripted.Text("done"))}})
	id := r.declares(ringAndDial)
	v := r.asks(id)
	if v.Chat.Lease != nil || len(v.Chat.Outstanding) != 2 || v.Draft != nil || v.Chat.ActionDeadline.IsZero() {
		t.Fatalf("%+v", v.Chat)
	}
	if len(v.Messages) != 3 || v.Messages[2].Content[0].ToolName != "list_files" {
		t.Errorf("the call of the appliance has no result:\n%s", transcript(v.Messages))
	}
	if wait := v.Chat.ActionDeadline.Sub(v.Chat.Outstanding[0].AskedAt); wait < 4*time.Minute || wait > 6*time.Minute {
		t.Errorf("the program has %s", wait)
	}
	a, b := v.Chat.Outstanding[0].Call.ID, v.Chat.Outstanding[1].Call.ID
	said := map[string]bool{}
	for name, results := range map[string][]engine.ClientResult{
		"missing":    {output(a, `1`)},
		"duplicate":  {output(a, `1`), output(a, `1`)},
		"unexpected": {output(a, `1`), output(b, `2`), output("c", `3`)},
		"no JSON":    {output(a, `1`), output(b, `{`)},
	} {
		err := r.submit(id, results...)
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != chat.KindInvalid || said[e.Detail] {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said[e.Detail] = true
	}
	if now := r.view(id); now.Chat.Version != v.Chat.Version || now.Chat.State != chat.RequiresAction {
		t.Errorf("a refusal changed the chat: %+v", now.Chat)
	}
	if err := r.submit(id, output(b, `"text"`), engine.ClientResult{CallID: a, Output: json.RawMessage(`"no bell"`), IsError: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.submit(id, output(a, `1`), output(b, `2`)); !isKind(err, chat.KindWrongState) {
		t.Errorf("a second submission: %v", err)
	}
	v = r.rest(id)
	got := transcript(v.Messages)
	if !strings.HasSuffix(got, `tool: ring = {"error":"no bell"}`+"\n"+`tool: dial = {"output":"text"}`+"\nassistant: done\n") {
		t.Errorf("%s", got)
	}
	if len(v.Chat.Outstanding) != 0 || !v.Chat.ActionDeadline.IsZero() {
		t.Errorf("%+v", v.Chat)
	}
	// The model sees each Result once, behind its Call.
	if p := r.prompts(); len(p) != 2 || len(p[1].Messages) != 6 {
		t.Errorf("%d requests", len(p))
	}
}

func TestClientToolsAreOfferedLastAndNotToThoseWhoMayNot(t *testing.T) {
	tools := append([]chat.ClientTool{{Name: "execute", Description: "Mine."}}, ringAndDial...)
	for mode, want := range map[string][]string{"": append(append([]string{"execute"}, chatTools...), "attach_file", "ring", "dial"), "plan": nil} {
		r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Text("done"))}})
		c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts("go"), Title: "a", WorkspaceID: r.space, ClientTools: tools, PlanMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		r.rest(c.ID)
		var names []string
		for _, tool := range r.prompts()[0].Tools {
			names = append(names, tool.Function.Name)
		}
		if slices.Contains(names, "ring") != (want != nil) {
			t.Errorf("mode %q: %q", mode, names)
		}
		if want != nil && !slices.Equal(names[len(names)-8:], want[1:]) || strings.Count(strings.Join(names, " "), "execute") != 1 {
			t.Errorf("mode %q: %q", mode, names)
		}
	}
}

// TestAClientToolInPlanModeIsInactive: the model is told that it exists.
func TestAClientToolInPlanModeIsInactive(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`), toolCall("rang", `{}`)), scripted.Text("done"))}})
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts("go"), Title: "a", WorkspaceID: r.space, ClientTools: ringAndDial, PlanMode: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	r.rest(c.ID)
	var active []string
	for _, tool := range r.prompts()[0].Tools {
		active = append(active, tool.Function.Name)
	}
	want := []string{`!ring {"error":` + quoted(chat.TextInactive("ring", active)) + `}`, `!rang {"error":` + quoted(chat.TextUnknown("rang", active)) + `}`}
	if got := r.results(c.ID); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestTheSiteSetsTheDeadline: it counts from the next Turn.
func TestTheSiteSetsTheDeadline(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`)), scripted.Text("done"))}})
	r.update(func(tx *kv.Tx) error {
		return tx.PutSite(site.BehaviourKey, chat.BehaviourConfig{ActionDeadlineMS: 90_000})
	})
	v := r.asks(r.declares(ringAndDial))
	if wait := v.Chat.ActionDeadline.Sub(v.Chat.Outstanding[0].AskedAt); wait < 80*time.Second || wait > 100*time.Second {
		t.Errorf("the program has %s", wait)
	}
	if err := r.submit(v.Chat.ID, output(v.Chat.Outstanding[0].Call.ID, `"rung"`)); err != nil {
		t.Fatal(err)
	}
	r.rest(v.Chat.ID)
}

func TestDeclarationsThatCannotBeOffered(t *testing.T) {
	r := newRig(t, setup{})
	many := make([]chat.ClientTool, 33)
	for i := range many {
		many[i].Name = strings.Repeat("a", i+1)
	}
	for name, tools := range map[string][]chat.ClientTool{
		"no name":      {{}},
		"a bad name":   {{Name: "a b"}},
		"twice":        {{Name: "a"}, {Name: "a"}},
		"too many":     many,
		"too large":    {{Name: "a", Description: strings.Repeat("x", 33<<10)}},
		"not a schema": {{Name: "a", Schema: json.RawMessage(`[]`)}},
		"a list":       {{Name: "a", Schema: json.RawMessage(`{"type":"array"}`)}},
	} {
		_, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts("go"), ClientTools: tools})
		if !isKind(err, chat.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out, err := r.engine.List(context.Background(), r.who, engine.ListInput{}); err != nil || len(out.Chats) != 0 {
		t.Errorf("%d chats, %v", len(out.Chats), err)
	}
}

// TestCase37ExclusiveAndClientRun: an exclusive Tool beside a client-run one refuses both, and nothing becomes outstanding.
func TestCase37ExclusiveAndClientRun(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("lone", "one")}, exclusive: []string{"lone"}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("lone", `{}`), toolCall("ring", `{}`)), scripted.Text("done"))}})
	id := r.declares(ringAndDial)
	v := r.until(id, "rest or action", func(v engine.View) bool { return v.Chat.State.AtRest() || v.Chat.State == chat.RequiresAction })
	if v.Chat.State != chat.Waiting || len(v.Chat.Outstanding) != 0 {
		t.Fatalf("%+v", v.Chat)
	}
	if got := r.results(id); len(got) != 2 || !strings.Contains(got[0], "must be called by itself") || !strings.Contains(got[1], "was skipped because lone") {
		t.Errorf("%q", got)
	}
}

func TestCallsOfAClientThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan chat.Notice, 4)
		r := newRig(t, setup{bounds: engine.Bounds{ActionTimeout: 40 * time.Second}, notify: func(n chat.Notice) { told <- n },
			model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`)), scripted.Text("done"))}})
		id := r.declares(ringAndDial)
		v := r.asks(id)
		r.send(id, "and then?", "")
		begun := v.Chat.ActionDeadline.Add(-40 * time.Second)
		v = r.rest(id)
		took := time.Since(begun)
		if v.Chat.State != chat.Failed || v.Chat.LastError == nil || v.Chat.LastError.Kind != chat.KindActionTimeout || v.Chat.Queued != 1 {
			t.Fatalf("%+v", v.Chat)
		}
		if took < 40*time.Second || took > 42*time.Second {
			t.Errorf("it took %s", took)
		}
		synctest.Wait()
		if len(told) != 2 {
			t.Fatalf("told %d times", len(told))
		}
		if first, then := <-told, <-told; first.Kind != chat.NoticeActionRequired || then.Kind != chat.NoticeFailed || then.Body != "The client did not answer in time." {
			t.Errorf("told %+v, then %+v", first, then)
		}
		said(t, v, "user: go", "assistant: ring({})", `tool: ring = {"error":"`+chat.TextLate+`"}`)
		r.retry(id)
		said(t, r.rest(id), "user: go", "assistant: ring({})", `tool: ring = {"error":"`+chat.TextLate+`"}`, "assistant: done", "user: and then?", "assistant: done")
	})
}

// TestADeadlineOutlivesARestartAndLeavesCardsOpen.
func TestADeadlineOutlivesARestartAndLeavesCardsOpen(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, bounds: engine.Bounds{ActionTimeout: time.Second}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("ring", `{}`), toolCall("execute", `{"command":"echo x | tee -a ran"}`)), scripted.Text("done"))}})
	id := r.declares(ringAndDial)
	card := r.asks(id).Chat.Outstanding[1].Call.ID
	r.reopen()
	r.start()
	v := r.until(id, "the deadline", func(v engine.View) bool { return len(v.Chat.Outstanding) == 1 })
	if v.Chat.State != chat.RequiresAction || v.Chat.LastError != nil || !v.Chat.ActionDeadline.IsZero() {
		t.Fatalf("%+v", v.Chat)
	}
	if err := r.submit(id, output("x", `1`)); !isKind(err, chat.KindWrongState) {
		t.Errorf("a late submission: %v", err)
	}
	if err := r.answer(id, card, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	if r.read("ran") != "x\n" {
		t.Errorf("ran %q", r.read("ran"))
	}
}

func TestClientCallsAreAnsweredByWhatEndsThem(t *testing.T) {
	stop := `tool: ring = {"error":"interrupted by user"}`
	for name, end := range map[string]func(r *rig, id chat.ID){
		"interrupt": func(r *rig, id chat.ID) { r.interrupt(id) },
		"send":      func(r *rig, id chat.ID) { r.send(id, "other", engine.BusyInterrupt) },
	} {
		r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`)), scripted.Text("done"))}})
		id := r.declares(ringAndDial)
		call := r.asks(id).Chat.Outstanding[0].Call.ID
		end(r, id)
		v := r.rest(id)
		if !strings.Contains(transcript(v.Messages), stop) || len(v.Chat.Outstanding) != 0 {
			t.Errorf("%s: %s", name, transcript(v.Messages))
		}
		if err := r.submit(id, output(call, `1`)); !isKind(err, chat.KindWrongState) {
			t.Errorf("%s: a late submission: %v", name, err)
		}
	}
}

// TestAForkTakesTheClientToolsAlong: its next Turn offers them.
func TestAForkTakesTheClientToolsAlong(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Text("done"))}})
	id := r.declares(ringAndDial)
	r.rest(id)
	fork, err := r.engine.Fork(context.Background(), r.who, engine.ForkInput{ChatID: id})
	if err != nil {
		t.Fatal(err)
	}
	r.send(fork.ID, "again", "")
	r.rest(fork.ID)
	all := r.prompts()
	if p := all[len(all)-1]; !p.Offers("ring") || !p.Offers("dial") || p.User() != "again" {
		t.Errorf("offered are %+v to %q", p.Tools, p.User())
	}
}
