package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// vocabulary is small, so that words meet, and nasty, so that terms overlap.
var vocabulary = strings.Fields(`tide tidal tid table tab parseHTTPHeader parse_http http header go going gopher 漢字 漢字学 字 café cafe
	Straße strasse a ab abc x1 x12 1 12 the The THE of and or not ünder under FOO foo fooBar foo_bar BAR baz qux ` + strings.Repeat("z", 80))

// corpus changes a store as the engine does, and knows what a search has to find.
type corpus struct {
	t     testing.TB
	s     *kv.Store
	rng   *rand.Rand
	who   []chat.UserID
	chats []chat.ID
	clock time.Time
	// words is where texts come from, size how many words a text has at most.
	words []string
	size  int
}

func newCorpus(t testing.TB, s *kv.Store, rng *rand.Rand) *corpus {
	return &corpus{t: t, s: s, rng: rng, who: []chat.UserID{newID[chat.UserID](), newID[chat.UserID]()}, clock: time.Unix(1_700_000_000, 0).UTC(),
		words: vocabulary, size: 6}
}

func newID[T ~string]() T { return T(uuid.Must(uuid.NewV7()).String()) }

func seed(t testing.TB) *rand.Rand {
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (set HOLDFAST_SEED to repeat)", n)
	return rand.New(rand.NewPCG(n, 1))
}

func (c *corpus) text() string {
	var words []string
	for range 1 + c.rng.IntN(c.size) {
		words = append(words, c.words[c.rng.IntN(len(c.words))])
	}
	return strings.Join(words, " ")
}

func (c *corpus) now() time.Time {
	c.clock = c.clock.Add(time.Second)
	return c.clock
}

func (c *corpus) update(fn func(*kv.Tx) error) {
	c.t.Helper()
	if err := c.s.Update(context.Background(), fn); err != nil {
		c.t.Fatal(err)
	}
}

func (c *corpus) create(owner chat.UserID) chat.ID { return c.put(owner, "") }

func (c *corpus) put(owner chat.UserID, parentID chat.ID) chat.ID {
	id := newID[chat.ID]()
	x := &chat.Chat{ID: id, RootID: id, OwnerID: owner, Title: c.text(), State: chat.Waiting, CreatedAt: c.now(), UpdatedAt: c.now()}
	if c.rng.IntN(4) == 0 {
		x.PinOrder = 1 + c.rng.IntN(3)
	}
	if c.rng.IntN(3) == 0 {
		x.Labels = map[string]string{"team": "red"}
	}
	if parentID != "" {
		parent := c.chat(parentID)
		x.ParentID, x.RootID, x.OwnerID = parent.ID, parent.RootID, parent.OwnerID
	}
	c.update(func(tx *kv.Tx) error { return tx.PutChat(x) })
	c.chats = append(c.chats, id)
	return id
}

func (c *corpus) any() chat.ID { return c.chats[c.rng.IntN(len(c.chats))] }

