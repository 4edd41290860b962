package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

func (r *rig) tryEdit(id chat.ID, message chat.MessageID, text string) (engine.EditOutput, error) {
	return r.engine.Edit(context.Background(), r.who, engine.EditInput{ChatID: id, Message: message, Content: engine.TextParts(text)})
}

func (r *rig) edit(id chat.ID, message chat.MessageID, text string) engine.EditOutput {
	r.t.Helper()
	out, err := r.tryEdit(id, message, text)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// case 12
func TestCase12AnEditReplacesTheTail(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch p.User() {
		case "u3":
			<-hold
		case "new":
			if len(p.Messages) != 2 {
				t.Errorf("the deleted ones are in the request: %+v", p.Messages)
			}
		}
		return echo(p)
	}}})
	id := r.create("u1")
	r.rest(id)
	r.send(id, "u2", "")
	before := r.rest(id)
	r.send(id, "u3", "")
	r.send(id, "waits", "")
	r.interrupt(id)
	r.until(id, "the queued one runs", func(v engine.View) bool { return v.Chat.Queued == 0 })
	close(hold)
	r.rest(id)
	r.update(func(tx *kv.Tx) error {
		// A queue rests only where a Turn failed.
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		n, err := tx.NextID()
		if err != nil {
			return err
		}
		c.State, c.LastError = chat.Failed, &chat.Error{Kind: chat.KindGeneric, Message: "The turn failed."}
		if err := tx.PutQueue(c, []*chat.QueuedMessage{{ID: n, ChatID: id, Content: engine.TextParts("q")}}); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	was := r.view(id)
	out := r.edit(id, before.Messages[0].ID, "new")
	if len(out.Dropped) != 1 || chat.PlainText(out.Dropped[0].Content) != "q" || out.Message == nil {
		t.Errorf("%+v", out)
	}
	var shown []chat.MessageID
	for _, m := range was.Messages {
		shown = append(shown, m.ID)
	}
	if !slices.Equal(out.Deleted, shown) || out.Message.ID <= shown[len(shown)-1] {
		t.Errorf("deleted %v of %v, new %d", out.Deleted, shown, out.Message.ID)
	}
	v := r.rest(id)
	said(t, v, "user: new", "assistant: re: new")
	c := v.Chat
	if c.Queued != 0 || c.LastError != nil || c.HistoryEpoch != was.Chat.HistoryEpoch+1 || c.LastReply != v.Messages[1].ID {
		t.Errorf("%+v", c)
	}
}

// case 13
func TestCase13AnEditTakesTheLeaseOfARun(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "one" {
			return stalled(scripted.Words("on and on"))
		}
		return echo(p)
	}}})
	id := r.create("one")
	v := r.until(id, "streamed text", streamed("on and on"))
	r.edit(id, v.Messages[0].ID, "two")
	if v := r.view(id); v.Draft != nil && streamed("on and on")(v) {
		t.Error("the old reply is still shown")
	}
	said(t, r.rest(id), "user: two", "assistant: re: two")
	for _, m := range r.all(id) {
		if m.Partial {
			t.Errorf("something of the old run landed: %+v", m)
		}
	}
}

// case 13, while a Tool runs that does not heed its end: what it did is not written, and its files belong to the new Message.
func TestCase13AnEditWhileToolsRun(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassEffect, true)
	r := newRig(t, setup{place: true, tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() != "one" {
			return echo(p)
		}
		if len(p.Results()) == 0 {
			return scripted.Calls(toolCall("write_file", `{"path":"x","content":"y"}`))
		}
		return scripted.Calls(toolCall("gate", `{}`))
	}}})
	id := r.create("one")
	<-running
	v := r.view(id)
	out := r.edit(id, v.Messages[0].ID, "two")
	close(release)
	v = r.rest(id)
	said(t, v, "user: two", "assistant: re: two")
	if v.Restorable[out.Message.ID] != 1 {
		t.Errorf("restorable: %v", v.Restorable)
	}
	if got, err := r.engine.Restore(context.Background(), r.who, engine.RestoreInput{ChatID: id, Message: out.Message.ID}); err != nil ||
		len(got.Restored) != 1 || r.read("x") != "(none)" {
		t.Errorf("%+v %v", got, err)
	}
}

