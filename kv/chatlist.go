package kv

import (
	"bytes"
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
func (tx *Tx) Chats(owner chat.UserID, q ChatQuery) (chats []*chat.Chat, hasMore bool, err error) {
	ownerID, err := parseID(string(owner))
	if err != nil {
		return nil, false, err
	}
	rows, err := tx.chatRows(ownerID, q.Archived)
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(rows, chatRow.order)
	if q.AfterID != "" {
		after, err := parseID(string(q.AfterID))
		if err != nil {
			return nil, false, err
		}
		at := slices.IndexFunc(rows, func(r chatRow) bool { return r.id == after })
		if at < 0 {
			return nil, false, fmt.Errorf("kv: chat %s is not in this list: %w", q.AfterID, chat.NotFound("chat"))
		}
		rows = rows[at+1:]
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		rows, hasMore = rows[:q.Limit], true
	}
	chats = make([]*chat.Chat, 0, len(rows))
	for _, row := range rows {
		c, err := tx.listed(row)
		if err != nil {
			return nil, false, err
		}
		chats = append(chats, c)
	}
	return chats, hasMore, nil
}

func (tx *Tx) chatRows(owner id16, archived bool) ([]chatRow, error) {
	doomed, err := tx.doomedRoots()
	if err != nil {
		return nil, err
	}
	var rows []chatRow
	err = tx.t.scan(bChat, nil, nil, func(r row) (bool, error) {
		if len(r.key) != idSize {
			return false, &DamageError{damageAt(bChat, r.key, "the key is not an id")}
		}
		rec, err := decodeRecord(bChat, r.key, r.value)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			tx.s.damages.add(d.Damage)
			if !archived {
				rows = append(rows, chatRow{id: toID(r.key), damaged: d.Reason})
			}
			return true, nil
		case err != nil:
			return false, err
		}
		// Most records are somebody else's or children: look before taking the head apart.
		if !bytes.Equal(rec.head[:idSize], owner[:]) || !bytes.Equal(rec.head[idSize:2*idSize], r.key) ||
			(rec.head[49]&flagArchived != 0) != archived || doomed[toID(r.key)] {
			return true, nil
		}
		h := parseChatHead(rec.head)
		rows = append(rows, chatRow{id: toID(r.key), pin: h.pin, updated: h.updated})
		return true, nil
	})
	return rows, err
}

func (tx *Tx) listed(row chatRow) (*chat.Chat, error) {
	id := chat.ID(row.id.String())
	reason := row.damaged
	if reason == "" {
		c, found, err := tx.Chat(id)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			tx.s.damages.add(d.Damage)
			reason = d.Reason
		case err != nil:
			return nil, err
		case found:
			return c, nil
		}
	}
	return &chat.Chat{ID: id, RootID: id, State: chat.Failed, LastError: &chat.Error{Kind: chat.KindStoreDamaged,
		Message: "This chat's record is damaged.", Detail: reason}}, nil
}

// Children lists the Chats that have this one as their parent, oldest first.
func (tx *Tx) Children(id chat.ID) ([]*chat.Chat, error) {
	parent, err := idKey(id)
	if err != nil {
		return nil, err
	}
	var out []*chat.Chat
	err = tx.t.scan(bChild, parent, nil, func(r row) (bool, error) {
		if _, err := decodeRecord(bChild, r.key, r.value); err != nil {
			return false, err
		}
		c, found, err := tx.Chat(chat.ID(toID(r.key[idSize:]).String()))
		if err != nil {
			return false, err
		}
		if found {
			out = append(out, c)
		}
		return true, nil
	})
	return out, err
}

// ActiveChats lists the ids of all Chats not at rest: pending ones first, oldest RunnableSince first, then the others by id.
func (tx *Tx) ActiveChats() ([]chat.ID, error) {
	var out []chat.ID
	err := tx.scanActive(nil, func(id chat.ID) (bool, error) {
		out = append(out, id)
		return true, nil
	})
	return out, err
}

// PendingChats gives pending, unarchived Chats, oldest RunnableSince first; limit 0 is all. A damaged one is left out and counted, so
// that it does not hold up the others.
func (tx *Tx) PendingChats(limit int) ([]*chat.Chat, error) {
	var out []*chat.Chat
	err := tx.scanActive([]byte{activePending}, func(id chat.ID) (bool, error) {
		if limit > 0 && len(out) == limit {
			return false, nil
		}
		c, found, err := tx.Chat(id)
		var d *DamageError
		switch {
		case errors.As(err, &d):
			tx.s.damages.add(d.Damage)
		case err != nil:
			return false, err
		case found:
			out = append(out, c)
		}
		return true, nil
	})
	return out, err
}

func (tx *Tx) scanActive(prefix []byte, fn func(chat.ID) (bool, error)) error {
	return tx.t.scan(bActive, prefix, nil, func(r row) (bool, error) {
		if _, err := decodeRecord(bActive, r.key, r.value); err != nil {
			return false, err
		}
		id := toID(r.key[len(r.key)-idSize:])
		if h, found, err := tx.chatHead(chat.ID(id.String())); err == nil && found {
			if hidden, err := tx.hidden(h.root); err != nil || hidden {
				return true, err
			}
		}
		return fn(chat.ID(id.String()))
	})
}

// timeOf turns a sortable time back; a zero one stays zero.
func timeOf(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n^(1<<63))).UTC()
}
