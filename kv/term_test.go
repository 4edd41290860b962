package kv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// indexSome puts a segment with one document and a state for a Chat.
func indexSome(tx *Tx, owner chat.UserID, id chat.ID) error {
	t, found, err := tx.TermTarget(id)
	if err != nil || !found {
		return fmt.Errorf("found %v: %w", found, err)
	}
	w, err := NewTermWriter(owner, []TermDoc{{Chat: id, Generation: 7, Base: 1}})
	if err != nil {
		return err
	}
	w.Add("alpha", []TermHit{{0, 1}})
	w.Add("alphabet", []TermHit{{0, 2}})
	if err := w.Finish(tx, nil); err != nil {
		return err
	}
	return tx.PutTermState(id, TermState{Generation: 7, UpTo: t.Chat.Chain.LastID, Marked: t.Marked, Stamp: t.Stamp, Title: "\ntitle"})
}

// moveTerms puts a block where another one belongs.
func moveTerms(tx *Tx) error {
	r, err := nth(tx, bTerm, nil, 2)
	if err != nil {
		return err
	}
	rec, err := decodeRecord(bTerm, r.key, r.value)
	if err != nil {
		return err
	}
	key := append(bytes.Clone(r.key[:segmentKeySize]), "zebra"...)
	return tx.t.putRaw(bTerm, key, encodeRecord(recordVersion, bTerm, key, nil, bytes.Clone(rec.body)))
}

// What is written into segments is what comes out of them, whole and by beginnings.
func TestTermSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(t.Name()[0]), 3))
	s := openTest(t, t.TempDir(), faults{})
	owner, other := newID[chat.UserID](), newID[chat.UserID]()
	var chats []*chat.Chat
	for range 600 {
		c := newChat(owner)
		chats = append(chats, c)
		update(t, s, func(tx *Tx) error {
			return firstOf(tx.PutChat(c), tx.PutTermState(c.ID, TermState{Generation: 5, Stamp: 1}))
		})
	}
	want := map[string]map[chat.ID]chat.MessageID{}
	for n := range 3 {
		writeTerms(t, s, owner, chats, n, rng, want)
	}
	writeTerms(t, s, other, chats, 9, rng, map[string]map[chat.ID]chat.MessageID{})
	view(t, s, func(tx *Tx) error {
		all, err := tx.TermSegments(owner)
		if err != nil || len(all) != 3 {
			return fmt.Errorf("%d segments: %w", len(all), err)
		}
		got := map[string]map[chat.ID]chat.MessageID{}
		for _, g := range all {
			for after := ""; ; {
				block, err := tx.NextTermBlock(owner, g, after)
				if err != nil {
					return err
				}
				if len(block) == 0 {
					break
				}
				for _, e := range block {
					after = e.Term
					for _, h := range e.Hits {
						note(got, e.Term, g.Docs[h.Doc].Chat, h.Message)
					}
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d terms came out, %d went in, or their hits differ", len(got), len(want))
		}
		return nil
	})
	for _, word := range []string{"a", "term0", "term012", "term0123", "zz", "term4999x", "t", "café"} {
		findsTerm(t, s, owner, word, want)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func note(in map[string]map[chat.ID]chat.MessageID, term string, id chat.ID, m chat.MessageID) {
	if in[term] == nil {
		in[term] = map[chat.ID]chat.MessageID{}
	}
	in[term][id] = max(in[term][id], m)
}

func writeTerms(t *testing.T, s *Store, owner chat.UserID, chats []*chat.Chat, n int, rng *rand.Rand, want map[string]map[chat.ID]chat.MessageID) {
	var docs []TermDoc
	for _, c := range chats {
		docs = append(docs, TermDoc{Chat: c.ID, Generation: 5, Base: chat.MessageID(100 * n)})
	}
	w, err := NewTermWriter(owner, docs)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "café", strings.Repeat("z", 64)}
	for i := range 5000 {
		names = append(names, fmt.Sprintf("term%04d", i))
	}
	slices.Sort(names)
	for i, term := range names {
		var hits []TermHit
		for doc := rng.IntN(200); doc < len(docs); doc += 1 + rng.IntN(300) {
			m := chat.MessageID(100*n + rng.IntN(90))
			hits = append(hits, TermHit{doc, m})
			note(want, term, docs[doc].Chat, m)
		}
		if len(hits) == 0 {
			continue
		}
		if w.Add(term, hits); i%500 == 0 {
			// A function of Update may run twice.
			update(t, s, func(tx *Tx) error { return firstOf(w.Write(tx), w.Write(tx)) })
			w.Written()
		}
	}
	update(t, s, func(tx *Tx) error { return firstOf(w.Finish(tx, nil), w.Finish(tx, nil)) })
}

func findsTerm(t *testing.T, s *Store, owner chat.UserID, word string, want map[string]map[chat.ID]chat.MessageID) {
	t.Helper()
	wanted := map[chat.ID]chat.MessageID{}
	for term, hits := range want {
		if strings.HasPrefix(term, word) {
			for id, m := range hits {
				wanted[id] = max(wanted[id], m)
			}
		}
	}
	view(t, s, func(tx *Tx) error {
		found, err := tx.Candidates(owner, TermQuery{Words: []string{word}})
		if err != nil {
			return err
		}
		got := map[chat.ID]chat.MessageID{}
		for i := range found.Len() {
			if k := found.At(i); k.Hits[0] != 0 {
				got[k.ID] = k.Hits[0]
			}
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%q is found in %d chats, must be in %d, or the messages differ", word, len(got), len(wanted))
		}
		return nil
	})
}

// A replaced segment counts no more at once, and a sweep leaves nothing of it, nor of one that was never finished.
func TestTermSweep(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	owner := newID[chat.UserID]()
	c := newChat(owner)
	update(t, s, func(tx *Tx) error {
		return firstOf(tx.PutChat(c), indexSome(tx, owner, c.ID), indexSome(tx, owner, c.ID))
	})
	docs := []TermDoc{{Chat: c.ID, Generation: 7, Base: 1}}
	unfinished, err := NewTermWriter(owner, docs)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 9000 {
		unfinished.Add(fmt.Sprintf("left%05d", n), []TermHit{{0, 1}})
	}
	update(t, s, unfinished.Write)
	w, err := NewTermWriter(owner, docs)
	if err != nil {
		t.Fatal(err)
	}
	w.Add("beta", []TermHit{{0, 1}})
	update(t, s, func(tx *Tx) error { return w.Finish(tx, []uint64{1, 2}) })
	mustBeClean(t, s)
	if err := s.SweepTerms(context.Background()); err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		keys := 0
		err := tx.t.scan(bTerm, nil, nil, func(r row) (bool, error) { keys++; return true, nil })
		if keys != 3 {
			t.Errorf("%d records are left, want head, documents and block", keys)
		}
		return err
	})
	if err := s.DropTerms(context.Background()); err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		owners, err := tx.TermOwners()
		target, _, err2 := tx.TermTarget(c.ID)
		if len(owners) > 0 || target.Known.Generation != 0 {
			t.Errorf("after a drop %v have terms and the chat has %+v", owners, target.Known)
		}
		return firstOf(err, err2)
	})
}

