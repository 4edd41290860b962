package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// SearchInput asks for one page of a person's Chats that match. Limit is 1 to 200, 0 is 50. AfterID goes on behind that Chat, where it
// stands in the list now; it must be one of the person's.
type SearchInput struct {
	Query   string
	Limit   int
	AfterID chat.ID
}

// SearchOutput is one page, in the order of the list: pinned first, then the newest change first.
type SearchOutput struct {
	Hits    []Hit
	HasMore bool
	// Words are the query's bare words as they were looked for.
	Words []string
	// Searched counts the Chats that were looked at, Unreadable those of them that are damaged and so may lack a hit.
	Searched   int
	Unreadable int
}

// Hit is a Chat that matches. Message is the one that shows the most words, nil when all stand in the title or none were asked for.
type Hit struct {
	Chat    *chat.Chat
	Unread  bool
	Message *chat.Message
	Snippet Snippet
}

const (
	// readTime is how long a transaction goes on to the next Chat.
	readTime = 10 * time.Millisecond
	// tailPage is how many Messages are read at once, tailBytes how much text of them is looked at before the transaction is left.
	tailPage = 32
	// snippetMessages bounds the Messages that are read for one snippet.
	snippetMessages = 3
)

// Search finds Chats by words and fields (Query). A page goes on until it is full, so it is short only at the end.
func (r *Room) Search(ctx context.Context, p chat.Principal, in SearchInput) (SearchOutput, error) {
	if in.Limit == 0 {
		in.Limit = 50
	}
	if in.Limit < 1 || in.Limit > 200 {
		return SearchOutput{}, chat.Invalid("limit", "It must be 1 to 200.")
	}
	q, err := Parse(in.Query)
	if err != nil {
		return SearchOutput{}, err
	}
	out := SearchOutput{Words: q.Words}
	found, err := r.candidates(ctx, p.UserID, q, in.AfterID)
	if err != nil {
		return SearchOutput{}, err
	}
	out.Searched, out.Unreadable = found.Looked, found.Damaged
	if q.Blank {
		return out, nil
	}
	s := &searcher{room: r, who: p, q: q, match: newMatcher(q.Words), out: &out, limit: in.Limit}
	for i := 0; i < found.Len() && !out.HasMore; {
		err := r.store.View(ctx, func(tx *kv.Tx) error {
			for start := time.Now(); i < found.Len() && !out.HasMore && time.Since(start) < readTime; {
				done, err := s.step(tx, found, i)
				if err != nil {
					return err
				}
				if done {
					i++
				}
			}
			return nil
		})
		if err != nil {
			return SearchOutput{}, err
		}
	}
	return out, nil
}

// candidates asks the index. One that is damaged is made anew, and this search does without.
func (r *Room) candidates(ctx context.Context, owner chat.UserID, q Query, after chat.ID) (found *kv.Candidates, err error) {
	ask := kv.TermQuery{Words: q.Words, Archived: q.Archived, State: q.State, AfterID: after}
	read := func(tx *kv.Tx) (err error) {
		if after != "" {
			c, there, err := tx.Chat(after)
			if err != nil {
				return err
			}
			if !there || c.OwnerID != owner {
				return chat.Invalid("after_id", "There is no such chat.")
			}
		}
		found, err = tx.Candidates(owner, ask)
		return err
	}
	err = r.store.View(ctx, read)
	var d *kv.DamageError
	if errors.As(err, &d) && d.Noun == "term" {
		r.rebuild(d)
		ask.Unindexed = true
		err = r.store.View(ctx, read)
	}
	return found, err
}

// searcher goes through the candidates of one search.
type searcher struct {
	room  *Room
	who   chat.Principal
	q     Query
	match *matcher
	out   *SearchOutput
	limit int
	// tail is the candidate whose Messages are being read over several transactions; nil between candidates.
	tail *tail
}

// tail is a candidate of which the index does not say enough.
type tail struct {
	// hits are the newest Messages that have each word.
	hits []chat.MessageID
	// after is up to where the index counts, before from where on everything is read.
	after, before chat.MessageID
	marked        chat.MessageID
}