func (c *corpus) chat(id chat.ID) *chat.Chat {
	var out *chat.Chat
	err := c.s.View(context.Background(), func(tx *kv.Tx) error {
		x, found, err := tx.Chat(id)
		out = x
		return errors.Join(err, missing(found, id))
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func missing(found bool, id chat.ID) error {
	if found {
		return nil
	}
	return fmt.Errorf("chat %s is not there", id)
}

// change changes a Chat's record in a transaction of its own.
func (c *corpus) change(id chat.ID, fn func(tx *kv.Tx, x *chat.Chat) error) {
	c.t.Helper()
	c.update(func(tx *kv.Tx) error {
		x, found, err := tx.Chat(id)
		if err := errors.Join(err, missing(found, id)); err != nil {
			return err
		}
		if err := fn(tx, x); err != nil {
			return err
		}
		x.Version++
		return tx.PutChat(x)
	})
}

func (c *corpus) append(id chat.ID, messages ...*chat.Message) {
	c.t.Helper()
	at := c.now()
	c.change(id, func(tx *kv.Tx, x *chat.Chat) error {
		for _, m := range messages {
			e, err := kv.EncodeMessage(m)
			if err != nil {
				return err
			}
			n, err := tx.AppendMessage(x, e)
			if err != nil {
				return err
			}
			if m.Role == chat.RoleAssistant {
				x.LastReply = n
			}
		}
		x.UpdatedAt = at
		return nil
	})
}

func (c *corpus) message() *chat.Message {
	m := &chat.Message{Role: chat.RoleUser, ContentVersion: 1, CreatedAt: c.now(), Content: []chat.Part{{Type: chat.PartText, Text: c.text()}}}
	switch c.rng.IntN(7) {
	case 0, 1:
		m.Role = chat.RoleAssistant
	case 2:
		m.Visibility = chat.VisibleModel
	case 3:
		m.Role = chat.RoleTool
		m.Content = []chat.Part{{Type: chat.PartToolResult, CallID: "1", ToolName: "x", Text: c.text()}}
	case 4:
		m.Content = append(m.Content, chat.Part{Type: chat.PartFileReference, FileName: c.text(), Content: c.text()},
			chat.Part{Type: chat.PartReasoning, Text: c.text()})
	}
	return m
}

// step changes something and gives the Chat that it was.
func (c *corpus) step() chat.ID {
	if len(c.chats) < 3 || c.rng.IntN(6) == 0 {
		if len(c.chats) > 3 && c.rng.IntN(6) == 0 {
			return c.put("", c.any())
		}
		return c.create(c.who[c.rng.IntN(len(c.who))])
	}
	id := c.any()
	switch c.rng.IntN(9) {
	case 0:
		c.change(id, func(_ *kv.Tx, x *chat.Chat) error { x.Title = c.text(); return nil })
	case 1:
		c.change(id, func(_ *kv.Tx, x *chat.Chat) error {
			x.Archived = !x.Archived
			return nil
		})
	case 2:
		states := []chat.State{chat.Waiting, chat.Completed, chat.Failed, chat.Running}
		c.change(id, func(_ *kv.Tx, x *chat.Chat) error { x.State = states[c.rng.IntN(len(states))]; return nil })
	case 3:
		c.change(id, func(tx *kv.Tx, x *chat.Chat) error {
			all, err := tx.Messages(id, kv.MessageQuery{})
			if err != nil || len(all) == 0 {
				return err
			}
			_, err = tx.MarkDeleted(x, all[c.rng.IntN(len(all))].ID)
			return err
		})
	case 4:
		if c.rng.IntN(4) == 0 {
			return c.remove(id)
		}
	default:
		for range 1 + c.rng.IntN(4) {
			c.append(id, c.message(), c.message())
		}
	}
	return id
}

// remove takes the family of a Chat away, sometimes all of it, sometimes only out of sight.
func (c *corpus) remove(id chat.ID) chat.ID {
	root := c.chat(id).RootID
	var gone []chat.ID
	for _, x := range c.chats {
		if c.chat(x).RootID == root {
			gone = append(gone, x)
		}
	}
	c.update(func(tx *kv.Tx) error { return tx.DeleteFamily(root) })
	if c.rng.IntN(2) == 0 {
		if _, err := c.s.PurgeFamilies(context.Background()); err != nil {
			c.t.Fatal(err)
		}
	}
	c.chats = slices.DeleteFunc(c.chats, func(x chat.ID) bool { return slices.Contains(gone, x) })
	return root
}

// naive finds what a query must find, by reading everything: ids in the order of the list.
func (c *corpus) naive(who chat.UserID, query string) []chat.ID {
	q, err := Parse(query)
	if err != nil {
		c.t.Fatal(err)
	}
	var found []*chat.Chat
	err = c.s.View(context.Background(), func(tx *kv.Tx) error {
		for _, id := range c.chats {
			x, there, err := tx.Chat(id)
			if err := errors.Join(err, missing(there, id)); err != nil {
				return err
			}
			seen, err := tx.ReadMark(who, id)
			if err != nil {
				return err
			}
			if x.OwnerID != who || x.ParentID != "" || q.Blank || !q.keeps(x, x.State.AtRest() && seen < x.LastReply) {
				continue
			}
			texts := []string{x.Title}
			all, err := tx.Messages(id, kv.MessageQuery{})
			if err != nil {
				return err
			}
			for _, m := range all {
				texts = append(texts, searched(m)...)
			}
			if hasAll(texts, q.Words) {
				found = append(found, x)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(found, func(a, b *chat.Chat) int {
		if (a.PinOrder > 0) != (b.PinOrder > 0) {
			return cmp.Compare(b.PinOrder, a.PinOrder)
		}
		return cmp.Or(cmp.Compare(a.PinOrder, b.PinOrder), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	var ids []chat.ID
	for _, x := range found {
		ids = append(ids, x.ID)
	}
	return ids
}

func hasAll(texts, words []string) bool {
	for _, w := range words {
		if !slices.ContainsFunc(texts, func(text string) bool {
			return slices.ContainsFunc(termsOf(text), func(term string) bool { return strings.HasPrefix(term, w) })
		}) {
			return false
		}
	}
	return true
}

// compare holds pages of a search against the naive scan.
func (c *corpus) compare(r *Room, query string) {
	c.t.Helper()
	for _, who := range c.who {
		want := c.naive(who, query)
		var got []chat.ID
		in := SearchInput{Query: query, Limit: 1 + c.rng.IntN(5)}
		for {
			out, err := r.Search(context.Background(), chat.Principal{UserID: who}, in)
			if err != nil {
				c.t.Fatalf("%q: %v", query, err)
			}
			for _, h := range out.Hits {
				got = append(got, h.Chat.ID)
				c.checkHit(h, out.Words)
			}
			if len(out.Hits) != in.Limit && out.HasMore {
				c.t.Fatalf("%q: a page of %d ends early, at %d", query, in.Limit, len(out.Hits))
			}
			if !out.HasMore {
				break
			}
			in.AfterID = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			c.t.Fatalf("%q finds %v, must find %v", query, got, want)
		}
	}
}

// checkHit: what a hit names must show one of its words.
func (c *corpus) checkHit(h Hit, words []string) {
	c.t.Helper()
	if len(words) == 0 || hasAll([]string{h.Chat.Title}, words) {
		return
	}
	if h.Message == nil || len(h.Snippet.Marks) == 0 {
		c.t.Fatalf("the hit %+v for %q shows nothing", h, words)
	}
	err := c.s.View(context.Background(), func(tx *kv.Tx) error {
		m, found, err := tx.Message(h.Chat.ID, h.Message.ID)
		if err == nil && (!found || m.Deleted || len(searched(m)) == 0) {
			err = fmt.Errorf("message %d of the hit is not one that a person sees", h.Message.ID)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *corpus) query() string {
	fields := []string{"archived:true", "label:team=red", "status:completed", "has:unread", "+"}
	var words []string
	for range c.rng.IntN(4) {
		word := []rune(c.words[c.rng.IntN(len(c.words))])
		words = append(words, string(word[:1+c.rng.IntN(len(word))]))
	}
	if c.rng.IntN(3) == 0 {
		words = append(words, fields[c.rng.IntN(len(fields))])
	}
	return strings.Join(words, " ")
}
