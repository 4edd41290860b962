package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// spawned is what the n-th Result since the user's text says about a Sub-agent.
func spawned(p *scripted.Prompt, n int) (id string) {
	var r struct {
		ChatID string `json:"chat_id"`
	}
	if all := p.Results(); n < len(all) && json.Unmarshal([]byte(all[n].Content), &r) == nil {
		return r.ChatID
	}
	return ""
}

// isChild says whether a request is that of a Sub-agent.
func isChild(p *scripted.Prompt) bool { return strings.Contains(p.Messages[0].Content, "<sub-agent>") }

func offers(p *scripted.Prompt) string {
	var names []string
	for _, t := range p.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

func (r *rig) children(id chat.ID) []*chat.Chat {
	r.t.Helper()
	out, err := r.engine.Families(context.Background(), r.who, engine.FamiliesInput{IDs: []chat.ID{id}})
	if err != nil {
		r.t.Fatal(err)
	}
	return out[id]
}

// family lets a root run these Calls, one a Step, with "$ID" for the first Sub-agent's id; child answers its requests.
func family(child func(*scripted.Prompt) scripted.Reply, steps ...scripted.Call) func(*scripted.Prompt) scripted.Reply {
	return func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			return scripted.Text(`{"title":"Named by the model"}`)
		}
		if isChild(p) {
			return child(p)
		}
		n := len(p.Results())
		if n >= len(steps) {
			return scripted.Text("done")
		}
		call := steps[n]
		call.Args = json.RawMessage(strings.ReplaceAll(string(call.Args), "$ID", spawned(p, 0)))
		return scripted.Calls(call)
	}
}

func resultParts(v engine.View) []chat.Part {
	var out []chat.Part
	for _, m := range v.Messages {
		if m.Role == chat.RoleTool {
			out = append(out, m.Content[0])
		}
	}
	return out
}

// TestCase70WaitingForASubAgent: its report; three different refusals; no tools for its own.
func TestCase70WaitingForASubAgent(t *testing.T) {
	var offered atomic.Value
	var foreign atomic.Value
	foreign.Store("x")
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "foreign" {
			return scripted.Text("here")
		}
		return family(func(p *scripted.Prompt) scripted.Reply {
			offered.Store(offers(p))
			if len(p.Results()) == 0 {
				return scripted.Calls(toolCall("spawn_agent", `{"prompt":"deeper"}`))
			}
			return scripted.Text("I found it.")
		}, toolCall("spawn_agent", `{"prompt":"find it for me in all of these files"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`),
			toolCall("wait_agent", `{"chat_id":"nonsense"}`), toolCall("wait_agent", `{"chat_id":"`+newID()+`"}`),
			toolCall("wait_agent", `{"chat_id":"`+foreign.Load().(string)+`"}`))(p)
	}}})
	other := r.create("foreign")
	r.rest(other)
	foreign.Store(string(other))
	id := r.create("go")
	v := r.rest(id)
	got := resultParts(v)
	if len(got) != 5 {
		t.Fatalf("%s", transcript(v.Messages))
	}
	child := r.children(id)[0]
	want := `{"chat_id":"` + string(child.ID) + `","title":"find it for me in all…","report":"I found it.","status":"waiting"}`
	if string(got[1].Result) != want || got[1].IsError {
		t.Errorf("%s, want %s", got[1].Result, want)
	}
	said := map[string]bool{}
	for _, p := range got[2:] {
		said[strings.ReplaceAll(string(p.Result), string(other), "ID")] = p.IsError
	}
	if len(said) != 3 || strings.Contains(string(got[4].Result), "no chat with") {
		t.Errorf("%v", said)
	}
	for _, bad := range []string{"spawn_agent", "wait_agent", "ask_user_question", "message_agent"} {
		if strings.Contains(offered.Load().(string), bad) {
			t.Errorf("a sub-agent is offered %s", offered.Load())
		}
	}
	if c := resultParts(r.view(child.ID))[0]; !c.IsError || !strings.Contains(string(c.Result), `"tool \"spawn_agent\" is not available in this turn`) && !strings.Contains(string(c.Result), "not available") {
		t.Errorf("a sub-agent's spawn: %s", c.Result)
	}
	if child.OwnerID != r.who.UserID || child.WorkspaceID != r.space || child.RootID != id || child.AgentType != chat.AgentGeneral {
		t.Errorf("%+v", child)
	}
	// All of it counts at the root.
	err := r.store.View(context.Background(), func(tx *kv.Tx) error {
		all, err := tx.Usage(id)
		of := map[chat.ID]int{}
		for _, u := range all {
			of[u.ChatID]++
		}
		if of[child.ID] != 2 || of[id] != 6 {
			t.Errorf("usage %v", of)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsInTimeOrWithTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: family(func(p *scripted.Prompt) scripted.Reply {
			if p.User() == "fail" {
				return scripted.Reply{Status: 404, Error: "model gone"}
			}
			return stalled(scripted.Words("I begin"))
		}, toolCall("spawn_agent", `{"prompt":"slow","title":"Slow one"}`), toolCall("wait_agent", `{"chat_id":"$ID","timeout_seconds":2}`),
			toolCall("message_agent", `{"chat_id":"$ID","message":"and this"}`), toolCall("close_agent", `{"chat_id":"$ID"}`),
			toolCall("wait_agent", `{"chat_id":"$ID"}`), toolCall("message_agent", `{"chat_id":"$ID","message":"fail"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`))}})
		id := r.create("go")
		got := resultParts(r.rest(id))
		if len(got) != 7 {
			t.Fatalf("%s", transcript(r.view(id).Messages))
		}
		for i, want := range []string{`"status":"pending"`, `"status":"running","timed_out":true`, `"queued":true`, `"dropped":["and this"]`,
			`"report":"I begin","status":"waiting","rest_reason":"interrupted"`, `"status":"pending"`, `"error":"`} {
			if !strings.Contains(string(got[i].Result), want) || got[i].IsError != (i == 6) {
				t.Errorf("result %d is %s, want %s", i, got[i].Result, want)
			}
		}
	})
}

