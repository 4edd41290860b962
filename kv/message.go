package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"holdfast/engine/chat"
)

// EncodedMessage is a Message made ready outside of the transaction: its JSON without ids, or the file that the JSON went to.
type EncodedMessage struct {
	body []byte
	// ref is set when the body stands in files/ already.
	ref *fileRef
	// files are the kept files that the Message's Parts name.
	files [][hashSize]byte
	// named are the Files that the Message's Parts name.
	named []chat.FileID
}

// contentVersion is the one form of Parts that is known; of another one nothing is guessed.
const contentVersion = 1

// storedMessage is a Message's JSON: ids stand in the key.
type storedMessage struct {
	*chat.Message
	ID     *struct{} `json:"id,omitempty"`
	ChatID *struct{} `json:"chat_id,omitempty"`
}

// EncodeMessage encodes a Message for AppendMessage; ID and ChatID are left to that. A Message of over 64 KiB costs its transaction a
// second run: Store.EncodeMessage writes it to its file beforehand.
func EncodeMessage(m *chat.Message) (EncodedMessage, error) {
	if m.ContentVersion == 0 {
		// Its maker has nothing to say about versions: it is of the one that this program makes.
		own := *m
		own.ContentVersion, m = contentVersion, &own
	}
	body, err := toJSON(storedMessage{Message: m})
	if err != nil {
		return EncodedMessage{}, err
	}
	e := EncodedMessage{body: body}
	for _, p := range m.Content {
		if sum, ok := sumOf(p.FileID); ok {
			e.files = append(e.files, sum)
		} else if p.FileID != "" {
			e.named = append(e.named, chat.FileID(p.FileID))
		}
	}
	return e, nil
}

// EncodeMessage encodes a Message, writes one of over 64 KiB to its file, and keeps the files that it names from the sweep until the
// commit. Call it outside of transactions. A full disk is ErrNoSpace.
func (s *Store) EncodeMessage(ctx context.Context, m *chat.Message) (EncodedMessage, error) {
	e, err := EncodeMessage(m)
	if err != nil {
		return e, err
	}
	for _, p := range m.Content {
		if !isSum(p.FileID) {
			continue
		}
		if err := s.files.claim(ctx, p.FileID); err != nil {
			return e, err
		}
	}
	if len(e.body) <= spillAbove {
		return e, nil
	}
	ref, err := s.spill(ctx, e.body)
	if err != nil {
		return EncodedMessage{}, err
	}
	e.ref, e.body = &ref, nil
	return e, nil
}

// AppendMessage ties the Files that the Message names to the Chat, appends to the Chat's history under the next id, chains it and updates c.Chain; the caller then calls PutChat(c). c must
// have been read in this transaction.
func (x *Tx) AppendMessage(c *chat.Chat, m EncodedMessage) (chat.MessageID, error) {
	if m.body == nil && m.ref == nil {
		return 0, errors.New("kv: append of a message that was not encoded")
	}
	id, key, err := x.nextLink(c)
	if err != nil {
		return 0, err
	}
	version, body := byte(recordVersion), m.body
	ref := m.ref
	if ref == nil && len(body) > spillAbove && !x.t.inline {
		r := refOf(body)
		if !x.t.spilled[r.Sum] {
			x.t.needSpill = spillAt(bMessage, key, body)
			return 0, x.t.needSpill
		}
		ref = &r
	}
	if ref != nil {
		version, body = recordVersion|spillBit, ref.bytes()
		if err := x.putFileRef(key, ref.Sum); err != nil {
			return 0, err
		}
	}
	for _, sum := range m.files {
		if err := x.putFileRef(key, sum); err != nil {
			return 0, err
		}
	}
	for _, f := range m.named {
		if err := x.linkFile(c, f); err != nil {
			return 0, err
		}
	}
	hash := linkHash(c.Chain.Head, bMessage, key, version, body)
	if err := x.t.putRaw(bMessage, key, encodeRecord(version, bMessage, key, hash[:], body)); err != nil {
		return 0, err
	}
	c.Chain = chat.Chain{Count: c.Chain.Count + 1, LastID: id, Head: hash[:]}
	return id, nil
}

// nextLink takes an id for the next link of a Chat's chain. It refuses a Chat whose chain is not the stored one: that would cut links
// off, and nobody would see it before the next check.
func (x *Tx) nextLink(c *chat.Chat) (chat.MessageID, []byte, error) {
	prefix, err := chatKey(c.ID)
	if err != nil {
		return 0, nil, err
	}
	last, err := x.lastLink(prefix)
	if err != nil {
		return 0, nil, err
	}
	if last.id != c.Chain.LastID || !bytes.Equal(last.hash, c.Chain.Head) {
		return 0, nil, fmt.Errorf("kv: chat %s ends with message %d in the store and with %d in the caller's copy", c.ID, last.id,
			c.Chain.LastID)
	}
	n, err := x.t.takeID()
	if err != nil {
		return 0, nil, err
	}
	if chat.MessageID(n) <= c.Chain.LastID {
		return 0, nil, &DamageError{damageAt(bMeta, nextIDKey, fmt.Sprintf("the counter of ids stands at %d, below message %d", n, c.Chain.LastID))}
	}
	return chat.MessageID(n), sequenceKey(prefix, n), nil
}

