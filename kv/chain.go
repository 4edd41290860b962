package kv

import (
	"bytes"
	"fmt"
	"math"

	"holdfast/engine/chat"
)

// A Chat's chain runs over its Messages and marks in the order of their ids, which is the order in which they came.

// link is one end of a chain.
type link struct {
	id   chat.MessageID
	hash []byte
}

// lastLink gives the newest Message or mark of a Chat; the zero link when there is none.
func (x *Tx) lastLink(prefix []byte) (link, error) { return x.linkBefore(prefix, math.MaxInt64) }

// linkBefore gives the newest Message or mark with an id below before.
func (x *Tx) linkBefore(prefix []byte, before chat.MessageID) (link, error) {
	var last link
	for _, b := range []bucket{bMessage, bMark} {
		err := x.t.scanDown(b, prefix, sequenceKey(prefix, int64(before)), func(r row) (bool, error) {
			id := messageIDOf(r.key)
			if id < last.id {
				return false, nil
			}
			rec, err := decodeRecord(b, r.key, r.value)
			if err != nil {
				return false, err
			}
			last = link{id: id, hash: bytes.Clone(rec.head)}
			return false, nil
		})
		if err != nil {
			return link{}, err
		}
	}
	return last, nil
}

// chainWalk walks a Chat's Messages upwards and checks every link on the way.
type chainWalk struct {
	tx     *Tx
	prefix []byte
	marks  []mark
	chain  chat.Chain
	// last is the newest link that was checked; count how many were.
	last  link
	count int64
}

// from calls fn for each Message above after. When it ends by itself, the end is checked against the Chat's record; when fn ends it, the
// Message that fn refused has been checked as well, so that nothing can be missing in front of it.
func (w *chainWalk) from(after chat.MessageID, fn func(key []byte, r record) (bool, error)) error {
	var err error
	if w.last, err = w.tx.linkBefore(w.prefix, after+1); err != nil {
		return err
	}
	next := 0
	for next < len(w.marks) && w.marks[next].id <= after {
		next++
	}
	ended := false
	err = w.tx.t.scan(bMessage, w.prefix, sequenceKey(w.prefix, int64(after+1)), func(r row) (bool, error) {
		rec, err := decodeRecord(bMessage, r.key, r.value)
		if err != nil {
			return false, err
		}
		id := messageIDOf(r.key)
		for next < len(w.marks) && w.marks[next].id < id {
			if err := w.check(bMark, w.marks[next].key, w.marks[next].rec); err != nil {
				return false, err
			}
			next++
		}
		if err := w.check(bMessage, r.key, rec); err != nil {
			return false, err
		}
		more, err := fn(r.key, rec)
		ended = !more
		return more, err
	})
	if err != nil || ended {
		return err
	}
	for ; next < len(w.marks); next++ {
		if err := w.check(bMark, w.marks[next].key, w.marks[next].rec); err != nil {
			return err
		}
	}
	return w.checkEnd()
}

func (w *chainWalk) check(b bucket, key []byte, r record) error {
	want := linkHash(w.last.hash, b, key, r.version, r.body)
	if !bytes.Equal(want[:], r.head) {
		reason := fmt.Sprintf("the chain is broken between message %d and this one", w.last.id)
		return &DamageError{damageAt(b, key, reason)}
	}
	w.last = link{id: messageIDOf(key), hash: bytes.Clone(r.head)}
	w.count++
	return nil
}

func (w *chainWalk) checkEnd() error {
	if w.last.id == w.chain.LastID && bytes.Equal(w.last.hash, w.chain.Head) {
		return nil
	}
	key := sequenceKey(w.prefix, int64(w.chain.LastID))
	reason := fmt.Sprintf("the chain ends with message %d, the chat's record says %d", w.last.id, w.chain.LastID)
	return &DamageError{damageAt(bMessage, key, reason)}
}