// TestInterruptingARootStopsItsSubAgents: and drops what waits in their queues.
func TestInterruptingARootStopsItsSubAgents(t *testing.T) {
	r := newRig(t, setup{bounds: engine.Bounds{ChildTurns: 1}, model: scripted.Model{Answer: family(func(*scripted.Prompt) scripted.Reply {
		return stalled(scripted.Words("I begin"))
	}, toolCall("spawn_agent", `{"prompt":"one"}`), toolCall("spawn_agent", `{"prompt":"two"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`))}})
	id := r.create("go")
	r.until(id, "the wait", func(v engine.View) bool {
		return len(v.Children) == 2 && v.Draft != nil && len(v.Draft.Parts) == 2 && v.Draft.Parts[1].ToolName == "wait_agent"
	})
	kids := r.children(id)
	r.until(kids[0].ID, "text", streamed("I begin"))
	r.send(kids[0].ID, "more", "")
	if s := r.view(kids[1].ID).Chat.State; s != chat.Pending {
		t.Errorf("the second sub-agent is %s, though there is one slot", s)
	}
	r.interrupt(id)
	for _, k := range kids {
		v := r.rest(k.ID)
		if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestInterrupted || v.Chat.Queued != 0 || !v.Chat.Turn.WithParent {
			t.Errorf("%s: %s (%s), %d queued, %+v", k.Title, v.Chat.State, v.Chat.RestReason, v.Chat.Queued, v.Chat.Turn)
		}
	}
	if v := r.rest(id); v.Chat.RestReason != chat.RestInterrupted {
		t.Errorf("%+v", v.Chat)
	}
	said(t, r.view(kids[0].ID), "user: one", "assistant [cut: interrupted]: I begin")
	// Who goes on with one and stops it alone is told of that, not of its parent.
	r.retry(kids[0].ID)
	r.until(kids[0].ID, "text", streamed("I begin"))
	r.interrupt(kids[0].ID)
	if v := r.rest(kids[0].ID); v.Chat.RestReason != chat.RestInterrupted || v.Chat.Turn.WithParent {
		t.Errorf("%+v", v.Chat)
	}
}

