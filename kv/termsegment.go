package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

// A segment is a part of one person's term index that never changes: which terms stand in which documents, a document being what the
// segment holds of one Chat. It counts from the moment that its head is written, which is last. Larger segments replace smaller ones.
//
// A block holds terms in order, each as: bytes shared with the term before, bytes that follow, those bytes, size of its postings, the
// postings: documents as differences, each with the distance of its newest Message from the document's Base. All numbers are varints.

// TermDoc is what one segment holds of one Chat. Base is at most the id of each Message that the postings name.
type TermDoc struct {
	Chat       chat.ID
	Generation uint64
	Base       chat.MessageID
}

// TermSegment describes a segment. Bytes is the size of its blocks.
type TermSegment struct {
	ID    uint64
	Docs  []TermDoc
	Bytes int64
}

// TermHit is a document of a segment, by its place in Docs, and the newest Message in it that has a term.
type TermHit struct {
	Doc     int
	Message chat.MessageID
}

// TermEntry is a term of a block; Hits are in the order of their documents.
type TermEntry struct {
	Term string
	Hits []TermHit
}

const (
	// termBlockSize is where a block ends after the term that passes it.
	termBlockSize = 15 << 10
	termDocSize   = idSize + 16
	termChunkDocs = 480
)

var errTermBlock = errors.New("a block of terms is not readable")

// TermWriter makes the blocks of one new segment. Add terms in ascending order; whenever Pending is large enough, Write in a transaction
// and, once that is committed, Written. Finish in a transaction makes the segment count.
type TermWriter struct {
	owner   id16
	docs    []TermDoc
	segment uint64
	// begun is the segment's number while its first blocks are not committed.
	begun   uint64
	block   []byte
	first   string
	last    string
	done    []termBlock
	pending int
	total   int64
}

type termBlock struct {
	first string
	body  []byte
}

// NewTermWriter begins a segment over these documents.
func NewTermWriter(owner chat.UserID, docs []TermDoc) (*TermWriter, error) {
	id, err := parseID(string(owner))
	return &TermWriter{owner: id, docs: docs}, err
}

// Add appends a term. Its hits must be in the order of their documents, each once.
func (w *TermWriter) Add(term string, hits []TermHit) {
	shared := 0
	if w.block == nil {
		w.first = term
	} else {
		for shared < len(w.last) && shared < len(term) && w.last[shared] == term[shared] {
			shared++
		}
	}
	w.last = term
	at := len(w.block)
	w.block = binary.AppendUvarint(w.block, uint64(shared))
	w.block = binary.AppendUvarint(w.block, uint64(len(term)-shared))
	w.block = append(w.block, term[shared:]...)
	var postings []byte
	doc := 0
	for _, h := range hits {
		postings = binary.AppendUvarint(postings, uint64(h.Doc-doc))
		postings = binary.AppendUvarint(postings, uint64(h.Message-w.docs[h.Doc].Base))
		doc = h.Doc
	}
	w.block = binary.AppendUvarint(w.block, uint64(len(postings)))
	w.block = append(w.block, postings...)
	w.pending += len(w.block) - at
	if len(w.block) >= termBlockSize {
		w.endBlock()
	}
}

func (w *TermWriter) endBlock() {
	if w.block == nil {
		return
	}
	w.done = append(w.done, termBlock{w.first, w.block})
	w.block = nil
}

// Pending is how many bytes wait to be written.
func (w *TermWriter) Pending() int { return w.pending }

// Write writes the full blocks that wait. The transaction may run more than once.
func (w *TermWriter) Write(x *Tx) error {
	w.begun = w.segment
	if w.begun == 0 {
		n, err := x.nextSegment(w.owner)
		if err != nil {
			return err
		}
		w.begun = n
	}
	prefix := segmentKey(w.owner, w.begun)
	for _, b := range w.done {
		key := append(bytes.Clone(prefix), b.first...)
		if err := x.t.putRaw(bTerm, key, encodeRecord(recordVersion, bTerm, key, nil, b.body)); err != nil {
			return err
		}
	}
	return nil
}

// Written notes that what Write wrote is committed.
func (w *TermWriter) Written() {
	w.segment = w.begun
	for _, b := range w.done {
		w.total += int64(len(b.body))
		w.pending -= len(b.body)
	}
	w.done = nil
}