// Every change of a Chat makes the index behind, a removal takes what it says of it along.
func TestTermStateFollowsTheChat(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	owner := newID[chat.UserID]()
	c := newChat(owner)
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	behind := func() bool {
		var ids []chat.ID
		view(t, s, func(tx *Tx) (err error) {
			ids, _, err = tx.BehindChats("", 10)
			return err
		})
		return len(ids) > 0
	}
	for name, change := range map[string]func(*Tx, *chat.Chat) error{
		"title": func(_ *Tx, x *chat.Chat) error { x.Title += "x"; return nil },
		"message": func(tx *Tx, x *chat.Chat) error {
			e, _ := EncodeMessage(text("m"))
			_, err := tx.AppendMessage(x, e)
			return err
		},
		"mark": func(tx *Tx, x *chat.Chat) error { _, err := tx.MarkDeleted(x, 1); return err },
	} {
		appendText(t, s, c.ID, "before "+name)
		update(t, s, func(tx *Tx) error { return indexSome(tx, owner, c.ID) })
		if behind() {
			t.Fatalf("%s: behind although all is indexed", name)
		}
		update(t, s, func(tx *Tx) error {
			x, _, err := tx.Chat(c.ID)
			return firstOf(err, change(tx, x), tx.PutChat(x))
		})
		if !behind() {
			t.Errorf("a change of the %s is not seen", name)
		}
	}
	update(t, s, func(tx *Tx) error { return tx.DeleteFamily(c.ID) })
	if behind() {
		t.Error("a chat that is being removed is behind")
	}
	if _, err := s.PurgeFamilies(context.Background()); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.PutTermState(c.ID, TermState{Generation: 1}) })
	view(t, s, func(tx *Tx) error {
		_, found, err := tx.t.get(bTermChat, mustKey(t, c.ID))
		if found {
			t.Error("a chat that is gone has a state")
		}
		return err
	})
}

func mustKey(t *testing.T, id chat.ID) []byte {
	key, err := idKey(id)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func FuzzTermBlock(f *testing.F) {
	w := &TermWriter{docs: make([]TermDoc, 9)}
	w.Add("alpha", []TermHit{{0, 1}, {4, 70000}})
	w.Add("alphabet", []TermHit{{8, 2}})
	f.Add(w.block)
	f.Add([]byte{0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, block []byte) {
		// Damage ends in an error, never in a panic or without end.
		_ = eachTerm(block, func(_ []byte, hits termHits) error {
			into, want := make([]uint64, 10), make([]uint64, 10)
			fast := hits.newest(into)
			slow := hits.each(func(doc int, distance uint64) error {
				if doc >= len(want) {
					return errTermBlock
				}
				want[doc] = max(want[doc], distance+1)
				return nil
			})
			if (fast == nil) != (slow == nil) || fast == nil && !slices.Equal(into, want) {
				t.Errorf("%v: %v and %v, %v and %v", hits, into, want, fast, slow)
			}
			return hits.each(func(doc int, _ uint64) error {
				if doc < 0 {
					t.Error("a document below zero")
				}
				return nil
			})
		})
	})
}
