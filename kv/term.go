package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

// TermState is what the term index holds of a Chat: its live Messages up to UpTo, as far as deletion marks up to Marked say. It says
// nothing about the rest, which a search reads itself. It is derived and may be dropped at any time.
type TermState struct {
	// Generation names the postings that count; those of the Chat's other generations are dead.
	Generation uint64
	UpTo       chat.MessageID
	Marked     chat.MessageID
	// Stamp is that of the Chat's record that Title was read from.
	Stamp uint64
	// Title holds the title's terms, a line feed before each.
	Title string
}

const termHeadSize = 4 * 8

func (s TermState) head() []byte {
	out := make([]byte, 0, termHeadSize)
	for _, n := range []uint64{s.Generation, uint64(s.UpTo), uint64(s.Marked), s.Stamp} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	return out
}

func parseTermState(r record) TermState {
	return TermState{Generation: numberAt(r.head, 0), UpTo: chat.MessageID(numberAt(r.head, 8)), Marked: chat.MessageID(numberAt(r.head, 16)),
		Stamp: numberAt(r.head, 24), Title: string(r.body)}
}

// stampOf tells versions of a Chat's record apart: its checksum and its size.
func stampOf(value []byte) uint64 {
	return uint64(binary.BigEndian.Uint32(value[1:]))<<32 | uint64(uint32(len(value)))
}

// termState gives the zero state for a Chat that is not indexed, or whose state is damaged: then all of it is read.
func (x *Tx) termState(key []byte) (TermState, error) {
	r, found, err := x.t.get(bTermChat, key)
	var d *DamageError
	if errors.As(err, &d) {
		x.s.damages.add(d.Damage)
		return TermState{}, nil
	}
	if err != nil || !found {
		return TermState{}, err
	}
	return parseTermState(r), nil
}

// TermTarget is a Chat as the term index has to bring it up to date.
type TermTarget struct {
	Chat  *chat.Chat
	Known TermState
	// Stamp is that of the Chat's record, Marked its newest deletion mark.
	Stamp  uint64
	Marked chat.MessageID
}

// Behind says whether the index lacks anything of the Chat.
func (t TermTarget) Behind() bool {
	return t.Known.Generation == 0 || t.Known.Stamp != t.Stamp || t.Known.UpTo != t.Chat.Chain.LastID
}

// TermTarget gives a Chat; one whose family is being removed is not found.
func (x *Tx) TermTarget(id chat.ID) (TermTarget, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return TermTarget{}, false, err
	}
	c, found, err := x.Chat(id)
	if err != nil || !found {
		return TermTarget{}, false, err
	}
	t := TermTarget{Chat: c}
	value, err := x.t.raw(bChat, key)
	if err != nil {
		return t, false, err
	}
	t.Stamp = stampOf(value)
	if t.Marked, err = x.newestMark(key); err != nil {
		return t, false, err
	}
	t.Known, err = x.termState(key)
	return t, err == nil, err
}

// NewestMark gives the id of a Chat's newest deletion mark, 0 without one.
func (x *Tx) NewestMark(id chat.ID) (chat.MessageID, error) {
	key, err := idKey(id)
	if err != nil {
		return 0, err
	}
	return x.newestMark(key)
}

func (x *Tx) newestMark(key []byte) (chat.MessageID, error) {
	var newest chat.MessageID
	err := x.t.scanDown(bMark, key, nil, func(r row) (bool, error) {
		newest = messageIDOf(r.key)
		return false, nil
	})
	return newest, err
}

// PutTermState keeps what the index now holds of a Chat. A Chat that is gone is left alone.
func (x *Tx) PutTermState(id chat.ID, s TermState) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	if _, found, err := x.liveChat(id); err != nil || !found {
		return err
	}
	return x.t.putRaw(bTermChat, key, encodeRecord(recordVersion, bTermChat, key, s.head(), []byte(s.Title)))
}

// BehindChats names Chats of which the index lacks something, looking at up to limit Chats from the id from on ("" is the first). next is
// where to go on, "" at the end.
func (x *Tx) BehindChats(from chat.ID, limit int) (behind []chat.ID, next chat.ID, err error) {
	var start []byte
	if from != "" {
		if start, err = idKey(from); err != nil {
			return nil, "", err
		}
	}
	doomed, err := x.doomedRoots()
	if err != nil {
		return nil, "", err
	}
	seen := 0
	err = x.t.scan(bChat, nil, start, func(r row) (bool, error) {
		if len(r.key) != idSize {
			return true, nil
		}
		id := chat.ID(toID(r.key).String())
		if seen == limit {
			next = id
			return false, nil
		}
		seen++
		rec, err := decodeRecord(bChat, r.key, r.value)
		if err != nil {
			x.s.note(err)
			return true, nil
		}
		if doomed[toID(rec.head[idSize:])] {
			return true, nil
		}
		known, err := x.termState(r.key)
		if err != nil {
			return false, err
		}
		if known.Generation == 0 || known.Stamp != stampOf(r.value) || known.UpTo != chat.MessageID(numberAt(rec.head, lastIDAt)) {
			behind = append(behind, id)
		}
		return true, nil
	})
	return behind, next, err
}

