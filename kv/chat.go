package kv

import (
	"encoding/binary"
	"fmt"
	"time"

	"holdfast/engine/chat"
)

// chatHead stands in front of a Chat's JSON: what lists, indexes and the hash chain need without decoding. The chain stands here only.
//
//	owner 16 | root 16 | parent 16 (0: none) | state 1 | flags 1 | pin 4 | updated 8 | runnable 8 | count 8 | last id 8 | head hash 32
type chatHead struct {
	owner, root, parent id16
	state               chat.State
	archived            bool
	pin                 int32
	updated, runnable   uint64
	chain               chat.Chain
}

const (
	stateAt      = 3 * idSize
	flagsAt      = stateAt + 1
	pinAt        = flagsAt + 1
	updatedAt    = pinAt + 4
	runnableAt   = updatedAt + 8
	countAt      = runnableAt + 8
	lastIDAt     = countAt + 8
	headHashAt   = lastIDAt + 8
	chatHeadSize = headHashAt + hashSize

	flagArchived = 1
)

// stateNumbers are the stored numbers of States; never reused.
var stateNumbers = map[chat.State]byte{
	chat.Waiting: 1, chat.Completed: 2, chat.Failed: 3, chat.Pending: 4, chat.Running: 5, chat.Interrupting: 6, chat.RequiresAction: 7,
}

var statesByNumber = [...]chat.State{1: chat.Waiting, 2: chat.Completed, 3: chat.Failed, 4: chat.Pending, 5: chat.Running,
	6: chat.Interrupting, 7: chat.RequiresAction}

var chatFields = fieldsOf[chat.Chat]()

func headOf(c *chat.Chat) (chatHead, error) {
	h := chatHead{state: c.State, archived: c.Archived, pin: int32(c.PinOrder), chain: c.Chain}
	var err error
	if h.owner, err = parseID(string(c.OwnerID)); err != nil {
		return h, err
	}
	if h.root, err = parseID(string(c.RootID)); err != nil {
		return h, err
	}
	if c.ParentID != "" {
		if h.parent, err = parseID(string(c.ParentID)); err != nil {
			return h, err
		}
	}
	switch {
	case stateNumbers[c.State] == 0:
		return h, fmt.Errorf("kv: chat %s has the unknown state %q", c.ID, c.State)
	case (c.ParentID == "") != (c.RootID == c.ID):
		return h, fmt.Errorf("kv: chat %s: a root is its own root, a child is not", c.ID)
	case len(c.Chain.Head) != 0 && len(c.Chain.Head) != hashSize, (c.Chain.Count == 0) != (len(c.Chain.Head) == 0):
		return h, fmt.Errorf("kv: chat %s has a chain that the store did not make", c.ID)
	}
	h.updated, h.runnable = sortableTime(c.UpdatedAt), sortableTime(c.RunnableSince)
	return h, nil
}

func sortableTime(t time.Time) uint64 { return binary.BigEndian.Uint64(appendTime(nil, t)) }

func (h chatHead) bytes() []byte {
	out := make([]byte, 0, chatHeadSize)
	out = append(out, h.owner[:]...)
	out = append(out, h.root[:]...)
	out = append(out, h.parent[:]...)
	var flags byte
	if h.archived {
		flags = flagArchived
	}
	out = append(out, stateNumbers[h.state], flags)
	out = binary.BigEndian.AppendUint32(out, uint32(h.pin))
	for _, n := range []uint64{h.updated, h.runnable, uint64(h.chain.Count), uint64(h.chain.LastID)} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	var hash [hashSize]byte
	copy(hash[:], h.chain.Head)
	return append(out, hash[:]...)
}

// parseChatHead reads the head of a record whose CRC fits.
func parseChatHead(b []byte) chatHead {
	h := chatHead{owner: toID(b), root: toID(b[idSize:]), parent: toID(b[2*idSize:])}
	if n := int(b[stateAt]); n < len(statesByNumber) {
		h.state = statesByNumber[n]
	}
	h.archived = b[flagsAt]&flagArchived != 0
	h.pin = int32(binary.BigEndian.Uint32(b[pinAt:]))
	h.updated, h.runnable = numberAt(b, updatedAt), numberAt(b, runnableAt)
	h.chain.Count, h.chain.LastID = int64(numberAt(b, countAt)), chat.MessageID(numberAt(b, lastIDAt))
	if h.chain.Count != 0 {
		h.chain.Head = append([]byte(nil), b[headHashAt:headHashAt+hashSize]...)
	}
	return h
}

