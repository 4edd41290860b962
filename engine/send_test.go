package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func TestCase01SendStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: echo}})
		id := r.create("one")
		before := r.rest(id)
		synctest.Wait()
		begun := time.Now()
		out := r.send(id, "two", "")
		if out.Message == nil || out.Queued != nil || out.Message.ID == 0 || chat.PlainText(out.Message.Content) != "two" {
			t.Errorf("send gave %+v", out)
		}
		v := r.rest(id)
		if took := time.Since(begun); took != 0 {
			t.Errorf("the turn began %s after the send: it waited for a poll", took)
		}
		// Send, Acquire, FinishTurn.
		if got := v.Chat.Version - before.Chat.Version; got != 3 {
			t.Errorf("the version grew by %d", got)
		}
		said(t, v, "user: one", "assistant: re: one", "user: two", "assistant: re: two")
		if v.Chat.State != chat.Waiting || v.Chat.Lease != nil || v.Draft != nil {
			t.Errorf("%s, lease %v, draft %v", v.Chat.State, v.Chat.Lease, v.Draft)
		}
	})
}

func TestCase02SendWhileRunningWaitsInTheQueue(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "one" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("gate", `{}`))
		}
		return echo(p)
	}}})
	id := r.create("one")
	<-running
	before := r.view(id)
	out := r.send(id, "two", engine.BusyQueue)
	v := r.view(id)
	if out.Queued == nil || out.Message != nil || len(v.Queue) != 1 || v.Queue[0].ID != out.Queued.ID {
		t.Fatalf("send gave %+v, the queue is %v", out, v.Queue)
	}
	if v.Chat.State != chat.Running || *v.Chat.Lease != *before.Chat.Lease || v.Chat.QueueVersion != before.Chat.QueueVersion+1 {
		t.Errorf("the run was touched: %+v", v.Chat)
	}
	close(release)
	v = r.rest(id)
	said(t, v, "user: one", "assistant: gate({})", `tool: gate = {"output":"done"}`, "assistant: re: one", "user: two", "assistant: re: two")
}

func TestCase03SendWithInterrupt(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "one" {
			return stalled(scripted.Words("half an answer"))
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.until(id, "streamed text", streamed("half an answer"))
	out := r.send(id, "two", engine.BusyInterrupt)
	if out.Queued == nil || !out.Queued.Urgent {
		t.Errorf("send gave %+v", out)
	}
	v := r.until(id, "the second answer", func(v engine.View) bool { return v.Chat.State.AtRest() && len(v.Messages) == 4 })
	said(t, v, "user: one", "assistant [cut: interrupted]: half an answer", "user: two", "assistant: re: two")
}

func TestCase04TheQueueIsAnsweredInOrder(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "first" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("gate", `{}`))
		}
		return echo(p)
	}}})
	id := r.create("first")
	<-running
	for _, text := range []string{"a", "b", "c"} {
		r.send(id, text, "")
	}
	urgent := r.send(id, "urgent?", "").Queued
	if _, err := r.engine.EditQueued(context.Background(), r.who, engine.EditQueuedInput{ChatID: id, QueuedID: urgent.ID,
		Content: engine.TextParts("now the second"), Before: r.view(id).Queue[1].ID}); err != nil {
		t.Fatal(err)
	}
	close(release)
	v := r.until(id, "all answered", func(v engine.View) bool {
		if v.Chat.State.AtRest() && len(v.Queue) > 0 {
			t.Errorf("the chat rests with %d queued", len(v.Queue))
		}
		return v.Chat.State.AtRest()
	})
	said(t, v, "user: first", "assistant: gate({})", `tool: gate = {"output":"done"}`, "assistant: re: first",
		"user: a", "assistant: re: a", "user: now the second", "assistant: re: now the second", "user: b", "assistant: re: b",
		"user: c", "assistant: re: c")
}

func TestCase05AFullQueue(t *testing.T) {
	r := prepareRig(t, setup{})
	id := r.create("first")
	for i := range chat.QueueLimit {
		r.send(id, fmt.Sprint(i), "")
	}
	_, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts("one more")})
	if !isKind(err, chat.KindQueueFull) {
		t.Fatalf("%v", err)
	}
	if v := r.view(id); len(v.Queue) != chat.QueueLimit || chat.PlainText(v.Queue[19].Content) != "19" {
		t.Errorf("the queue changed: %d", len(v.Queue))
	}
}

func TestCase06SendAfterAnError(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.User() == "first" && len(p.Results()) == 0:
			return scripted.Calls(toolCall("gate", `{}`))
		case p.User() == "first":
			return scripted.Reply{Status: 401, Error: "no"}
		}
		return echo(p)
	}}})
	id := r.create("first")
	<-running
	r.send(id, "q", "")
	close(release)
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindAuth || len(v.Queue) != 1 {
		t.Fatalf("%s %v, %d queued", v.Chat.State, v.Chat.LastError, len(v.Queue))
	}
	out := r.send(id, "m", "")
	if out.Queued == nil {
		t.Errorf("m went before q: %+v", out)
	}
	v = r.rest(id)
	if v.Chat.LastError != nil || len(v.Queue) != 0 {
		t.Errorf("%v, %d queued", v.Chat.LastError, len(v.Queue))
	}
	said(t, v, "user: first", "assistant: gate({})", `tool: gate = {"output":"done"}`, "user: q", "assistant: re: q", "user: m", "assistant: re: m")
}

func TestSendRefusesWhatCannotBeStored(t *testing.T) {
	r := prepareRig(t, setup{})
	id := r.create("first")
	for name, in := range map[string]engine.SendInput{
		"busy later (case 7)": {Content: engine.TextParts("x"), Busy: "later"},
		"blank":               {Content: engine.TextParts(" \n")},
		"no parts":            {},
		"a part of no kind":   {Content: []chat.Part{{Type: chat.PartToolCall, ToolName: "execute"}}},
		"too large":           {Content: engine.TextParts(strings.Repeat("x", 1<<20+1))},
		"unknown model":       {Content: engine.TextParts("x"), ModelConfigID: chat.ModelConfigID(newID())},
		"unknown chat":        {ChatID: chat.ID(newID()), Content: engine.TextParts("x")},
	} {
		if in.ChatID == "" {
			in.ChatID = id
		}
		if _, err := r.engine.Send(context.Background(), r.who, in); err == nil || isKind(err, chat.KindInternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v := r.view(id); len(v.Queue)+len(v.Messages) != 1 || v.Chat.Version != 1 {
		t.Errorf("something was stored: %+v", v)
	}
}

func TestPromoteInterruptsAndDeleteLosesTheRace(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "first" {
			return stalled(scripted.Words("on and on"))
		}
		return echo(p)
	}}})
	id := r.create("first")
	r.until(id, "streamed text", streamed("on and on"))
	r.send(id, "a", "")
	b := r.send(id, "b", "").Queued
	if _, err := r.engine.Promote(context.Background(), r.who, engine.QueuedInput{ChatID: id, QueuedID: b.ID}); err != nil {
		t.Fatal(err)
	}
	v := r.rest(id)
	said(t, v, "user: first", "assistant [cut: interrupted]: on and on", "user: b", "assistant: re: b", "user: a", "assistant: re: a")
	for _, err := range []error{
		second(r.engine.DeleteQueued(context.Background(), r.who, engine.QueuedInput{ChatID: id, QueuedID: b.ID})),
		second(r.engine.Promote(context.Background(), r.who, engine.QueuedInput{ChatID: id, QueuedID: b.ID})),
	} {
		if !isKind(err, chat.KindNotFound) {
			t.Errorf("a taken message: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
