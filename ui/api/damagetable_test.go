package api_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// broken are the Chats of a store of which a part was overwritten while nobody had it open.
type broken struct {
	a *apitest.Appliance
	// rested is at rest, failed has a queue, asks waits for a person and a program, runs was left with a lease by a dead process, and pending
	// was left runnable.
	rested, failed, asks, runs, pending chat.ID
	first, second                       chat.MessageID
	queue                               []chat.MessageID
}

// breakChats makes a store with five damaged Chats. Where is what is overwritten: "middle" of the history, or its "end".
func breakChats(t *testing.T, where string) broken {
	t.Helper()
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir})
	var b broken
	for _, to := range []*chat.ID{&b.rested, &b.failed, &b.asks, &b.runs, &b.pending} {
		c := create(t, a, "the first question")
		a.Rests(t, c.ID)
		send(t, a, c.ID, "the middle of it", "")
		a.Rests(t, c.ID)
		send(t, a, c.ID, "the last question", "")
		a.Rests(t, c.ID)
		a.Append(t, c.ID, chat.Message{Role: chat.RoleAssistant, Content: []chat.Part{{Type: chat.PartText, Text: "the end of it"}}, Step: 9})
		*to = c.ID
	}
	held := a.Rests(t, b.rested)
	b.first, b.second = held.Messages[0].ID, held.Messages[2].ID
	change := func(id chat.ID, f func(tx *kv.Tx, c *chat.Chat) error) {
		t.Helper()
		err := a.Store.Update(t.Context(), func(tx *kv.Tx) error {
			c, found, err := tx.Chat(id)
			if err != nil || !found {
				return errors.Join(err, errors.New("the chat is gone"))
			}
			return errors.Join(f(tx, c), tx.PutChat(c))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(b.failed, func(tx *kv.Tx, c *chat.Chat) error {
		var queue []*chat.QueuedMessage
		for _, text := range []string{"one", "two"} {
			id, err := tx.NextID()
			if err != nil {
				return err
			}
			b.queue = append(b.queue, id)
			queue = append(queue, &chat.QueuedMessage{ID: id, ChatID: c.ID, CreatedBy: c.OwnerID, CreatedAt: time.Now().UTC(), Content: []chat.Part{{Type: chat.PartText, Text: text}}})
		}
		c.State, c.LastError = chat.Failed, &chat.Error{Kind: chat.KindGeneric, Message: "m"}
		return tx.PutQueue(c, queue)
	})
	change(b.asks, func(_ *kv.Tx, c *chat.Chat) error {
		c.State = chat.RequiresAction
		c.Outstanding = []chat.OutstandingCall{{Call: chat.Call{ID: "c1", Name: "execute", Args: []byte(`{}`)}, Kind: chat.OutstandingApproval, AskedAt: time.Now().UTC(), Asked: &chat.Asked{}},
			{Call: chat.Call{ID: "c2", Name: "own", Args: []byte(`{}`)}, Kind: chat.OutstandingClient, AskedAt: time.Now().UTC()}}
		return nil
	})
	a.Stop(t)
	// No runner may see these two before they are broken.
	s, err := kv.Open(t.Context(), dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Store = s
	change(b.runs, func(tx *kv.Tx, c *chat.Chat) error {
		c.State, c.Lease = chat.Running, &chat.Lease{Epoch: 1, Runner: "dead"}
		return tx.PutDraftChunk(c.ID, 0, &chat.DraftChunk{Step: c.StepSeq + 1, Generation: c.Generation + 1, Parts: []chat.Part{{Type: chat.PartText, Text: "half a reply"}}})
	})
	change(b.pending, func(_ *kv.Tx, c *chat.Chat) error {
		c.State, c.RunnableSince = chat.Pending, time.Now().UTC()
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, dir, map[string]string{"middle": "the middle of it", "end": "the end of it"}[where])
	b.a = apitest.Start(t, apitest.Options{Dir: dir})
	t.Cleanup(func() {
		// A store that is closed is not checked, and this one is known to be damaged.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(b.a.Engine.Close(ctx), b.a.Store.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// overwrite changes a text wherever the closed store has it.
func overwrite(t *testing.T, dir, text string) {
	t.Helper()
	name := filepath.Join(dir, "holdfast.db")
	db, err := os.ReadFile(name)
	if err == nil && !bytes.Contains(db, []byte(text)) {
		err = errors.New("the store does not hold the text")
	}
	if err == nil {
		err = os.WriteFile(name, bytes.ReplaceAll(db, []byte(text), bytes.Repeat([]byte("#"), len(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatADamagedChatTakes: what would go on in it is refused with one error that says up to where it can be forked, and changes nothing; what
// brings it to rest, orders it or removes it works.
func TestWhatADamagedChatTakes(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"middle", "end"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			b := breakChats(t, where)
			c, ctx := b.a.Client, t.Context()
			// Nothing is read first: each chat's own damage is found by whoever meets it.
			for name, id := range map[string]chat.ID{"a chat that was running": b.runs, "a chat that was about to run": b.pending} {
				got := until(t, c, id, func(c client.Chat) bool { return c.Status == chat.Failed })
				if got.LastError == nil || got.LastError.Kind != chat.KindChatDamaged {
					t.Errorf("%s rests with %+v", name, got.LastError)
				}
			}
			for _, id := range []chat.ID{b.rested, b.failed, b.asks} {
				if _, err := c.Messages(ctx, id, client.MessageQuery{}); kindOf(err) != chat.KindStoreDamaged {
					t.Errorf("the messages: %v", err)
				}
			}
			refuses(t, b)
			stillDoes(t, b)
			yes, no := true, false
			for _, id := range []chat.ID{b.rested, b.failed, b.asks, b.runs, b.pending} {
				err := errors.Join(c.UpdateChat(ctx, id, client.ChatUpdate{Archived: &yes}), c.UpdateChat(ctx, id, client.ChatUpdate{Archived: &no}),
					c.UpdateChat(ctx, id, client.ChatUpdate{Archived: &yes}), c.DeleteChat(ctx, id))
				if err != nil {
					t.Errorf("archive, take back and delete: %v", err)
				}
				if _, err := c.Chat(ctx, id); kindOf(err) != chat.KindNotFound {
					t.Errorf("a deleted one: %v", err)
				}
			}
		})
	}
}

func refuses(t *testing.T, b broken) {
	t.Helper()
	c, ctx := b.a.Client, t.Context()
	refused := map[string]func() error{
		"send": func() error {
			_, err := c.Send(ctx, b.rested, client.MessageSend{Content: client.Text("x")})
			return err
		},
		"send with interrupt": func() error {
			_, err := c.Send(ctx, b.asks, client.MessageSend{Content: client.Text("x"), BusyBehavior: "interrupt"})
			return err
		},
		"send behind a card": func() error { _, err := c.Send(ctx, b.asks, client.MessageSend{Content: client.Text("x")}); return err },
		"edit": func() error {
			_, err := c.EditMessage(ctx, b.rested, b.first, client.MessageEdit{Content: client.Text("x")})
			return err
		},
		"edit what is damaged": func() error {
			_, err := c.EditMessage(ctx, b.rested, b.second, client.MessageEdit{Content: client.Text("x")})
			return err
		},
		"retry":   func() error { _, err := c.Retry(ctx, b.failed); return err },
		"compact": func() error { return c.Compact(ctx, b.rested) },
		"clear":   func() error { return c.Clear(ctx, b.rested) },
		"allow":   func() error { return c.Approve(ctx, b.asks, "c1", client.Approval{Decision: client.AllowOnce}) },
		"deny":    func() error { return c.Approve(ctx, b.asks, "c1", client.Approval{Decision: client.Deny}) },
		"results": func() error {
			return c.SubmitResults(ctx, b.asks, client.ToolResults{Results: []client.ToolResult{{CallID: "c2", Output: []byte(`1`)}}})
		},
		"promote": func() error { return c.Promote(ctx, b.failed, b.queue[1]) },
		"edit queue": func() error {
			return c.UpdateQueued(ctx, b.failed, b.queue[0], client.QueuedUpdate{Content: client.Text("x")})
		},
		"move queue": func() error {
			return c.UpdateQueued(ctx, b.failed, b.queue[1], client.QueuedUpdate{Before: b.queue[0]})
		},
		"title":     func() error { _, err := c.ProposeTitle(ctx, b.rested); return err },
		"new title": func() error { _, err := c.RegenerateTitle(ctx, b.rested); return err },
		"context":   func() error { return c.PinChatContext(ctx, b.rested) },
	}
	for name, do := range refused {
		before := versions(t, b)
		err := do()
		var said *chat.Error
		if !errors.As(err, &said) || said.Kind != chat.KindChatDamaged || said.Message != "A part of this chat cannot be read, so it does not go on." ||
			!strings.Contains(said.Detail, "Fork it at message ") {
			t.Errorf("%s: %v", name, err)
		}
		if after := versions(t, b); after != before {
			t.Errorf("%s changed something: %v, %v", name, before, after)
		}
	}
}

func stillDoes(t *testing.T, b broken) {
	t.Helper()
	c, ctx := b.a.Client, t.Context()
	title, pinned, folder := "another title", 1, chat.WorkspaceID("")
	works := []struct {
		name string
		do   func() error
	}{
		{"rename", func() error { return c.UpdateChat(ctx, b.rested, client.ChatUpdate{Title: &title}) }},
		{"pin", func() error {
			return c.UpdateChat(ctx, b.rested, client.ChatUpdate{PinOrder: &pinned, Labels: map[string]string{"a": "b"}})
		}},
		{"the folder that it has", func() error { return c.UpdateChat(ctx, b.rested, client.ChatUpdate{WorkspaceID: &folder}) }},
		{"interrupt at rest", func() error { _, err := c.Interrupt(ctx, b.rested); return err }},
		{"interrupt what waits", func() error { _, err := c.Interrupt(ctx, b.asks); return err }},
		{"remove from the queue", func() error { return c.DeleteQueued(ctx, b.failed, b.queue[0]) }},
	}
	for _, w := range works {
		if err := w.do(); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
	if got, err := c.Chat(ctx, b.asks); err != nil || got.Status != chat.Waiting {
		t.Errorf("the interrupted one is %s, %v", got.Status, err)
	}
	if got, err := c.Chat(ctx, b.failed); err != nil || got.Status != chat.Failed || !got.QueueHeld {
		t.Errorf("the one with a queue is %s, held %v, %v", got.Status, got.QueueHeld, err)
	}
}

// TestAChatThatWaitsIsArchivedWithItsDamage: the card of a damaged chat is answered by its archiving, also where that cannot be written down.
func TestAChatThatWaitsIsArchivedWithItsDamage(t *testing.T) {
	t.Parallel()
	b := breakChats(t, "end")
	yes := true
	if err := b.a.Client.UpdateChat(t.Context(), b.asks, client.ChatUpdate{Archived: &yes}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.a.Client.Chat(t.Context(), b.asks); err != nil || got.Status != chat.Waiting || !got.Archived {
		t.Errorf("%+v, %v", got, err)
	}
}

func versions(t *testing.T, b broken) (out [5]int64) {
	t.Helper()
	for i, id := range []chat.ID{b.rested, b.failed, b.asks, b.runs, b.pending} {
		out[i] = version(t, b.a, id)
	}
	return out
}

// until follows a Chat's record, whose history cannot be followed.
func until(t *testing.T, c *client.Client, id chat.ID, done func(client.Chat) bool) client.Chat {
	t.Helper()
	for {
		got, err := c.Chat(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if done(got) {
			return got
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the chat is %s", got.Status)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
