package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// bulk puts a Chat with n Messages of so many bytes into the store; it stops early, and says so, when the store is full.
func (r *rig) bulk(n, size int) (chat.ID, bool) {
	r.t.Helper()
	id := chat.ID(newID())
	noise := make([]byte, size/2)
	rand.Read(noise)
	msg := chat.Message{ChatID: id, Role: chat.RoleUser, Content: engine.TextParts(hex.EncodeToString(noise)), ContentVersion: 1}
	enc, err := kv.EncodeMessage(&msg)
	if err != nil {
		r.t.Error(err)
	}
	for i := 0; i < n && err == nil; i++ {
		err = r.store.Update(context.Background(), func(tx *kv.Tx) error {
			c, found, err := tx.Chat(id)
			if err != nil {
				return err
			}
			if !found {
				c = &chat.Chat{ID: id, RootID: id, OwnerID: r.who.UserID, Title: "bulk", State: chat.Waiting, Archived: true, Version: 1}
				if err := tx.PutChat(c); err != nil {
					return err
				}
			}
			if _, err := tx.AppendMessage(c, enc); err != nil {
				return err
			}
			return tx.PutChat(c)
		})
	}
	if err != nil && !errors.Is(err, kv.ErrNoSpace) {
		r.t.Error(err)
	}
	return id, err != nil
}

// fill leaves no room for even the smallest commit.
func (r *rig) fill() bool {
	full := false
	for _, size := range []int{4096, 512, 16, 16, 16} {
		_, full = r.bulk(100_000, size)
	}
	return full
}

// fullRig runs a Chat whose first Call fills the store, and waits until its Step waits for room; makeRoom gives some back.
func fullRig(t *testing.T) (r *rig, id chat.ID, v engine.View, makeRoom func()) {
	t.Helper()
	filled := make(chan bool, 1)
	fill := &probe{name: "fill", run: func(context.Context, chat.Env, json.RawMessage) chat.Result {
		filled <- r.fill()
		return chat.Result{Content: strings.Repeat("x", 30_000)}
	}}
	r = prepareRig(t, setup{maxBytes: 8 << 20, tools: []chat.Tool{fill}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "go" && len(p.Results()) == 0 {
			return scripted.Reply{Frames: append(scripted.Words("I fill it."), scripted.Frame{Calls: []scripted.Call{toolCall("fill", `{}`)}})}
		}
		return echo(p)
	}}})
	old, _ := r.bulk(200, 4096)
	id = r.create("go")
	r.send(id, "queued", "")
	r.start()
	if !<-filled {
		t.Fatal("the store never got full")
	}
	v = r.until(id, "the wait for room", func(v engine.View) bool {
		return v.Draft != nil && v.Draft.Retry != nil && v.Draft.Retry.Kind == chat.KindNoSpace
	})
	return r, id, v, func() {
		r.update(func(tx *kv.Tx) error { return tx.DeleteFamily(old) })
		if _, err := r.store.PurgeFamilies(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCase09AFullStore: a Step that cannot be committed keeps its Draft, publishes nothing and takes nothing; when there is room again it
// goes on, and the queue is taken.
func TestCase09AFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id, v, makeRoom := fullRig(t)
		if len(v.Draft.Parts) != 3 || v.Draft.Parts[0].Text != "I fill it." || v.Draft.Parts[2].Result == nil || len(v.Messages) != 1 || len(v.Queue) != 1 {
			t.Fatalf("%d parts in the draft, %d queued\n%s", len(v.Draft.Parts), len(v.Queue), transcript(v.Messages))
		}
		version := v.Chat.Version
		_, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts(strings.Repeat("y", 40_000))})
		if !isKind(err, chat.KindNoSpace) {
			t.Errorf("send to a full store: %v", err)
		}
		if got := r.view(id).Chat.Version; got != version {
			t.Errorf("version %d after %d", got, version)
		}
		makeRoom()
		v = r.rest(id)
		said(t, v, "user: go", "assistant: I fill it. fill({})", `tool: fill = {"output":"`+strings.Repeat("x", 30_000)+`"}`, "assistant: re: go", "user: queued", "assistant: re: queued")
	})
}

// TestInterruptOfAStepThatWaitsForRoom stores the Step as it is: its Calls have run.
func TestInterruptOfAStepThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id, _, makeRoom := fullRig(t)
		makeRoom()
		r.interrupt(id)
		v := r.rest(id)
		said(t, v, "user: go", "assistant: I fill it. fill({})", `tool: fill = {"output":"`+strings.Repeat("x", 30_000)+`"}`, "user: queued", "assistant: re: queued")
	})
}

// TestInterruptOnAFullDisk stops at once, says so, and is stored when there is room.
func TestInterruptOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id, _, makeRoom := fullRig(t)
		c, err := r.engine.Interrupt(context.Background(), r.who, engine.InterruptInput{ChatID: id})
		if err != nil || c.State != chat.Interrupting {
			t.Fatalf("interrupt: %+v, %v", c, err)
		}
		r.until(id, "the word about it", func(v engine.View) bool {
			return v.Draft != nil && v.Draft.Retry != nil && strings.HasPrefix(v.Draft.Retry.Message, "Stopped. ")
		})
		makeRoom()
		v := r.rest(id)
		said(t, v, "user: go", "assistant: I fill it. fill({})", `tool: fill = {"output":"`+strings.Repeat("x", 30_000)+`"}`, "user: queued", "assistant: re: queued")
	})
}

