package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/chat"
)

// ChatQuery selects from a person's root Chats. Limit 0 is no limit. AfterID goes on behind that Chat, where it stands now.
type ChatQuery struct {
	Archived bool
	Limit    int
	AfterID  chat.ID
}

// chatRow is a Chat's place in a list.
type chatRow struct {
	id      id16
	pin     int32
	updated uint64
	damaged string
}

// order: pinned first by PinOrder, then newest change first, then newest id first.
func (a chatRow) order(b chatRow) int {
	if (a.pin > 0) != (b.pin > 0) {
		if a.pin > 0 {
			return -1
		}
		return 1
	}
	if a.pin > 0 && a.pin != b.pin {
		return int(a.pin) - int(b.pin)
	}
	if a.updated != b.updated {
		if a.updated > b.updated {
			return -1
		}
		return 1
	}
	return bytes.Compare(b.id[:], a.id[:])
}

// Chats lists a person's root Chats: pinned ones by PinOrder, then the newest UpdatedAt first; hasMore says that the limit cut it. A
// damaged record stands in every list that is not of archived Chats, last, as a Chat that has an id and a LastError of kind
// store_damaged only: its owner is not known any more, and a list must not look whole when it is not.
func (x *Tx) Chats(owner chat.UserID, q ChatQuery) (chats []*chat.Chat, hasMore bool, err error) {
	ownerID, err := parseID(string(owner))
	if err != nil {
		return nil, false, err
	}
	page := chatPage{}
	if q.Limit > 0 {
		page.size = q.Limit + 1
	}
	if q.AfterID != "" {
		after, err := x.rowOf(q.AfterID)
		if err != nil {
			return nil, false, err
		}
		page.after = &after
	}
	if err := x.fillPage(ownerID, q.Archived, &page); err != nil {
		return nil, false, err
	}
	rows := page.sorted()
	if q.Limit > 0 && len(rows) > q.Limit {
		rows, hasMore = rows[:q.Limit], true
	}
	chats = make([]*chat.Chat, 0, len(rows))
	for _, row := range rows {
		c, err := x.listed(row)
		if err != nil {
			return nil, false, err
		}
		chats = append(chats, c)
	}
	return chats, hasMore, nil
}

// chatPage collects the first size rows behind after; size 0 is all.
type chatPage struct {
	size  int
	after *chatRow
	// rows are in order when size is set.
	rows []chatRow
}

// add is cheap for rows that do not make it onto a full page, which in a scan from the newest Chat downwards are most.
func (p *chatPage) add(r chatRow) {
	if p.after != nil && r.order(*p.after) <= 0 {
		return
	}
	if p.size == 0 {
		p.rows = append(p.rows, r)
		return
	}
	if len(p.rows) == p.size {
		if r.order(p.rows[p.size-1]) >= 0 {
			return
		}
		p.rows = p.rows[:p.size-1]
	}
	at, _ := slices.BinarySearchFunc(p.rows, r, chatRow.order)
	p.rows = slices.Insert(p.rows, at, r)
}

func (p *chatPage) sorted() []chatRow {
	if p.size == 0 {
		slices.SortFunc(p.rows, chatRow.order)
	}
	return p.rows
}

// rowOf gives the place of a Chat that a list goes on behind.
func (x *Tx) rowOf(id chat.ID) (chatRow, error) {
	key, err := parseID(string(id))
	if err != nil {
		return chatRow{}, err
	}
	h, found, err := x.chatHead(id)
	var d *DamageError
	switch {
	case errors.As(err, &d):
		return chatRow{id: key, damaged: d.Reason}, nil
	case err != nil:
		return chatRow{}, err
	case !found:
		return chatRow{}, fmt.Errorf("kv: list behind chat %s: %w", id, chat.NotFound("chat"))
	}
	return chatRow{id: key, pin: h.pin, updated: h.updated}, nil
}

