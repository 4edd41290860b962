package kv

import (
	"context"
	"errors"

	"holdfast/engine/chat"
)

// scrubRecords bounds one transaction of a scrub, so that it pins no pages for long.
const scrubRecords = 256

// Scrub reads all of the next Chat behind after ("" begins at the first) in transactions of at most 256 Messages, and gives that Chat's id
// for the next call; "" when there was none left. What it finds broken is counted, logged and listed by Damages, and is no error. Call it
// once a minute while idle.
func (s *Store) Scrub(ctx context.Context, after chat.ID) (next chat.ID, found []Damage, err error) {
	if next, err = s.chatBehind(ctx, after); err != nil || next == "" {
		return "", nil, err
	}
	err = s.View(ctx, func(tx *Tx) error { return tx.scrubSmall(next) })
	done, at := false, chat.MessageID(0)
	for err == nil && !done {
		err = s.View(ctx, func(tx *Tx) (err error) {
			at, done, err = tx.scrubMessages(next, at)
			return err
		})
	}
	var d *DamageError
	if errors.As(err, &d) {
		return next, []Damage{d.Damage}, nil
	}
	return next, nil, err
}

func (s *Store) chatBehind(ctx context.Context, after chat.ID) (next chat.ID, err error) {
	var from []byte
	if after != "" {
		key, err := idKey(after)
		if err != nil {
			return "", err
		}
		from = append(key, 0)
	}
	err = s.View(ctx, func(tx *Tx) error {
		return tx.t.scan(bChat, nil, from, func(r row) (bool, error) {
			if len(r.key) == idSize {
				next = chat.ID(toID(r.key).String())
			}
			return next == "", nil
		})
	})
	return next, err
}

// scrubSmall reads what a Chat has beside its Messages.
func (x *Tx) scrubSmall(id chat.ID) error {
	_, _, err := x.Chat(id)
	if err != nil {
		return err
	}
	_, err1 := x.Queue(id)
	_, err2 := x.Draft(id)
	_, err3 := x.Intents(id)
	_, err4 := x.Checkpoints(id, 0)
	_, err5 := x.FileReads(id)
	return errors.Join(err1, err2, err3, err4, err5)
}

// scrubMessages checks and decodes the next Messages above after, and says where it stopped and whether that was the end. The Chat may grow
// meanwhile; what was checked never changes.
func (x *Tx) scrubMessages(id chat.ID, after chat.MessageID) (last chat.MessageID, done bool, err error) {
	head, found, err := x.liveChat(id)
	if err != nil || !found {
		return after, true, err
	}
	prefix, err := chatKey(id)
	if err != nil {
		return after, true, err
	}
	marks, err := x.marks(prefix)
	if err != nil {
		return after, true, err
	}
	n := 0
	last, done = after, true
	w := chainWalk{tx: x, prefix: prefix, marks: marks, chain: head.chain}
	err = w.from(after, func(key []byte, r record) (bool, error) {
		if n == scrubRecords {
			done = false
			return false, nil
		}
		n++
		last = messageIDOf(key)
		_, err := x.decodeMessage(key, r)
		return true, err
	})
	return last, done, err
}
