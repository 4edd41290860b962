package kv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// newID makes a UUID v7, as the engine does.
func newID[T ~string]() T {
	var id id16
	// crypto/rand.Read never fails.
	rand.Read(id[:])
	ms := time.Now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return T(id.String())
}

// openTest opens a store in dir, checked and closed when the test ends unless the test closed it.
func openTest(t testing.TB, dir string, f faults) *Store {
	t.Helper()
	s, err := open(context.Background(), dir, Options{MaxBytes: 1 << 30, Version: "test"}, f)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if s.Closed() {
			return
		}
		mustBeClean(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func mustBeClean(t testing.TB, s *Store) {
	t.Helper()
	found, err := s.Check(context.Background(), true)
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, d := range found {
		t.Errorf("damage: %s", d)
	}
}

func update(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	if err := s.View(context.Background(), fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

func newChat(owner chat.UserID) *chat.Chat {
	id := newID[chat.ID]()
	now := time.Now().UTC()
	return &chat.Chat{ID: id, RootID: id, OwnerID: owner, State: chat.Waiting, CreatedAt: now, UpdatedAt: now}
}

func text(s string) *chat.Message {
	return &chat.Message{Role: chat.RoleUser, ContentVersion: 1, CreatedAt: time.Now().UTC(),
		Content: []chat.Part{{Type: chat.PartText, Text: s}}}
}

// appendText appends a text Message to a Chat in a transaction of its own.
func appendText(t testing.TB, s *Store, id chat.ID, words string) chat.MessageID {
	t.Helper()
	var m chat.MessageID
	update(t, s, func(tx *Tx) error { return appendIn(tx, id, words, &m) })
	return m
}

func appendIn(tx *Tx, id chat.ID, words string, m *chat.MessageID) error {
	e, err := EncodeMessage(text(words))
	if err != nil {
		return err
	}
	c, found, err := tx.Chat(id)
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("chat found: %v", found))
	}
	if *m, err = tx.AppendMessage(c, e); err != nil {
		return err
	}
	c.Version++
	return tx.PutChat(c)
}

func texts(ms []*chat.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, chat.PlainText(m.Content))
	}
	return out
}

func TestManyWritersKeepEachChatsOrder(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	owner := newID[chat.UserID]()
	const writers, each = 8, 50
	chats := make([]*chat.Chat, writers)
	for i := range chats {
		chats[i] = newChat(owner)
		update(t, s, func(tx *Tx) error { return tx.PutChat(chats[i]) })
	}
	var wg sync.WaitGroup
	for _, c := range chats {
		wg.Go(func() {
			for n := range each {
				var m chat.MessageID
				err := s.Update(context.Background(), func(tx *Tx) error { return appendIn(tx, c.ID, fmt.Sprint(n), &m) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, c := range chats {
		view(t, s, func(tx *Tx) error {
			ms, err := tx.Messages(c.ID, MessageQuery{})
			if err != nil {
				return err
			}
			if len(ms) != each {
				t.Errorf("chat has %d messages, want %d", len(ms), each)
			}
			for n, m := range ms {
				if got := chat.PlainText(m.Content); got != fmt.Sprint(n) {
					t.Errorf("message %d is %q", n, got)
				}
			}
			return nil
		})
	}
}

// TestTheFiguresOfAClosedStore: whoever asks for them while the appliance stops gets them.
func TestTheFiguresOfAClosedStore(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	before := s.Stats()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := s.Stats(); before.PageSize == 0 || after.PageSize != before.PageSize {
		t.Errorf("pages of %d bytes, then of %d", before.PageSize, after.PageSize)
	}
}