func (x *Tx) fillPage(owner id16, archived bool, page *chatPage) error {
	doomed, err := x.doomedRoots()
	if err != nil {
		return err
	}
	return x.t.scanDown(bChat, nil, nil, func(r row) (bool, error) {
		if len(r.key) != idSize {
			return false, &DamageError{damageAt(bChat, r.key, "the key is not an id")}
		}
		rec, err := decodeRecord(bChat, r.key, r.value)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			x.s.damages.add(d.Damage)
			if !archived {
				page.add(chatRow{id: toID(r.key), damaged: d.Reason})
			}
			return true, nil
		case err != nil:
			return false, err
		}
		// Most records are somebody else's or children: look before taking the head apart.
		if !bytes.Equal(rec.head[:idSize], owner[:]) || !bytes.Equal(rec.head[idSize:2*idSize], r.key) ||
			(rec.head[flagsAt]&flagArchived != 0) != archived || doomed[toID(r.key)] {
			return true, nil
		}
		page.add(chatRow{id: toID(r.key), pin: int32(binary.BigEndian.Uint32(rec.head[pinAt:])), updated: numberAt(rec.head, updatedAt)})
		return true, nil
	})
}

func (x *Tx) listed(row chatRow) (*chat.Chat, error) {
	id := chat.ID(row.id.String())
	reason := row.damaged
	if reason == "" {
		c, found, err := x.Chat(id)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			x.s.damages.add(d.Damage)
			reason = d.Reason
		case err != nil:
			return nil, err
		case found:
			return c, nil
		}
	}
	return lostChat(id, reason), nil
}

// ChatOrLost is Chat; one whose record cannot be read is there and Lost.
func (x *Tx) ChatOrLost(id chat.ID) (*chat.Chat, bool, error) {
	c, found, err := x.Chat(id)
	var d *DamageError
	if errors.As(err, &d) {
		x.s.damages.add(d.Damage)
		return lostChat(id, d.Reason), true, nil
	}
	return c, found, err
}

// lostChat stands for a Chat whose record cannot be read.
func lostChat(id chat.ID, reason string) *chat.Chat {
	return &chat.Chat{ID: id, RootID: id, State: chat.Failed, Damage: reason, LastError: &chat.Error{Kind: chat.KindStoreDamaged,
		Message: "This chat's record is damaged.", Detail: reason}}
}

// ChatStates counts all Chats by their state, children included.
func (x *Tx) ChatStates() (map[chat.State]int, error) {
	doomed, err := x.doomedRoots()
	if err != nil {
		return nil, err
	}
	out := map[chat.State]int{}
	err = x.t.scan(bChat, nil, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bChat, r.key, r.value)
		var d *DamageError
		if errors.As(err, &d) {
			x.s.damages.add(d.Damage)
			return true, nil
		}
		if err == nil && !doomed[toID(rec.head[idSize:])] {
			if n := int(rec.head[stateAt]); n < len(statesByNumber) {
				out[statesByNumber[n]]++
			}
		}
		return true, err
	})
	return out, err
}

// NewestChange is when a Chat last changed, the zero time where there is none. Damaged records are passed over.
func (x *Tx) NewestChange() (time.Time, error) {
	var newest uint64
	err := x.t.scan(bChat, nil, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bChat, r.key, r.value)
		if errors.Is(err, ErrDamaged) {
			return true, nil
		}
		if err == nil {
			newest = max(newest, binary.BigEndian.Uint64(rec.head[updatedAt:]))
		}
		return true, err
	})
	if newest == 0 || err != nil {
		return time.Time{}, err
	}
	// The sign bit is flipped, so that times sort.
	return time.Unix(0, int64(newest^1<<63)), nil
}