// activeKey is the Chat's place in the index of Chats not at rest, nil at rest.
func (h chatHead) activeKey(id id16) []byte {
	switch {
	case h.state == chat.Pending && !h.archived:
		key := binary.BigEndian.AppendUint64([]byte{activePending}, h.runnable)
		return append(key, id[:]...)
	case h.state.AtRest():
		return nil
	}
	return append([]byte{activeOther}, id[:]...)
}

// storedChat is a Chat's JSON: all of it but the chain.
type storedChat struct {
	*chat.Chat
	Chain *struct{} `json:"chain,omitempty"`
}

// Chat gives a Chat; one whose family is being removed is not found.
func (x *Tx) Chat(id chat.ID) (*chat.Chat, bool, error) {
	key, err := idKey(id)
	if err != nil {
		// An id that no key can hold names nothing.
		return nil, false, nil
	}
	r, found, err := x.t.get(bChat, key)
	if err != nil || !found {
		return nil, false, err
	}
	if hidden, err := x.hidden(parseChatHead(r.head).root); err != nil || hidden {
		return nil, false, err
	}
	if kept, ok := x.s.written.find(bChat, key, r).(*chat.Chat); ok {
		c := ownChat(kept)
		x.noteDamage(c)
		return c, true, nil
	}
	c, err := x.decodeChat(key, r)
	return c, err == nil, err
}

func (x *Tx) decodeChat(key []byte, r record) (*chat.Chat, error) {
	c := new(chat.Chat)
	if err := x.t.decode(bChat, key, r, &storedChat{Chat: c}); err != nil {
		return nil, err
	}
	c.Chain = parseChatHead(r.head).chain
	x.noteDamage(c)
	return c, nil
}

// noteDamage says of a Chat what is known to be broken of it.
func (x *Tx) noteDamage(c *chat.Chat) {
	d, _ := x.s.DamagedChat(c.ID)
	c.Damage = d.Reason
}

// chatHead gives a Chat's head alone, hidden ones too.
func (x *Tx) chatHead(id chat.ID) (chatHead, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return chatHead{}, false, err
	}
	r, found, err := x.t.get(bChat, key)
	if err != nil || !found {
		return chatHead{}, false, err
	}
	return parseChatHead(r.head), true, nil
}

// PutChat writes a Chat and moves its indexes. Parent and root never change; a Chat whose family is being removed is refused.
func (x *Tx) PutChat(c *chat.Chat) error {
	id, err := parseID(string(c.ID))
	if err != nil {
		return err
	}
	h, err := headOf(c)
	if err != nil {
		return err
	}
	if hidden, err := x.hidden(h.root); err != nil || hidden {
		return errIfHidden(c.ID, err)
	}
	stored, found, err := x.t.get(bChat, id[:])
	if err != nil {
		return err
	}
	var old chatHead
	if found {
		old = parseChatHead(stored.head)
	}
	if found && (old.parent != h.parent || old.root != h.root) {
		return fmt.Errorf("kv: chat %s: parent and root never change", c.ID)
	}
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	body, err := w.encode(storedChat{Chat: c})
	if err != nil {
		return err
	}
	if found {
		was, err := x.t.body(bChat, id[:], stored)
		if err != nil {
			return err
		}
		body = mergeUnknown(body, was, chatFields)
	}
	if err := x.indexChat(id, h, old, found); err != nil {
		return err
	}
	if err := x.movePin(id, c, found); err != nil {
		return err
	}
	head := h.bytes()
	kept, err := x.t.putKept(bChat, id[:], head, body)
	if err != nil {
		return err
	}
	x.s.written.keepChat(id[:], kept, c)
	return nil
}

func errIfHidden(id chat.ID, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("kv: chat %s is being removed", id)
}

func (x *Tx) indexChat(id id16, h, old chatHead, found bool) error {
	var oldKey []byte
	if found {
		oldKey = old.activeKey(id)
	}
	key := h.activeKey(id)
	if string(oldKey) != string(key) {
		if oldKey != nil {
			if err := x.t.delete(bActive, oldKey); err != nil {
				return err
			}
		}
		if key != nil {
			if err := x.t.putEmpty(bActive, key); err != nil {
				return err
			}
		}
	}
	if found || h.parent == (id16{}) {
		return nil
	}
	if _, found, err := x.chatHead(chat.ID(h.parent.String())); err != nil || !found {
		if err != nil {
			return err
		}
		return fmt.Errorf("kv: chat %s: its parent %s is not there", id, h.parent)
	}
	return x.t.putEmpty(bChild, append(h.parent[:], id[:]...))
}
