package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// TermQuery asks for a person's root Chats that may have all of the words, each as the beginning of a term; at most 32. No words: all of
// them. State "" is any. AfterID goes on behind that Chat, where it stands now.
type TermQuery struct {
	Words    []string
	Archived bool
	State    chat.State
	AfterID  chat.ID
	// Unindexed leaves the index out: every Chat is a candidate.
	Unindexed bool
}

// Candidates are the Chats that may match, in the order of Chats, and what the index knows of each.
type Candidates struct {
	// Looked counts the Chats that were looked at, Damaged those whose record cannot be read.
	Looked, Damaged int
	rows            []chatRow
	states          []TermState
	hits            *foundTerms
}

// Candidate is one of them. Hits names for each word the newest Message up to UpTo that has it, 0 for none; it holds as long as the Chat
// has no deletion mark newer than Marked. Of titles the index says nothing here.
type Candidate struct {
	ID     chat.ID
	UpTo   chat.MessageID
	Marked chat.MessageID
	Hits   []chat.MessageID
}

// Len is how many there are.
func (c *Candidates) Len() int { return len(c.rows) }

// At gives one of them.
func (c *Candidates) At(i int) Candidate {
	id, s := c.rows[i].id, c.states[i]
	out := Candidate{ID: chat.ID(id.String()), UpTo: s.UpTo, Marked: s.Marked, Hits: make([]chat.MessageID, c.hits.words)}
	copy(out.Hits, c.hits.of(id, s.Generation))
	return out
}

// Candidates looks words up in the index. A Chat of which the index is complete is left out when it lacks a word; any other is a
// candidate. It costs one look at the head of each Chat of the store, as Chats does.
func (x *Tx) Candidates(owner chat.UserID, q TermQuery) (*Candidates, error) {
	ownerID, err := parseID(string(owner))
	if err != nil {
		return nil, err
	}
	var after *chatRow
	if q.AfterID != "" {
		row, err := x.rowOf(q.AfterID)
		if err != nil {
			return nil, err
		}
		after = &row
	}
	hits := &foundTerms{words: len(q.Words), places: map[docKey]int{}}
	if !q.Unindexed {
		if err := x.findTerms(ownerID, q.Words, hits); err != nil {
			return nil, err
		}
	}
	out := &Candidates{hits: hits}
	var found []candidateRow
	doomed, err := x.doomedRoots()
	if err != nil {
		return nil, err
	}
	titles := titleNeedles(q.Words)
	err = x.t.scanDown(bChat, nil, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bChat, r.key, r.value)
		var d *DamageError
		if errors.As(err, &d) || len(r.key) != idSize {
			out.Damaged++
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !bytes.Equal(rec.head[:idSize], ownerID[:]) || !bytes.Equal(rec.head[idSize:2*idSize], r.key) ||
			(rec.head[flagsAt]&flagArchived != 0) != q.Archived || doomed[toID(r.key)] {
			return true, nil
		}
		h := parseChatHead(rec.head)
		if q.State != "" && h.state != q.State {
			return true, nil
		}
		out.Looked++
		c := candidateRow{row: chatRow{id: toID(r.key), pin: h.pin, updated: h.updated}}
		if after != nil && c.row.order(*after) <= 0 {
			return true, nil
		}
		if len(q.Words) > 0 && !q.Unindexed {
			keep, err := x.mayMatch(&c, hits, titles, stampOf(r.value), h.chain.LastID)
			if err != nil || !keep {
				return err == nil, err
			}
		}
		found = append(found, c)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b candidateRow) int { return a.row.order(b.row) })
	for _, c := range found {
		out.rows = append(out.rows, c.row)
		out.states = append(out.states, c.state)
	}
	return out, nil
}

type candidateRow struct {
	row   chatRow
	state TermState
}

// titleNeedles are the words as they begin in TermState.Title.
func titleNeedles(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte("\n" + w)
	}
	return out
}