func TestIdempotencyKeys(t *testing.T) {
	r := prepareRig(t, setup{})
	ctx := context.Background()
	first := engine.CreateInput{Content: engine.TextParts("one"), Key: "k1"}
	a, err := r.engine.Create(ctx, r.who, first)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.engine.Create(ctx, r.who, first); err != nil || b.ID != a.ID {
		t.Errorf("a repeated create: %v %v", b, err)
	}
	other := first
	other.Title = "another"
	if _, err := r.engine.Create(ctx, r.who, other); !isKind(err, chat.KindIdempotency) {
		t.Errorf("the key with another body: %v", err)
	}
	send := engine.SendInput{ChatID: a.ID, Content: engine.TextParts("two"), Key: "k2"}
	out, err := r.engine.Send(ctx, r.who, send)
	if err != nil || out.Queued == nil || out.Replayed {
		t.Fatalf("%+v %v", out, err)
	}
	again, err := r.engine.Send(ctx, r.who, send)
	if err != nil || !again.Replayed || again.Queued == nil || again.Queued.ID != out.Queued.ID {
		t.Errorf("a repeated send: %+v %v", again, err)
	}
	// It is answered before state, queue and archive are looked at.
	yes := true
	if _, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: a.ID, Archived: &yes}); err != nil {
		t.Fatal(err)
	}
	if again, err := r.engine.Send(ctx, r.who, send); err != nil || !again.Replayed {
		t.Errorf("a repeated send to an archived chat: %+v %v", again, err)
	}
	send.Content = engine.TextParts("three")
	if _, err := r.engine.Send(ctx, r.who, send); !isKind(err, chat.KindIdempotency) {
		t.Errorf("the key with another body: %v", err)
	}
	send.Key = "k3"
	if _, err := r.engine.Send(ctx, r.who, send); !isKind(err, chat.KindArchived) {
		t.Errorf("a new key: %v", err)
	}
	for _, key := range []string{strings.Repeat("x", 129), "a b", "é"} {
		if _, err := r.engine.Create(ctx, r.who, engine.CreateInput{Content: engine.TextParts("x"), Key: key}); !isKind(err, chat.KindInvalid) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if v := r.view(a.ID); len(v.Messages) != 1 || len(v.Queue) != 1 {
		t.Errorf("%d messages, %d queued", len(v.Messages), len(v.Queue))
	}
	l, err := r.engine.List(ctx, r.who, engine.ListInput{Archived: true})
	if err != nil || len(l.Chats) != 1 {
		t.Errorf("%d chats, %v", len(l.Chats), err)
	}
}

// TestARefusedMessageLeavesItsKeyFree: a refusal is not an answer to keep.
func TestARefusedMessageLeavesItsKeyFree(t *testing.T) {
	r := prepareRig(t, setup{})
	id := r.create("one")
	for range chat.QueueLimit {
		r.send(id, "x", "")
	}
	in := engine.SendInput{ChatID: id, Content: engine.TextParts("late"), Key: "k"}
	if _, err := r.engine.Send(context.Background(), r.who, in); !isKind(err, chat.KindQueueFull) {
		t.Fatalf("%v", err)
	}
	q := r.view(id).Queue[0]
	if _, err := r.engine.DeleteQueued(context.Background(), r.who, engine.QueuedInput{ChatID: id, QueuedID: q.ID}); err != nil {
		t.Fatal(err)
	}
	if out, err := r.engine.Send(context.Background(), r.who, in); err != nil || out.Replayed || out.Queued == nil {
		t.Errorf("%+v %v", out, err)
	}
}

// TestAmendWithoutItsModel: a Chat whose model has gone can be renamed, archived and deleted.
func TestAmendWithoutItsModel(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	ctx := context.Background()
	gone := r.config
	gone.ID, gone.IsDefault = chat.ModelConfigID(newID()), false
	r.update(func(tx *kv.Tx) error { return tx.PutModelConfig(&gone) })
	id := r.create("one")
	if _, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, ModelConfigID: &gone.ID}); err != nil {
		t.Fatal(err)
	}
	r.rest(id)
	r.update(func(tx *kv.Tx) error { return second(tx.DeleteModelConfig(gone.ID)) })
	title, yes := "a new name", true
	c, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, Title: &title, Archived: &yes})
	if err != nil || c.Title != title || !c.Archived {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, ModelConfigID: &gone.ID}); !isKind(err, chat.KindInvalid) {
		t.Errorf("a model that is not there: %v", err)
	}
	if _, err := r.engine.Delete(ctx, r.who, engine.DeleteInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.engine.Get(ctx, r.who, engine.GetInput{ChatID: id}); !isKind(err, chat.KindNotFound) {
		t.Errorf("a deleted chat: %v", err)
	}
}

// TestArchiveStopsATurn: nothing is taken afterwards, and unarchiving starts nothing.
func TestArchiveStopsATurn(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(stalled(scripted.Words("on and on")))}})
	ctx := context.Background()
	id := r.create("go")
	r.until(id, "streamed text", streamed("on and on"))
	r.send(id, "queued", "")
	yes, no := true, false
	if _, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, Archived: &yes}); err != nil {
		t.Fatal(err)
	}
	v := r.rest(id)
	if v.Chat.RestReason != chat.RestArchived || len(v.Queue) != 1 || v.Chat.State != chat.Waiting {
		t.Errorf("%s (%s), %d queued", v.Chat.State, v.Chat.RestReason, len(v.Queue))
	}
	said(t, v, "user: go", "assistant [cut: interrupted]: on and on")
	if _, err := r.engine.Send(ctx, r.who, engine.SendInput{ChatID: id, Content: engine.TextParts("x")}); !isKind(err, chat.KindArchived) {
		t.Errorf("%v", err)
	}
	if _, err := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, Archived: &no}); err != nil {
		t.Fatal(err)
	}
	if v := r.view(id); v.Chat.State != chat.Waiting || len(v.Queue) != 1 {
		t.Errorf("%s, %d queued", v.Chat.State, len(v.Queue))
	}
}