// DropTerms empties the term index, states first: postings without a state are dead, a state without its postings would hide Messages.
func (s *Store) DropTerms(ctx context.Context) error {
	for _, b := range []bucket{bTermChat, bTerm} {
		for n := purgeRecords; n == purgeRecords; {
			err := s.Update(ctx, func(tx *Tx) (err error) {
				n, err = tx.t.deletePrefix(b, nil, nil, purgeRecords)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// SweepTerms removes what unfinished and replaced segments left, in small commits. Nobody may be writing a segment meanwhile.
func (s *Store) SweepTerms(ctx context.Context) error {
	for {
		var keys [][]byte
		err := s.View(ctx, func(tx *Tx) (err error) {
			keys, err = tx.headlessTerms(purgeRecords)
			return err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		if _, err := s.deleteKeys(ctx, bTerm, keys); err != nil {
			return err
		}
	}
}

// headlessTerms gives up to limit keys of segments without a head.
func (x *Tx) headlessTerms(limit int) ([][]byte, error) {
	var keys [][]byte
	var from []byte
	for {
		var segment []byte
		err := x.t.scan(bTerm, nil, from, func(r row) (bool, error) {
			if len(r.key) < segmentKeySize {
				return false, &DamageError{damageAt(bTerm, r.key, "the key is cut short")}
			}
			segment = bytes.Clone(r.key[:segmentKeySize])
			if len(r.key) == segmentKeySize {
				return false, nil
			}
			if from == nil || !bytes.HasPrefix(from, segment) {
				from = segment
			}
			return false, nil
		})
		if err != nil || segment == nil {
			return keys, err
		}
		headed, err := x.t.raw(bTerm, segment)
		if err != nil {
			return nil, err
		}
		if headed == nil {
			err := x.t.scan(bTerm, segment, nil, func(r row) (bool, error) {
				keys = append(keys, bytes.Clone(r.key))
				return len(keys) < limit, nil
			})
			if err != nil || len(keys) >= limit {
				return keys, err
			}
		}
		if from = prefixEnd(segment); from == nil {
			return keys, nil
		}
	}
}

func segmentKey(owner id16, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, segmentKeySize+64), owner[:]...), segment)
}

const segmentKeySize = idSize + 8

// terms looks at segments and states of the term index.
func (c *checker) terms() error {
	// A segment's head comes before its blocks; blocks without a head are those of a segment that is being written, or was.
	var segment *termSegment
	return errors.Join(
		c.each(bTerm, func(key []byte, r record) {
			switch {
			case len(key) < segmentKeySize:
				c.add(bTerm, key, "the key is cut short")
			case len(key) == segmentKeySize:
				segment = c.termHead(key)
			case segment != nil && bytes.HasPrefix(key, segment.key) && key[segmentKeySize] != 0:
				c.termBlock(key, r, segment)
			}
		}),
		c.each(bTermChat, func(key []byte, r record) {
			c.owned(bTermChat, key)
			s := parseTermState(r)
			if len(key) != idSize {
				return
			}
			if x := c.chats[toID(key)]; x != nil && (s.UpTo > x.head.chain.LastID || s.Generation == 0) {
				c.add(bTermChat, key, "it says that message %d is indexed, the chat ends with %d", s.UpTo, x.head.chain.LastID)
			}
		}))
}

func (c *checker) termHead(key []byte) *termSegment {
	s, err := c.tx.termSegment(toID(key), numberAt(key, idSize))
	var d *DamageError
	if errors.As(err, &d) && d.Key == hex.EncodeToString(key) {
		// Other damage is that of a record which reports itself.
		c.found = append(c.found, d.Damage)
	}
	if err != nil {
		return nil
	}
	return &s
}

func (c *checker) termBlock(key []byte, r record, s *termSegment) {
	last := ""
	err := eachTerm(r.body, func(term []byte, hits termHits) error {
		if string(term) <= last {
			return fmt.Errorf("the terms are not in order at %q", term)
		}
		if last == "" && !bytes.Equal(term, key[segmentKeySize:]) {
			return fmt.Errorf("it begins with %q", term)
		}
		last = string(term)
		return hits.each(func(doc int, _ uint64) error {
			if doc >= len(s.docs) {
				return fmt.Errorf("the term %q is in document %d of %d", term, doc, len(s.docs))
			}
			return nil
		})
	})
	if err != nil {
		c.add(bTerm, key, "%v", err)
	}
}