// OwnedChats lists up to limit of a person's Chats, archived ones and children included, by id behind after. Damaged records are counted
// and left out.
func (x *Tx) OwnedChats(owner chat.UserID, after chat.ID, limit int) ([]*chat.Chat, error) {
	ownerID, err := parseID(string(owner))
	if err != nil {
		return nil, err
	}
	var from []byte
	if after != "" {
		key, err := idKey(after)
		if err != nil {
			return nil, err
		}
		from = append(key, 0)
	}
	doomed, err := x.doomedRoots()
	if err != nil {
		return nil, err
	}
	var out []*chat.Chat
	err = x.t.scan(bChat, nil, from, func(r row) (bool, error) {
		rec, err := decodeRecord(bChat, r.key, r.value)
		if err == nil && (!bytes.Equal(rec.head[:idSize], ownerID[:]) || doomed[parseChatHead(rec.head).root]) {
			return true, nil
		}
		var c *chat.Chat
		if err == nil {
			c, err = x.decodeChat(r.key, rec)
		}
		var d *DamageError
		switch {
		case errors.As(err, &d):
			x.s.damages.add(d.Damage)
			return true, nil
		case err != nil:
			return false, err
		}
		out = append(out, c)
		return len(out) < limit, nil
	})
	return out, err
}

// Children lists the Chats that have this one as their parent, oldest first. One whose record cannot be read is there and Lost, so that it hides
// none of the others.
func (x *Tx) Children(id chat.ID) ([]*chat.Chat, error) {
	parent, err := idKey(id)
	if err != nil {
		return nil, err
	}
	var out []*chat.Chat
	err = x.t.scan(bChild, parent, nil, func(r row) (bool, error) {
		if !x.indexed(bChild, r, 2*idSize) {
			return true, nil
		}
		child := chat.ID(toID(r.key[idSize:]).String())
		c, found, err := x.Chat(child)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			x.s.damages.add(d.Damage)
			c, found = lostChat(child, d.Reason), true
			c.ParentID, c.RootID = id, id
		case err != nil:
			return false, err
		}
		if found {
			out = append(out, c)
		}
		return true, nil
	})
	return out, err
}

// ActiveChats lists the ids of all Chats not at rest: pending ones first, oldest RunnableSince first, then the others by id. One whose record
// is damaged is left out and counted, so that it does not hold up the others.
func (x *Tx) ActiveChats() ([]chat.ID, error) {
	var out []chat.ID
	err := x.scanActive(nil, func(id chat.ID) (bool, error) {
		_, _, err := x.chatHead(id)
		var d *DamageError
		if errors.As(err, &d) {
			x.s.damages.add(d.Damage)
			return true, nil
		}
		out = append(out, id)
		return true, err
	})
	return out, err
}

// PendingChats lists the ids of pending, unarchived root Chats, or of children, oldest RunnableSince first; limit 0 is all. One whose record is damaged is
// left out and counted, so that it does not hold up the others.
func (x *Tx) PendingChats(limit int, children bool) ([]chat.ID, error) {
	var out []chat.ID
	err := x.scanActive([]byte{activePending}, func(id chat.ID) (bool, error) {
		if limit > 0 && len(out) == limit {
			return false, nil
		}
		h, found, err := x.chatHead(id)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			x.s.damages.add(d.Damage)
		case err != nil:
			return false, err
		case found && (h.parent != id16{}) == children:
			out = append(out, id)
		}
		return true, nil
	})
	return out, err
}

func (x *Tx) scanActive(prefix []byte, fn func(chat.ID) (bool, error)) error {
	return x.t.scan(bActive, prefix, nil, func(r row) (bool, error) {
		if !x.indexed(bActive, r, idSize+1) {
			return true, nil
		}
		id := toID(r.key[len(r.key)-idSize:])
		if h, found, err := x.chatHead(chat.ID(id.String())); err == nil && found {
			if hidden, err := x.hidden(h.root); err != nil || hidden {
				return true, err
			}
		}
		return fn(chat.ID(id.String()))
	})
}

// indexed says whether an index record can be followed. All it says stands in its key, so a damaged one is counted and followed as long as
// the key has its size: one bad bit must not hold up the recovery of all other Chats.
func (x *Tx) indexed(b bucket, r row, size int) bool {
	_, err := decodeRecord(b, r.key, r.value)
	var d *DamageError
	if errors.As(err, &d) {
		x.s.damages.add(d.Damage)
	}
	return len(r.key) >= size
}
