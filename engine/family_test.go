package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// below stores a pending Chat below another one; the runner finds it by itself.
func (r *rig) below(parent chat.ID, text string) chat.ID {
	r.t.Helper()
	id, now := chat.ID(newID()), time.Now().UTC()
	r.update(func(tx *kv.Tx) error {
		p, _, err := tx.Chat(parent)
		if err != nil {
			return err
		}
		c := &chat.Chat{ID: id, OwnerID: r.who.UserID, ParentID: parent, RootID: p.RootID, Title: "a part", State: chat.Pending, Version: 1,
			CreatedAt: now, UpdatedAt: now, RunnableSince: now}
		enc, err := kv.EncodeMessage(&chat.Message{CreatedBy: r.who.UserID, CreatedAt: now, Role: chat.RoleUser, Content: engine.TextParts(text), ContentVersion: 1})
		if err != nil {
			return err
		}
		if c.Turn.UserMessage, err = tx.AppendMessage(c, enc); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	return id
}

func (r *rig) archive(id chat.ID, archived bool) (*chat.Chat, error) {
	return r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, Archived: &archived})
}

func (r *rig) remove(id chat.ID) error {
	_, err := r.engine.Delete(context.Background(), r.who, engine.DeleteInput{ChatID: id})
	return err
}

// case 69
func TestCase69ArchiveStopsAFamily(t *testing.T) {
	r := newRig(t, setup{config: priced, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		return stalled(scripted.Words("on and on"))
	}}})
	root := r.create("root")
	r.until(root, "streamed text", streamed("on and on"))
	below := r.below(root, "below")
	r.until(below, "streamed text", streamed("on and on"))
	quiet := r.below(below, "further below")
	r.until(quiet, "streamed text", streamed("on and on"))
	r.interrupt(quiet)
	r.rest(quiet)
	r.send(root, "waits", "")
	w, err := r.engine.WatchList(context.Background(), r.who, engine.WatchListInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	c, err := r.archive(root, true)
	if err != nil || !c.Archived || c.State != chat.Interrupting {
		t.Fatalf("%+v %v", c, err)
	}
	touched, _ := w.Changed()
	for _, id := range []chat.ID{root, below, quiet} {
		v := r.rest(id)
		if !v.Chat.Archived || v.Chat.State != chat.Waiting || len(v.Messages) != 2 || !v.Messages[1].Partial || !slices.Contains(touched, id) {
			t.Errorf("%s: %+v\n%s", v.Chat.Title, v.Chat, transcript(v.Messages))
		}
	}
	if v := r.view(root); len(v.Queue) != 1 {
		t.Errorf("the queue: %v", v.Queue)
	}
	// A child comes back only with its root.
	for _, id := range []chat.ID{below, quiet} {
		if _, err := r.archive(id, false); !isKind(err, chat.KindInvalid) || !strings.Contains(err.Error(), "archived") {
			t.Errorf("%v", err)
		}
	}
	if err := r.remove(below); !isKind(err, chat.KindWrongState) {
		t.Errorf("a child alone: %v", err)
	}
	if c, err = r.archive(root, false); err != nil || c.Archived {
		t.Fatalf("%+v %v", c, err)
	}
	for _, id := range []chat.ID{root, below, quiet} {
		if v := r.view(id); v.Chat.Archived || v.Chat.State != chat.Waiting {
			t.Errorf("%+v", v.Chat)
		}
	}
	// One below is archived by itself, with those below it; doing it again for all changes only the others.
	if _, err := r.archive(below, true); err != nil {
		t.Fatal(err)
	}
	version := r.view(quiet).Chat.Version
	if v := r.view(root); v.Chat.Archived || !r.view(quiet).Chat.Archived {
		t.Errorf("%+v", v.Chat)
	}
	if err := r.remove(root); !isKind(err, chat.KindWrongState) {
		t.Errorf("a root that is not archived: %v", err)
	}
	if _, err := r.archive(root, true); err != nil {
		t.Fatal(err)
	}
	if now := r.view(quiet).Chat.Version; now != version {
		t.Errorf("version %d became %d", version, now)
	}
}

// TestDeleteAFamily: Chats and Messages go for good, at rest only; what was used stays counted.
func TestDeleteAFamily(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, true)
	r := newRig(t, setup{config: priced, tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "below" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("gate", `{}`))
		}
		return echo(p)
	}}})
	root := r.create("root")
	r.rest(root)
	if sum := r.cost(root); sum.Requests != 1 {
		t.Fatalf("%+v", sum)
	}
	below := r.below(root, "below")
	<-running
	if _, err := r.archive(root, true); err != nil {
		t.Fatal(err)
	}
	if err := r.remove(root); !isKind(err, chat.KindWrongState) {
		t.Errorf("while one below still stops: %v", err)
	}
	close(release)
	r.rest(below)
	w, err := r.engine.WatchList(context.Background(), r.who, engine.WatchListInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := r.remove(root); err != nil {
		t.Fatal(err)
	}
	touched, _ := w.Changed()
	for _, id := range []chat.ID{root, below} {
		if _, err := r.engine.Get(context.Background(), r.who, engine.GetInput{ChatID: id}); !isKind(err, chat.KindNotFound) || !slices.Contains(touched, id) {
			t.Errorf("%v, touched %v", err, touched)
		}
	}
	if err := r.remove(root); !isKind(err, chat.KindNotFound) {
		t.Errorf("twice: %v", err)
	}
	if _, err := r.store.PurgeFamilies(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(r.all(root)) + len(r.all(below)); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	if kinds := r.usage(root); len(kinds) == 0 {
		t.Error("the usage is gone")
	}
}
