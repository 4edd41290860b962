package kv

import (
	"bytes"
	"testing"

	"holdfast/engine/chat"
)

// TestChainTellsHistoriesApart: it changes with every Message and every deletion, and with nothing else.
func TestChainTellsHistoriesApart(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	defer closeStore(t, s)
	c := newChat(newID[chat.UserID]())
	chain := func() (now chat.Chain) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			head, found, err := tx.Chain(c.ID)
			if err == nil && !found {
				t.Error("the chat has no chain")
			}
			now = head
			return err
		})
		return now
	}
	same := func(a, b chat.Chain) bool {
		return a.Count == b.Count && a.LastID == b.LastID && bytes.Equal(a.Head, b.Head)
	}
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	before := chain()
	update(t, s, func(tx *Tx) error { c.Title = "another"; return tx.PutChat(c) })
	if now := chain(); !same(now, before) {
		t.Errorf("a title changed the chain from %+v to %+v", before, now)
	}
	e, err := EncodeMessage(text("hello"))
	if err != nil {
		t.Fatal(err)
	}
	var id chat.MessageID
	update(t, s, func(tx *Tx) (err error) {
		if id, err = tx.AppendMessage(c, e); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	appended := chain()
	if same(appended, before) || appended.LastID != id {
		t.Errorf("after message %d: %+v", id, appended)
	}
	update(t, s, func(tx *Tx) error {
		if _, err := tx.MarkDeleted(c, id); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	if now := chain(); same(now, appended) {
		t.Errorf("a deletion left the chain at %+v", now)
	}
	view(t, s, func(tx *Tx) error {
		_, found, err := tx.Chain(newID[chat.ID]())
		if found {
			t.Error("an unknown chat has a chain")
		}
		return err
	})
}
