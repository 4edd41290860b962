package kv

import (
	"bytes"
	"fmt"

	"holdfast/engine/chat"
)

// mark deletes the Messages from From on that are older than the mark. It is a link of the chain; the Messages stay as they are.
type mark struct {
	id   chat.MessageID
	from chat.MessageID
	key  []byte
	rec  record
}

type storedMark struct {
	From chat.MessageID `json:"from"`
}

// marks gives a Chat's marks, oldest first. There is one per edit, so usually none.
func (x *Tx) marks(prefix []byte) ([]mark, error) {
	var out []mark
	err := x.t.scan(bMark, prefix, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bMark, r.key, r.value)
		if err != nil {
			return false, err
		}
		var m storedMark
		if err := x.t.decode(bMark, r.key, rec, &m); err != nil {
			return false, err
		}
		rec.head, rec.body = bytes.Clone(rec.head), bytes.Clone(rec.body)
		out = append(out, mark{id: messageIDOf(r.key), from: m.From, key: bytes.Clone(r.key), rec: rec})
		return true, nil
	})
	return out, err
}

func deletedBy(marks []mark, id chat.MessageID) bool {
	for i := len(marks) - 1; i >= 0 && marks[i].id > id; i-- {
		if marks[i].from <= id {
			return true
		}
	}
	return false
}

// MarkDeleted marks the Message from and all later ones of the Chat as deleted, updates c.Chain, and gives the ids that were not marked
// before; the caller then calls PutChat(c). Without any there is no mark.
func (x *Tx) MarkDeleted(c *chat.Chat, from chat.MessageID) ([]chat.MessageID, error) {
	if from <= 0 {
		return nil, fmt.Errorf("kv: chat %s: mark from message %d", c.ID, from)
	}
	prefix, err := chatKey(c.ID)
	if err != nil {
		return nil, err
	}
	marks, err := x.marks(prefix)
	if err != nil {
		return nil, err
	}
	var ids []chat.MessageID
	err = x.t.scan(bMessage, prefix, sequenceKey(prefix, int64(from)), func(r row) (bool, error) {
		if id := messageIDOf(r.key); !deletedBy(marks, id) {
			ids = append(ids, id)
		}
		return true, nil
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	id, key, err := x.nextLink(c)
	if err != nil {
		return nil, err
	}
	body, err := toJSON(storedMark{From: from})
	if err != nil {
		return nil, err
	}
	hash := linkHash(c.Chain.Head, bMark, key, recordVersion, body)
	if err := x.t.put(bMark, key, hash[:], body); err != nil {
		return nil, err
	}
	c.Chain = chat.Chain{Count: c.Chain.Count + 1, LastID: id, Head: hash[:]}
	return ids, nil
}