// NextID takes the next number of the one sequence of Messages and queued Messages.
func (x *Tx) NextID() (chat.MessageID, error) {
	n, err := x.t.takeID()
	return chat.MessageID(n), err
}

// Message gives one Message, deleted ones too.
func (x *Tx) Message(id chat.ID, m chat.MessageID) (*chat.Message, bool, error) {
	key, err := chatKey(id, uint64(m))
	if err != nil {
		return nil, false, err
	}
	r, found, err := x.t.get(bMessage, key)
	if err != nil || !found {
		return nil, false, err
	}
	if _, found, err := x.liveChat(id); err != nil || !found {
		return nil, false, err
	}
	marks, err := x.marks(key[:idSize])
	if err != nil {
		return nil, false, err
	}
	out, err := x.decodeMessage(key, r)
	if err != nil {
		return nil, false, err
	}
	out.Deleted = deletedBy(marks, m)
	return out, true, nil
}

func (x *Tx) decodeMessage(key []byte, r record) (*chat.Message, error) {
	m := new(chat.Message)
	if err := x.t.decode(bMessage, key, r, &storedMessage{Message: m}); err != nil {
		return nil, err
	}
	m.ID, m.ChatID = messageIDOf(key), chat.ID(toID(key).String())
	if m.ContentVersion != contentVersion {
		return nil, &DamageError{damageAt(bMessage, key, fmt.Sprintf("its content has version %d, which is not known here", m.ContentVersion))}
	}
	return m, nil
}

// MessageQuery selects Messages of one Chat with After < id < Before (0: no bound). Limit 0 is all. Descending gives the newest first,
// and with a Limit the newest ones. Deleted Messages are left out unless WithDeleted.
type MessageQuery struct {
	After, Before chat.MessageID
	Limit         int
	Descending    bool
	WithDeleted   bool
}

// Messages gives a part of a Chat's history. The links of the hash chain over the part and at its edges are checked: a Message that is
// missing, changed or moved gives a *DamageError, never a shorter list. A Chat that is not there has none.
func (x *Tx) Messages(id chat.ID, q MessageQuery) ([]*chat.Message, error) {
	prefix, err := chatKey(id)
	if err != nil {
		return nil, err
	}
	head, found, err := x.liveChat(id)
	if err != nil || !found {
		return nil, err
	}
	marks, err := x.marks(prefix)
	if err != nil {
		return nil, err
	}
	if q.Before <= 0 {
		q.Before = math.MaxInt64
	}
	limit := q.Limit
	if q.Descending && limit > 0 {
		if q.After, err = x.startOfLast(prefix, q, marks); err != nil {
			return nil, err
		}
	}
	var out []*chat.Message
	w := chainWalk{tx: x, prefix: prefix, marks: marks, chain: head.chain}
	err = w.from(q.After, func(key []byte, r record) (bool, error) {
		id := messageIDOf(key)
		if id >= q.Before || limit > 0 && len(out) == limit {
			return false, nil
		}
		deleted := deletedBy(marks, id)
		if deleted && !q.WithDeleted {
			return true, nil
		}
		m, err := x.decodeMessage(key, r)
		if err != nil {
			return false, err
		}
		m.Deleted = deleted
		out = append(out, m)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if q.Descending {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out, nil
}

// startOfLast gives the After that makes an ascending walk hold the newest Limit Messages below Before.
func (x *Tx) startOfLast(prefix []byte, q MessageQuery, marks []mark) (chat.MessageID, error) {
	after, n := q.After, 0
	err := x.t.scanDown(bMessage, prefix, sequenceKey(prefix, int64(q.Before)), func(r row) (bool, error) {
		id := messageIDOf(r.key)
		if id <= q.After {
			return false, nil
		}
		if q.WithDeleted || !deletedBy(marks, id) {
			n++
		}
		if n == q.Limit {
			after = id - 1
			return false, nil
		}
		return true, nil
	})
	return after, err
}

// liveChat gives a Chat's head; a hidden one is not found.
func (x *Tx) liveChat(id chat.ID) (chatHead, bool, error) {
	h, found, err := x.chatHead(id)
	if err != nil || !found {
		return h, false, err
	}
	hidden, err := x.hidden(h.root)
	return h, !hidden && err == nil, err
}

// Chain gives the state of a Chat's hash chain without decoding the Chat: where it is equal, the history is the same.
func (x *Tx) Chain(id chat.ID) (chat.Chain, bool, error) {
	h, found, err := x.liveChat(id)
	return h.chain, found, err
}