// mayMatch fills in what the index knows of a Chat, and says false when it knows that a word is missing.
func (x *Tx) mayMatch(c *candidateRow, hits *foundTerms, titles [][]byte, stamp uint64, last chat.MessageID) (bool, error) {
	r, found, err := x.t.get(bTermChat, c.row.id[:])
	var d *DamageError
	if errors.As(err, &d) {
		x.s.damages.add(d.Damage)
		return true, nil
	}
	if err != nil || !found {
		return true, err
	}
	s := TermState{Generation: numberAt(r.head, 0), UpTo: chat.MessageID(numberAt(r.head, 8)), Marked: chat.MessageID(numberAt(r.head, 16)),
		Stamp: numberAt(r.head, 24)}
	c.state = s
	if s.Stamp != stamp || s.UpTo != last {
		return true, nil
	}
	messages := hits.of(c.row.id, s.Generation)
	for i, needle := range titles {
		if (messages == nil || messages[i] == 0) && !bytes.Contains(r.body, needle) {
			return false, nil
		}
	}
	return true, nil
}

// foundTerms are the newest Messages of each word, by Chat and generation.
type foundTerms struct {
	words  int
	places map[docKey]int
	// newest has words entries for each place.
	newest []chat.MessageID
}

type docKey struct {
	chat       id16
	generation uint64
}

func (f *foundTerms) of(id id16, generation uint64) []chat.MessageID {
	at, ok := f.places[docKey{id, generation}]
	if !ok {
		return nil
	}
	return f.newest[at : at+f.words]
}

func (f *foundTerms) add(d termDoc, word int, m chat.MessageID) {
	key := docKey{d.chat, d.generation}
	at, ok := f.places[key]
	if !ok {
		at = len(f.newest)
		f.places[key] = at
		f.newest = append(f.newest, make([]chat.MessageID, f.words)...)
	}
	f.newest[at+word] = max(f.newest[at+word], m)
}

// findTerms reads the postings of all terms that begin with a word.
func (x *Tx) findTerms(owner id16, words []string, into *foundTerms) error {
	if len(words) == 0 {
		return nil
	}
	segments, err := x.termSegments(owner)
	if err != nil {
		return err
	}
	for _, s := range segments {
		// The newest distance of each document, plus 1.
		newest := make([]uint64, len(s.docs))
		for i, w := range words {
			clear(newest)
			if err := x.findTerm(s, w, newest); err != nil {
				return err
			}
			for doc, distance := range newest {
				if distance > 0 {
					into.add(s.docs[doc], i, s.docs[doc].base+chat.MessageID(distance-1))
				}
			}
		}
	}
	return nil
}

func (x *Tx) findTerm(s termSegment, word string, newest []uint64) error {
	// The word may stand inside of the block that begins before it.
	from := append(bytes.Clone(s.key), word...)
	err := x.t.scanDown(bTerm, s.key, append(bytes.Clone(from), 0), func(r row) (bool, error) {
		if len(r.key) > segmentKeySize && r.key[segmentKeySize] != 0 {
			from = bytes.Clone(r.key)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	return x.t.scan(bTerm, s.key, from, func(r row) (bool, error) {
		first := string(r.key[segmentKeySize:])
		if first > word && !strings.HasPrefix(first, word) {
			return false, nil
		}
		rec, err := decodeRecord(bTerm, r.key, r.value)
		if err != nil {
			return false, err
		}
		ended := false
		err = eachTerm(rec.body, func(term []byte, hits termHits) error {
			if string(term) < word {
				return nil
			}
			if !bytes.HasPrefix(term, []byte(word)) {
				ended = true
				return errEnough
			}
			return hits.newest(newest)
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
		if errors.Is(err, errTermBlock) {
			err = &DamageError{damageAt(bTerm, r.key, err.Error())}
		}
		return !ended, err
	})
}

// newest raises the distances, plus 1, of the documents. A short word begins very many terms, so this is each without its calls.
func (h termHits) newest(into []uint64) error {
	doc := uint64(0)
	for at := 0; at < len(h); {
		d, n := uint64(h[at]), 1
		if d >= 0x80 {
			d, n = binary.Uvarint(h[at:])
		}
		if n <= 0 || at+n >= len(h) {
			return errTermBlock
		}
		at += n
		distance, m := uint64(h[at]), 1
		if distance >= 0x80 {
			distance, m = binary.Uvarint(h[at:])
		}
		doc += d
		if m <= 0 || d > 1<<31 || doc >= uint64(len(into)) {
			return errTermBlock
		}
		at += m
		into[doc] = max(into[doc], distance+1)
	}
	return nil
}

var errEnough = errors.New("enough")