// TestWhatInterruptsARootStopsItsSubAgents: also where that is a message, or one of the queue, that is to be next at once.
func TestWhatInterruptsARootStopsItsSubAgents(t *testing.T) {
	for name, interrupt := range map[string]func(r *rig, id chat.ID){
		"send": func(r *rig, id chat.ID) { r.send(id, "something else", engine.BusyInterrupt) },
		"promote": func(r *rig, id chat.ID) {
			q := r.send(id, "something else", "").Queued
			if _, err := r.engine.Promote(context.Background(), r.who, engine.QueuedInput{ChatID: id, QueuedID: q.ID}); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if p.User() == "something else" {
				return scripted.Text("Something else it is.")
			}
			return family(func(*scripted.Prompt) scripted.Reply { return stalled(scripted.Words("I begin")) },
				toolCall("spawn_agent", `{"prompt":"one"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`))(p)
		}}})
		id := r.create("go")
		v := r.until(id, "the wait", func(v engine.View) bool {
			return len(v.Children) == 1 && v.Draft != nil && len(v.Draft.Parts) == 2 && v.Draft.Parts[1].ToolName == "wait_agent"
		})
		kid := v.Children[0].ID
		r.until(kid, "text", streamed("I begin"))
		interrupt(r, id)
		k := r.rest(kid)
		if k.Chat.State != chat.Waiting || k.Chat.RestReason != chat.RestInterrupted || !k.Chat.Turn.WithParent {
			t.Errorf("%s: the sub-agent is %s (%s), %+v", name, k.Chat.State, k.Chat.RestReason, k.Chat.Turn)
		}
		v = r.rest(id)
		if last := v.Messages[len(v.Messages)-1]; v.Chat.State != chat.Waiting || last.Content[0].Text != "Something else it is." {
			t.Errorf("%s: %s", name, transcript(v.Messages))
		}
	}
}

// TestAnEditStopsTheSubAgents: what they work on is deleted; each says that its parent took it along.
func TestAnEditStopsTheSubAgents(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "something else" {
			return scripted.Text("Something else it is.")
		}
		return family(func(*scripted.Prompt) scripted.Reply { return stalled(scripted.Words("I begin")) },
			toolCall("spawn_agent", `{"prompt":"one"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`))(p)
	}}})
	id := r.create("go")
	v := r.until(id, "a sub-agent", func(v engine.View) bool { return len(v.Children) == 1 })
	kid := v.Children[0].ID
	r.until(kid, "text", streamed("I begin"))
	if _, err := r.engine.Edit(context.Background(), r.who, engine.EditInput{ChatID: id, Message: v.Messages[0].ID, Content: engine.TextParts("something else")}); err != nil {
		t.Fatal(err)
	}
	k := r.rest(kid)
	if k.Chat.State != chat.Waiting || k.Chat.RestReason != chat.RestInterrupted || !k.Chat.Turn.WithParent {
		t.Errorf("the sub-agent is %s (%s), %+v", k.Chat.State, k.Chat.RestReason, k.Chat.Turn)
	}
	said(t, k, "user: one", "assistant [cut: interrupted]: I begin")
	said(t, r.rest(id), "user: something else", "assistant: Something else it is.")
}

// TestAFamilyHasItsBounds: four at work at once; five roots do not keep a Sub-agent from running.
func TestAFamilyHasItsBounds(t *testing.T) {
	r := newRig(t, setup{bounds: engine.Bounds{RunningTurns: 1}, model: scripted.Model{Answer: family(func(*scripted.Prompt) scripted.Reply {
		return stalled(scripted.Words("I begin"))
	}, toolCall("spawn_agent", `{"prompt":"a"}`), toolCall("spawn_agent", `{"prompt":"b"}`), toolCall("spawn_agent", `{"prompt":"c"}`),
		toolCall("spawn_agent", `{"prompt":"d"}`), toolCall("spawn_agent", `{"prompt":"e"}`), toolCall("spawn_agent", `{"prompt":"f","type":"computer_use"}`))}})
	id := r.create("go")
	v := r.rest(id)
	got := resultParts(v)
	if len(got) != 6 || len(r.children(id)) != 4 {
		t.Fatalf("%s", transcript(v.Messages))
	}
	for i, p := range got {
		if p.IsError != (i > 3) {
			t.Errorf("%d: %s", i, p.Result)
		}
	}
	for _, k := range r.children(id) {
		r.until(k.ID, "text", streamed("I begin"))
	}
	r.interrupt(id)
	for _, k := range r.children(id) {
		r.rest(k.ID)
	}
}

