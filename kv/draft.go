package kv

import (
	"encoding/binary"
	"fmt"

	"holdfast/engine/chat"
)

// PutDraftChunk keeps chunk n of the Draft of Step d.Step.
func (x *Tx) PutDraftChunk(id chat.ID, n int, d *chat.DraftChunk) error {
	key, err := stepKey(id, d.Step, n)
	if err != nil {
		return err
	}
	return x.t.putJSON(bDraft, key, d)
}

// Draft gives the chunks of a Chat's Draft in order; none when it has no Draft.
func (x *Tx) Draft(id chat.ID) ([]*chat.DraftChunk, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	return listNoun[chat.DraftChunk](x, bDraft, key)
}

// ClearDraft removes all chunks; it belongs in the commit that appends the Step's Message.
func (x *Tx) ClearDraft(id chat.ID) error { return x.clearOf(bDraft, id) }

// stepKey is chat | step | n.
func stepKey(id chat.ID, step int64, n int) ([]byte, error) {
	if step < 0 || n < 0 {
		return nil, fmt.Errorf("kv: chat %s: step %d, number %d", id, step, n)
	}
	key, err := chatKey(id, uint64(step))
	if err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint32(key, uint32(n)), nil
}

// clearOf removes all of a Chat's records in a bucket; for nouns that a Chat has few of.
func (x *Tx) clearOf(b bucket, id chat.ID) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	_, err = x.t.deletePrefix(b, key, nil, -1)
	return err
}