// case 14, and the refusals that change nothing
func TestCase14WhatCannotBeEdited(t *testing.T) {
	r := newRig(t, setup{config: priced, model: scripted.Model{Answer: echo}})
	id, other := r.create("one"), r.create("elsewhere")
	v, far := r.rest(id), r.rest(other)
	user, reply := v.Messages[0].ID, v.Messages[1].ID
	hidden := r.all(id)[0].ID
	gone := r.edit(id, user, "two").Deleted[0]
	r.rest(id)
	version, messages, _ := r.contents(id)
	refused := func(name string, m chat.MessageID, kind chat.Kind) {
		t.Helper()
		if _, err := r.tryEdit(id, m, "x"); !isKind(err, kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused("zero", 0, chat.KindInvalid)
	refused("negative", -1, chat.KindInvalid)
	refused("of another chat", far.Messages[0].ID, chat.KindNotFound)
	refused("unknown", 1_000_000, chat.KindNotFound)
	refused("deleted", gone, chat.KindNotFound)
	refused("a deleted reply", reply, chat.KindNotFound)
	refused("only the model sees it", hidden, chat.KindNotFound)
	v = r.view(id)
	refused("a reply", v.Messages[1].ID, chat.KindInvalid)
	if _, err := r.tryEdit(id, v.Messages[1].ID, "x"); err == nil || !strings.Contains(err.Error(), "Only user messages can be edited.") {
		t.Errorf("%v", err)
	}
	r.limit(1, chat.NoLimit)
	refused("above the limit", v.Messages[0].ID, chat.KindUsageLimit)
	if now, left, _ := r.contents(id); now != version || left != messages {
		t.Errorf("a refusal changed something: version %d to %d, %d to %d messages", version, now, messages, left)
	}
}

func TestAnEditWithAKeyHappensOnce(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("one")
	v := r.rest(id)
	in := engine.EditInput{ChatID: id, Message: v.Messages[0].ID, Content: engine.TextParts("two"), Key: "k"}
	first, err := r.engine.Edit(context.Background(), r.who, in)
	if err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	again, err := r.engine.Edit(context.Background(), r.who, in)
	if err != nil || !again.Replayed || again.Message.ID != first.Message.ID || !slices.Equal(again.Deleted, first.Deleted) {
		t.Errorf("%+v %v", again, err)
	}
}

// TestAnEditForgetsWhatTheRecordSaid: title, open cards, the workspace's section and what was read of files follow the history.
func TestAnEditForgetsWhatTheRecordSaid(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			return scripted.Text("untitled")
		}
		if p.User() == "run it" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("execute", `{"command":"true"}`))
		}
		return echo(p)
	}}})
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts("first words")})
	if err != nil {
		t.Fatal(err)
	}
	v := r.rest(c.ID)
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: c.ID, WorkspaceID: &r.space}); err != nil {
		t.Fatal(err)
	}
	r.update(func(tx *kv.Tx) error { return tx.PutFileReads(c.ID, map[string]string{"a": "b"}) })
	r.send(c.ID, "run it", "")
	r.until(c.ID, "the card", func(v engine.View) bool { return v.Chat.State == chat.RequiresAction })
	r.edit(c.ID, v.Messages[0].ID, "something else")
	if now := r.view(c.ID).Chat; now.Title != "something else" || len(now.Outstanding) != 0 {
		t.Errorf("%q, outstanding %v", now.Title, now.Outstanding)
	}
	v = r.rest(c.ID)
	said(t, v, "user: something else", "assistant: re: something else")
	prompts := r.prompts()
	if last := prompts[len(prompts)-1]; !strings.Contains(last.Messages[0].Content, chat.TextWorkspace) {
		t.Errorf("the prompt no longer knows the workspace:\n%s", last.Messages[0].Content)
	}
	var reads map[string]string
	if err := r.store.View(context.Background(), func(tx *kv.Tx) (err error) {
		reads, err = tx.FileReads(c.ID)
		return err
	}); err != nil || len(reads) != 0 {
		t.Errorf("%v %v", reads, err)
	}
}

// case 15
func TestCase15AnEditGivesNothingBack(t *testing.T) {
	r := newRig(t, setup{config: priced, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "three" {
			return stalled(scripted.Words("on and on"))
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	r.send(id, "two", "")
	v := r.rest(id)
	sum := r.cost(id)
	if sum.Requests != 2 || sum.CostMicros == 0 {
		t.Fatalf("%+v", sum)
	}
	out := r.edit(id, v.Messages[0].ID, "three")
	r.until(id, "streamed text", streamed("on and on"))
	if got := r.cost(id); got != sum {
		t.Errorf("after the edit it costs %+v, before %+v", got, sum)
	}
	r.limit(sum.CostMicros, chat.NoLimit)
	if _, err := r.tryEdit(id, out.Message.ID, "four"); !isKind(err, chat.KindUsageLimit) {
		t.Errorf("the limit no longer holds: %v", err)
	}
}