// TestTwoSubAgentsShareFiles: writers of one Workspace take turns, and nobody overwrites what it has not seen.
func TestTwoSubAgentsShareFiles(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isChild(p) {
			switch len(p.Results()) {
			case 0:
				return scripted.Calls(toolCall("read_file", `{"path":"a.txt"}`))
			case 1:
				return scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"`+p.User()+`"}`))
			}
			return scripted.Text(p.Results()[1].Content)
		}
		switch n := len(p.Results()); n {
		case 0:
			return scripted.Calls(toolCall("read_file", `{"path":"a.txt"}`))
		case 1:
			return scripted.Calls(toolCall("spawn_agent", `{"prompt":"from the child"}`))
		case 2:
			return scripted.Calls(toolCall("wait_agent", `{"chat_id":"`+spawned(p, 1)+`"}`))
		case 3:
			return scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"from the root"}`))
		}
		return scripted.Text("done")
	}}})
	r.write("a.txt", "first")
	got := resultParts(r.rest(r.create("go")))
	if len(got) != 4 || !got[3].IsError || !strings.Contains(string(got[3].Result), "changed since") || r.read("a.txt") != "from the child" {
		t.Errorf("%q has %q", got[len(got)-1].Result, r.read("a.txt"))
	}
}

// TestWritersOfAFamilyTakeTurns.
func TestWritersOfAFamilyTakeTurns(t *testing.T) {
	var now, most atomic.Int32
	slow := &probe{name: "slow", class: chat.ClassEffect, writes: true, run: func(context.Context, chat.Env, json.RawMessage) chat.Result {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
		return chat.Result{Content: "ok"}
	}}
	r := newRig(t, setup{place: true, tools: []chat.Tool{slow}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isChild(p) {
			if len(p.Results()) == 0 {
				return scripted.Calls(toolCall("slow", `{}`), toolCall("slow", `{"n":2}`))
			}
			return scripted.Text("did it")
		}
		if n := len(p.Results()); n < 3 {
			return scripted.Calls(toolCall("spawn_agent", `{"prompt":"go"}`))
		}
		return scripted.Text("done")
	}}})
	id := r.create("start")
	r.rest(id)
	for _, k := range r.children(id) {
		r.rest(k.ID)
	}
	if most.Load() != 1 {
		t.Errorf("%d writers at once", most.Load())
	}
}

func TestExploreOnlyReads(t *testing.T) {
	var offered atomic.Value
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: family(func(p *scripted.Prompt) scripted.Reply {
		offered.Store(offers(p) + "\n" + p.Messages[0].Content)
		if len(p.Results()) == 0 {
			return scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"x"}`))
		}
		return scripted.Text("seen")
	}, toolCall("spawn_agent", `{"prompt":"look","type":"explore"}`), toolCall("wait_agent", `{"chat_id":"$ID"}`))}})
	id := r.create("go")
	r.rest(id)
	names, system, _ := strings.Cut(offered.Load().(string), "\n")
	if names != "process_output process_list read_file list_files search_files" || !strings.Contains(system, "<explore-mode>") || strings.Contains(system, "<plan-mode>") {
		t.Errorf("%s\n%s", names, system)
	}
	if c := resultParts(r.view(r.children(id)[0].ID))[0]; !c.IsError || r.read("a.txt") != "(none)" {
		t.Errorf("%s, a.txt %q", c.Result, r.read("a.txt"))
	}
}