// step looks at a candidate, and says whether it is done with it.
func (s *searcher) step(tx *kv.Tx, found *kv.Candidates, i int) (done bool, err error) {
	k := found.At(i)
	done, err = s.look(tx, k)
	var d *kv.DamageError
	if errors.As(err, &d) {
		// A broken Chat must not keep the others from being found.
		s.out.Unreadable++
		done, err = true, nil
	}
	if done {
		s.tail = nil
	}
	return done, err
}

func (s *searcher) look(tx *kv.Tx, k kv.Candidate) (done bool, err error) {
	c, there, err := tx.Chat(k.ID)
	if err != nil || !there || c.OwnerID != s.who.UserID || c.ParentID != "" {
		return true, err
	}
	seen, err := tx.ReadMark(s.who.UserID, c.ID)
	if err != nil {
		return true, err
	}
	unread := c.State.AtRest() && seen < c.LastReply
	if !s.q.keeps(c, unread) {
		return true, nil
	}
	h := Hit{Chat: c, Unread: unread}
	if len(s.q.Words) > 0 {
		hits, matched, done, err := s.words(tx, c, k)
		if err != nil || !done || !matched {
			return done, err
		}
		if len(s.out.Hits) < s.limit {
			if err := s.show(tx, &h, hits); err != nil {
				return true, err
			}
		}
	}
	if len(s.out.Hits) == s.limit {
		s.out.HasMore = true
		return true, nil
	}
	s.out.Hits = append(s.out.Hits, h)
	return true, nil
}

// words says whether a Chat has all words, in which Messages those stand that its title lacks, or that it needs another transaction.
func (s *searcher) words(tx *kv.Tx, c *chat.Chat, k kv.Candidate) (hits []chat.MessageID, matched, done bool, err error) {
	newest, err := tx.NewestMark(c.ID)
	if err != nil {
		return nil, false, true, err
	}
	t := s.tail
	if t == nil || t.marked != newest {
		t = &tail{hits: k.Hits, after: k.UpTo, marked: newest}
		if newest > k.Marked {
			t.hits, t.after = make([]chat.MessageID, len(s.q.Words)), 0
		}
	}
	s.tail = t
	for {
		s.match.reset()
		s.match.scan(c.Title)
		for i, m := range t.hits {
			if m > 0 && !s.match.found[i] {
				s.match.found[i] = true
				s.match.left--
			}
		}
		if s.match.left == 0 {
			return s.shown(c, t.hits), true, true, nil
		}
		if c.Chain.LastID <= t.after {
			return nil, false, true, nil
		}
		page, err := tx.Messages(c.ID, kv.MessageQuery{After: t.after, Before: t.before, Limit: tailPage, Descending: true})
		if err != nil {
			return nil, false, true, err
		}
		s.read(page, t)
		if len(page) == tailPage {
			t.before = page[len(page)-1].ID
			return nil, false, false, nil
		}
		// What is left to say, the next look at the hits says.
		t.after = c.Chain.LastID
	}
}

// read looks through Messages, newest first.
func (s *searcher) read(page []*chat.Message, t *tail) {
	for _, m := range page {
		s.match.reset()
		s.match.scan(searched(m)...)
		for i, found := range s.match.found {
			if found && t.hits[i] < m.ID {
				t.hits[i] = m.ID
			}
		}
	}
}

// shown leaves out the hits of words that stand in the title.
func (s *searcher) shown(c *chat.Chat, hits []chat.MessageID) []chat.MessageID {
	s.match.reset()
	s.match.scan(c.Title)
	out := make([]chat.MessageID, 0, len(hits))
	for i, m := range hits {
		if m > 0 && !s.match.found[i] {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// show takes the snippet from the Message that shows the most words, the newest of such.
func (s *searcher) show(tx *kv.Tx, h *Hit, messages []chat.MessageID) error {
	best := 0
	for n := len(messages) - 1; n >= max(0, len(messages)-snippetMessages); n-- {
		m, there, err := tx.Message(h.Chat.ID, messages[n])
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		for _, text := range searched(m) {
			if piece, shown := snippetOf(text, s.q.Words); shown > best {
				h.Message, h.Snippet, best = m, piece, shown
			}
		}
	}
	return nil
}