// Finish writes what is left and the segment's head, and ends the segments that it replaces. The transaction may run more than once.
func (w *TermWriter) Finish(x *Tx, replaces []uint64) error {
	w.endBlock()
	if err := w.Write(x); err != nil {
		return err
	}
	prefix := segmentKey(w.owner, w.begun)
	for n := 0; n*termChunkDocs < len(w.docs); n++ {
		key := binary.BigEndian.AppendUint16(append(bytes.Clone(prefix), 0), uint16(n))
		body, err := encodeTermDocs(w.docs[n*termChunkDocs : min((n+1)*termChunkDocs, len(w.docs))])
		if err != nil {
			return err
		}
		if err := x.t.putRaw(bTerm, key, encodeRecord(recordVersion, bTerm, key, nil, body)); err != nil {
			return err
		}
	}
	size := w.total
	for _, b := range w.done {
		size += int64(len(b.body))
	}
	head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(w.docs))), uint64(size))
	if err := x.t.putRaw(bTerm, prefix, encodeRecord(recordVersion, bTerm, prefix, nil, head)); err != nil {
		return err
	}
	for _, old := range replaces {
		if err := x.t.delete(bTerm, segmentKey(w.owner, old)); err != nil {
			return err
		}
	}
	return nil
}

// EndTermSegment makes a segment count no more; SweepTerms removes its blocks.
func (x *Tx) EndTermSegment(owner chat.UserID, segment uint64) error {
	id, err := parseID(string(owner))
	if err != nil {
		return err
	}
	return x.t.delete(bTerm, segmentKey(id, segment))
}

func encodeTermDocs(docs []TermDoc) ([]byte, error) {
	body := make([]byte, 0, len(docs)*termDocSize)
	for _, d := range docs {
		id, err := parseID(string(d.Chat))
		if err != nil {
			return nil, err
		}
		body = append(body, id[:]...)
		body = binary.BigEndian.AppendUint64(body, d.Generation)
		body = binary.BigEndian.AppendUint64(body, uint64(d.Base))
	}
	return body, nil
}

// nextSegment is behind all segments of a person, those without a head included.
func (x *Tx) nextSegment(owner id16) (uint64, error) {
	next := uint64(1)
	err := x.t.scanDown(bTerm, owner[:], nil, func(r row) (bool, error) {
		if len(r.key) >= segmentKeySize {
			next = numberAt(r.key, idSize) + 1
		}
		return false, nil
	})
	return next, err
}

// termSegment is a segment's head and documents, as the store's own functions use them.
type termSegment struct {
	id    uint64
	key   []byte
	docs  []termDoc
	bytes int64
}

type termDoc struct {
	chat       id16
	generation uint64
	base       chat.MessageID
}

func (x *Tx) termSegment(owner id16, id uint64) (termSegment, error) {
	s := termSegment{id: id, key: segmentKey(owner, id)}
	r, found, err := x.t.get(bTerm, s.key)
	if err != nil {
		return s, err
	}
	broken := func(reason string) error { return &DamageError{damageAt(bTerm, s.key, reason)} }
	if !found {
		return s, broken("the segment is not there")
	}
	count, n := binary.Uvarint(r.body)
	if n <= 0 {
		return s, broken("the head is not readable")
	}
	size, n := binary.Uvarint(r.body[n:])
	if n <= 0 {
		return s, broken("the head is not readable")
	}
	s.bytes = int64(size)
	err = x.t.scan(bTerm, append(bytes.Clone(s.key), 0), nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bTerm, r.key, r.value)
		if err != nil {
			return false, err
		}
		for b := rec.body; len(b) >= termDocSize; b = b[termDocSize:] {
			s.docs = append(s.docs, termDoc{chat: toID(b), generation: numberAt(b, idSize), base: chat.MessageID(numberAt(b, idSize+8))})
		}
		return true, nil
	})
	if err == nil && uint64(len(s.docs)) != count {
		err = broken(fmt.Sprintf("it has %d documents, its head says %d", len(s.docs), count))
	}
	return s, err
}

