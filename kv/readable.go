package kv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"holdfast/engine/chat"
)

// Readable is what can be read of a damaged Chat's history, oldest first and without deleted Messages, and what cannot. It is for people
// who are shown both: nothing in it looks shorter than it is.
type Readable struct {
	Messages []*chat.Message
	// Lost are in the order of the history: what has a Message stood where that one stands, or right before it.
	Lost []Damage
}

// Good are the Messages in front of the first damage.
func (r Readable) Good() []*chat.Message {
	if len(r.Lost) == 0 {
		return r.Messages
	}
	at, _ := slices.BinarySearchFunc(r.Messages, r.Lost[0].Message, func(m *chat.Message, id chat.MessageID) int { return cmp.Compare(m.ID, id) })
	return r.Messages[:at]
}

// ReadableMessages gives a Chat's history with its gaps. It reads all of it. Only a record of the Chat that cannot be read is an error.
func (x *Tx) ReadableMessages(id chat.ID) (Readable, error) {
	prefix, err := chatKey(id)
	if err != nil {
		return Readable{}, err
	}
	head, found, err := x.liveChat(id)
	if err != nil || !found {
		return Readable{}, err
	}
	w := gapWalk{tx: x, sure: true}
	if w.marks, err = w.readMarks(prefix); err != nil {
		return Readable{}, err
	}
	err = x.t.scan(bMessage, prefix, nil, func(r row) (bool, error) {
		w.passMarks(messageIDOf(r.key))
		return true, w.message(r)
	})
	if err != nil {
		return Readable{}, err
	}
	w.passMarks(1<<63 - 1)
	w.end(prefix, head.chain)
	slices.SortStableFunc(w.out.Lost, func(a, b Damage) int { return cmp.Compare(a.Message, b.Message) })
	return w.out, nil
}

// gapWalk walks a Chat's chain and goes on behind what is broken.
type gapWalk struct {
	tx *Tx
	// marks are those that can be read, oldest first; next is the first that was not passed yet.
	marks []mark
	next  int
	// last is the newest link; sure says that its hash is known.
	last link
	sure bool
	out  Readable
}

func (w *gapWalk) lose(d Damage) {
	w.tx.s.damages.add(d)
	w.out.Lost = append(w.out.Lost, d)
}

// readMarks gives the marks that can be read; the others are lost, and stand in the chain with no hash.
func (w *gapWalk) readMarks(prefix []byte) ([]mark, error) {
	var out []mark
	err := w.tx.t.scan(bMark, prefix, nil, func(r row) (bool, error) {
		m := mark{id: messageIDOf(r.key), key: bytes.Clone(r.key)}
		rec, err := decodeRecord(bMark, r.key, r.value)
		var stored storedMark
		if err == nil {
			err = w.tx.t.decode(bMark, r.key, rec, &stored)
		}
		var d *DamageError
		switch {
		case errors.As(err, &d):
			d.Damage.Reason += "; messages that an edit took away may be among the others"
			w.lose(d.Damage)
			// One that deletes nothing, so that what it deleted shows.
			m.from = m.id
		case err != nil:
			return false, err
		default:
			rec.head, rec.body = bytes.Clone(rec.head), bytes.Clone(rec.body)
			m.from, m.rec = stored.From, rec
		}
		out = append(out, m)
		return true, nil
	})
	return out, err
}

// passMarks holds the marks below an id against the link before them.
func (w *gapWalk) passMarks(below chat.MessageID) {
	for ; w.next < len(w.marks) && w.marks[w.next].id < below; w.next++ {
		m := w.marks[w.next]
		if m.rec.head == nil {
			w.last.id, w.sure = m.id, false
			continue
		}
		w.follow(bMark, m.key, m.rec)
	}
}

// follow notes that something is missing where a link does not follow from the one before.
func (w *gapWalk) follow(b bucket, key []byte, rec record) {
	if want := linkHash(w.last.hash, b, key, rec.version, rec.body); w.sure && !bytes.Equal(want[:], rec.head) {
		w.lose(damageAt(b, key, fmt.Sprintf("the chain is broken between message %d and this one", w.last.id)))
	}
	w.last, w.sure = link{id: messageIDOf(key), hash: bytes.Clone(rec.head)}, true
}

func (w *gapWalk) message(r row) error {
	id := messageIDOf(r.key)
	deleted := deletedBy(w.marks, id)
	rec, err := decodeRecord(bMessage, r.key, r.value)
	var d *DamageError
	if errors.As(err, &d) {
		w.last.id, w.sure = id, false
		// One that an edit took away is missed by nobody.
		if !deleted {
			w.lose(d.Damage)
		}
		return nil
	}
	if err != nil {
		return err
	}
	w.follow(bMessage, r.key, rec)
	if deleted {
		return nil
	}
	m, err := w.tx.decodeMessage(r.key, rec)
	switch {
	case errors.As(err, &d):
		w.lose(d.Damage)
	case err != nil:
		return err
	default:
		w.out.Messages = append(w.out.Messages, m)
	}
	return nil
}

// end holds the last link against the Chat's record.
func (w *gapWalk) end(prefix []byte, chain chat.Chain) {
	if w.last.id == chain.LastID && (!w.sure || bytes.Equal(w.last.hash, chain.Head)) {
		return
	}
	key := sequenceKey(prefix, int64(max(chain.LastID, w.last.id)))
	w.lose(damageAt(bMessage, key, fmt.Sprintf("the chain ends with message %d, the chat's record says %d", w.last.id, chain.LastID)))
}
