package kv

import (
	"bytes"
	"errors"

	"holdfast/engine/chat"
)

// keepNotices is how many Notices of a person are kept, the newest.
const keepNotices = 100

// AddNotice keeps a Notice under its number.
func (x *Tx) AddNotice(user chat.UserID, n *chat.KeptNotice) error {
	u, err := parseID(string(user))
	if err != nil {
		return err
	}
	return x.t.putJSON(bNotice, sequenceKey(u[:], n.Number), n)
}

// Notices gives a person's Notices, oldest first. One that cannot be read is counted and left out: the others are worth no less.
func (x *Tx) Notices(user chat.UserID) ([]*chat.KeptNotice, error) {
	u, err := parseID(string(user))
	if err != nil {
		return nil, err
	}
	var out []*chat.KeptNotice
	err = x.t.scan(bNotice, u[:], nil, func(r row) (bool, error) {
		n, err := decodeRow[chat.KeptNotice](x, bNotice, r)
		var d *DamageError
		if errors.As(err, &d) {
			x.s.damages.add(d.Damage)
			return true, nil
		}
		out = append(out, n)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// LastNotice gives the largest number of any Notice, 0 for none.
func (x *Tx) LastNotice() (int64, error) {
	var last int64
	err := x.t.scan(bNotice, nil, nil, func(r row) (bool, error) {
		if len(r.key) == idSize+8 {
			last = max(last, int64(numberAt(r.key, idSize)))
		}
		return true, nil
	})
	return last, err
}

// TrimNotices removes the oldest of a person's Notices when there are too many.
func (x *Tx) TrimNotices(user chat.UserID) error { return x.trimNotices(user, keepNotices) }

func (x *Tx) trimNotices(user chat.UserID, keep int) error {
	u, err := parseID(string(user))
	if err != nil {
		return err
	}
	over := -keep
	err = x.t.scan(bNotice, u[:], nil, func(row) (bool, error) {
		over++
		return true, nil
	})
	if err != nil || over <= 0 {
		return err
	}
	var keys [][]byte
	err = x.t.scan(bNotice, u[:], nil, func(r row) (bool, error) {
		keys = append(keys, bytes.Clone(r.key))
		return len(keys) < over, nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := x.t.delete(bNotice, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) notices() error {
	return c.each(bNotice, func(key []byte, r record) {
		v := checkJSON[chat.KeptNotice](c, bNotice, key, r)
		if v != nil && (len(key) != idSize+8 || numberAt(key, idSize) != uint64(v.Number)) {
			c.add(bNotice, key, "the record is that of notice %d", v.Number)
		}
	})
}