// termSegments gives a person's segments.
func (x *Tx) termSegments(owner id16) ([]termSegment, error) {
	var out []termSegment
	from := owner[:]
	for from != nil {
		segment, headed := []byte(nil), false
		err := x.t.scan(bTerm, owner[:], from, func(r row) (bool, error) {
			if len(r.key) < segmentKeySize {
				return false, &DamageError{damageAt(bTerm, r.key, "the key is cut short")}
			}
			segment, headed = bytes.Clone(r.key[:segmentKeySize]), len(r.key) == segmentKeySize
			return false, nil
		})
		if err != nil || segment == nil {
			return out, err
		}
		if headed {
			s, err := x.termSegment(owner, numberAt(segment, idSize))
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		from = prefixEnd(segment)
	}
	return out, nil
}

// TermOwners names the people who have a term index.
func (x *Tx) TermOwners() ([]chat.UserID, error) {
	var out []chat.UserID
	from := []byte{}
	for from != nil {
		var owner []byte
		err := x.t.scan(bTerm, nil, from, func(r row) (bool, error) {
			if len(r.key) < segmentKeySize {
				return false, &DamageError{damageAt(bTerm, r.key, "the key is cut short")}
			}
			owner = bytes.Clone(r.key[:idSize])
			return false, nil
		})
		if err != nil || owner == nil {
			return out, err
		}
		out = append(out, chat.UserID(toID(owner).String()))
		from = prefixEnd(owner)
	}
	return out, nil
}

// TermSegments describes a person's segments, oldest first.
func (x *Tx) TermSegments(owner chat.UserID) ([]TermSegment, error) {
	id, err := parseID(string(owner))
	if err != nil {
		return nil, err
	}
	all, err := x.termSegments(id)
	if err != nil {
		return nil, err
	}
	out := make([]TermSegment, 0, len(all))
	for _, s := range all {
		t := TermSegment{ID: s.id, Bytes: s.bytes, Docs: make([]TermDoc, 0, len(s.docs))}
		for _, d := range s.docs {
			t.Docs = append(t.Docs, TermDoc{Chat: chat.ID(d.chat.String()), Generation: d.generation, Base: d.base})
		}
		out = append(out, t)
	}
	return out, nil
}

// Values of TermDocState.
const (
	TermDocLive = iota
	// TermDocStale: the Chat was indexed anew.
	TermDocStale
	// TermDocGone: the Chat is not there any more.
	TermDocGone
)

// TermDocState says whether a document's postings still count.
func (x *Tx) TermDocState(d TermDoc) (int, error) {
	key, err := idKey(d.Chat)
	if err != nil {
		return 0, err
	}
	if _, found, err := x.liveChat(d.Chat); err != nil || !found {
		return TermDocGone, err
	}
	s, err := x.termState(key)
	if err != nil || s.Generation != d.Generation {
		return TermDocStale, err
	}
	return TermDocLive, nil
}

// NextTermBlock gives the terms of a segment's first block that begins behind the term after; none at the end.
func (x *Tx) NextTermBlock(owner chat.UserID, s TermSegment, after string) ([]TermEntry, error) {
	id, err := parseID(string(owner))
	if err != nil {
		return nil, err
	}
	key := segmentKey(id, s.ID)
	// Terms begin above 0, which is where the documents stand, and no term goes on with 0.
	from := append(append(bytes.Clone(key), after...), 0)
	if after == "" {
		from = append(bytes.Clone(key), 1)
	}
	var out []TermEntry
	err = x.t.scan(bTerm, key, from, func(r row) (bool, error) {
		rec, err := decodeRecord(bTerm, r.key, r.value)
		if err != nil {
			return false, err
		}
		err = eachTerm(rec.body, func(term []byte, hits termHits) error {
			e := TermEntry{Term: string(term)}
			err := hits.each(func(doc int, distance uint64) error {
				if doc >= len(s.Docs) {
					return errTermBlock
				}
				e.Hits = append(e.Hits, TermHit{Doc: doc, Message: s.Docs[doc].Base + chat.MessageID(distance)})
				return nil
			})
			out = append(out, e)
			return err
		})
		if errors.Is(err, errTermBlock) {
			err = &DamageError{damageAt(bTerm, r.key, err.Error())}
		}
		return false, err
	})
	return out, err
}

// termHits are postings as they are stored.
type termHits []byte

// each calls fn with each document and the distance of its Message.
func (h termHits) each(fn func(doc int, distance uint64) error) error {
	doc := 0
	for len(h) > 0 {
		d, n := binary.Uvarint(h)
		if n <= 0 || d > 1<<31 {
			return errTermBlock
		}
		distance, m := binary.Uvarint(h[n:])
		if m <= 0 {
			return errTermBlock
		}
		h = h[n+m:]
		doc += int(d)
		if err := fn(doc, distance); err != nil {
			return err
		}
	}
	return nil
}

// eachTerm calls fn with each term of a block; both arguments are valid during the call only.
func eachTerm(block []byte, fn func(term []byte, hits termHits) error) error {
	var term []byte
	for len(block) > 0 {
		shared, n := binary.Uvarint(block)
		if n <= 0 || shared > uint64(len(term)) {
			return errTermBlock
		}
		block = block[n:]
		more, rest, ok := cutSized(block)
		if !ok {
			return errTermBlock
		}
		hits, rest, ok := cutSized(rest)
		if !ok {
			return errTermBlock
		}
		term, block = append(term[:shared], more...), rest
		if err := fn(term, termHits(hits)); err != nil {
			return err
		}
	}
	return nil
}

// cutSized takes a size and as many bytes off b.
func cutSized(b []byte) (piece, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	return b[:size], b[size:], true
}
