package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// small makes an indexer that commits, ends batches and merges all the time.
func small(s *kv.Store) *Room {
	r := New(Options{Store: s})
	r.work.batchText, r.work.commitBytes, r.work.merge = 200, 600, mergeBounds{fan: 3, most: 1 << 20}
	return r
}

func TestSearchEqualsNaiveScanAtAnyProgress(t *testing.T) {
	rng := seed(t)
	ctx := context.Background()
	s := kvtest.Open(t)
	c := newCorpus(t, s, rng)
	r := small(s)
	steps := 120
	for n := range steps {
		id := c.step()
		// A change is sometimes not heard of, as after a crash between the commit and the word of it.
		if rng.IntN(10) > 0 {
			r.Committed(id)
		}
		for range rng.IntN(4) {
			if _, err := r.work.step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		switch rng.IntN(60) {
		case 0:
			// As if the process had ended here.
			r = small(s)
		case 1:
			r.rebuild(errors.New("for the test"))
		case 2:
			if err := r.work.pass(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n%3 == 0 {
			c.compare(r, c.query())
		}
	}
	r = small(s)
	if err := r.work.pass(ctx); err != nil {
		t.Fatal(err)
	}
	mustBeComplete(t, s)
	for range 30 {
		c.compare(r, c.query())
	}
	for _, w := range c.words[:12] {
		c.compare(r, w)
	}
}

// mustBeComplete: the index lacks nothing, and holds nothing of what is gone.
func mustBeComplete(t testing.TB, s *kv.Store) {
	t.Helper()
	err := s.View(context.Background(), func(tx *kv.Tx) error {
		behind, next, err := tx.BehindChats("", 1<<20)
		if err != nil || len(behind) > 0 || next != "" {
			return errors.Join(err, fmt.Errorf("behind are %v, next is %q", behind, next))
		}
		owners, err := tx.TermOwners()
		if err != nil {
			return err
		}
		for _, owner := range owners {
			all, err := tx.TermSegments(owner)
			if err != nil {
				return err
			}
			for _, g := range all {
				for _, d := range g.Docs {
					if state, err := tx.TermDocState(d); err != nil || state == kv.TermDocGone {
						return errors.Join(err, fmt.Errorf("segment %d holds the chat %s that is gone", g.ID, d.Chat))
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The room keeps up by itself, next to those who write.
func TestRoomIndexesInTheBackground(t *testing.T) {
	rng := seed(t)
	s := kvtest.Open(t)
	c := newCorpus(t, s, rng)
	r := New(Options{Store: s, Delay: time.Millisecond, Hold: time.Millisecond})
	for range 40 {
		c.step()
	}
	r.Start()
	for range 40 {
		r.Committed(c.step())
		c.compare(r, c.query())
	}
	r.Close()
	// Close ends between two commits; what is left is done after the next start.
	again := New(Options{Store: s})
	if err := again.work.pass(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustBeComplete(t, s)
	for range 20 {
		c.compare(again, c.query())
	}
}

func TestNobodySeesWhatIsNotTheirs(t *testing.T) {
	s := kvtest.Open(t)
	c := newCorpus(t, s, seed(t))
	c.words, c.size = []string{"other"}, 1
	for _, done := range []bool{false, true} {
		mine, theirs, archived, edited := c.create(c.who[0]), c.create(c.who[1]), c.create(c.who[0]), c.create(c.who[0])
		say := &chat.Message{Role: chat.RoleUser, ContentVersion: 1, CreatedAt: c.now(), Content: []chat.Part{{Type: chat.PartText, Text: "the needle"}}}
		for _, id := range []chat.ID{mine, theirs, archived, edited} {
			c.append(id, say)
			c.change(id, func(_ *kv.Tx, x *chat.Chat) error { x.PinOrder = 0; return nil })
		}
		c.change(archived, func(_ *kv.Tx, x *chat.Chat) error { x.Archived = true; return nil })
		c.change(edited, func(tx *kv.Tx, x *chat.Chat) error { _, err := tx.MarkDeleted(x, 1); return err })
		r := New(Options{Store: s})
		if done {
			if err := r.work.pass(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		found := func(q string) []chat.ID {
			out, err := r.Search(context.Background(), chat.Principal{UserID: c.who[0], Role: chat.UserAdmin}, SearchInput{Query: q})
			if err != nil {
				t.Fatal(err)
			}
			var ids []chat.ID
			for _, h := range out.Hits {
				ids = append(ids, h.Chat.ID)
			}
			return ids
		}
		if got := found("needle"); !slices.Contains(got, mine) || slices.Contains(got, theirs) || slices.Contains(got, archived) || slices.Contains(got, edited) {
			t.Errorf("indexed %v: found %v of %s, not %s, %s, %s", done, got, mine, theirs, archived, edited)
		}
		if got := found("needle archived:true"); !slices.Contains(got, archived) || slices.Contains(got, mine) {
			t.Errorf("indexed %v: archived ones are %v", done, got)
		}
		_, err := r.Search(context.Background(), chat.Principal{UserID: c.who[0]}, SearchInput{Query: "needle", AfterID: theirs})
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid {
			t.Errorf("a cursor on another's chat: %v", err)
		}
	}
}

func TestLimits(t *testing.T) {
	r := New(Options{Store: kvtest.Open(t)})
	for _, in := range []SearchInput{{Limit: -1}, {Limit: 201}, {Query: "has:x"}} {
		_, err := r.Search(context.Background(), chat.Principal{UserID: newID[chat.UserID]()}, in)
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Search(ctx, chat.Principal{UserID: newID[chat.UserID]()}, SearchInput{Query: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader who left: %v", err)
	}
}

// A Chat longer than a batch, a page and a segment is found at every point of its indexing.
func TestLongChat(t *testing.T) {
	ctx := context.Background()
	s := kvtest.Open(t)
	c := newCorpus(t, s, seed(t))
	id := c.create(c.who[0])
	for n := range 150 {
		c.append(id, &chat.Message{Role: chat.RoleUser, ContentVersion: 1, CreatedAt: c.now(),
			Content: []chat.Part{{Type: chat.PartText, Text: fmt.Sprintf("number%03d %s", n, strings.Repeat("word ", n%7))}}})
	}
	r := small(s)
	for more := true; more; {
		var err error
		if more, err = r.work.step(ctx); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"number000", "number149", "number077 number078", "number150", "number"} {
			c.compare(r, q)
		}
	}
	mustBeComplete(t, s)
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := kvtest.OpenDir(t, dir)
	c := newCorpus(t, s, seed(t))
	for range 60 {
		c.step()
	}
	// So that each has it, in a block that counts.
	for _, who := range c.who {
		c.append(c.create(who), &chat.Message{Role: chat.RoleUser, ContentVersion: 1, CreatedAt: c.now(),
			Content: []chat.Part{{Type: chat.PartText, Text: "parseHTTPHeader"}}})
	}
	if err := New(Options{Store: s}).work.pass(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// This spelling stands in the index alone: titles and Messages have capitals.
	flip(t, dir+"/holdfast.db", "httpheader")
	s, err := kv.Open(ctx, dir, kv.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer kvtest.Finish(t, s)
	c.s = s
	r := New(Options{Store: s})
	c.compare(r, "tide")
	c.compare(r, "parsehttp")
	if len(s.Damages()) == 0 {
		t.Error("nothing was found damaged, so nothing was tested")
	}
	if err := r.work.pass(ctx); err != nil {
		t.Fatal(err)
	}
	mustBeComplete(t, s)
	for range 20 {
		c.compare(r, c.query())
	}
}

// flip changes a byte behind every place where the text stands.
func flip(t *testing.T, path, text string) {
	t.Helper()
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := 0; ; {
		i := strings.Index(string(all[at:]), text)
		if i < 0 {
			break
		}
		at += i + len(text)
		all[at-1] ^= 1
		n++
	}
	if n == 0 {
		t.Fatalf("%q is not in the store", text)
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
}
