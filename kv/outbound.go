package kv

import (
	"bytes"
	"time"

	"holdfast/engine/chat"
)

// keepOutbound is how many entries of the ledger are kept, the newest.
const keepOutbound = 10_000

// AddOutbound appends an entry to the ledger and gives its number. The oldest go when there are too many.
func (x *Tx) AddOutbound(e *chat.OutboundEntry) (int64, error) {
	n, err := x.t.takeID()
	if err != nil {
		return 0, err
	}
	if err := x.t.putJSON(bOutbound, sequenceKey(nil, n), e); err != nil {
		return 0, err
	}
	return n, x.trimOutbound()
}

// CountOutbound changes an entry of the ledger and says whether it is still there.
func (x *Tx) CountOutbound(n int64, change func(*chat.OutboundEntry)) (bool, error) {
	key := sequenceKey(nil, n)
	e, found, err := getNoun[chat.OutboundEntry](x, bOutbound, key)
	if err != nil || !found {
		return false, err
	}
	change(e)
	return true, x.t.putJSON(bOutbound, key, e)
}

// Outbound gives the ledger, oldest first.
func (x *Tx) Outbound() ([]*chat.OutboundEntry, error) {
	return listNoun[chat.OutboundEntry](x, bOutbound, nil)
}

// OutboundSince gives the newest entries of the ledger down to the first that began before a time, newest first.
func (x *Tx) OutboundSince(at time.Time) ([]*chat.OutboundEntry, error) {
	var out []*chat.OutboundEntry
	err := x.t.scanDown(bOutbound, nil, nil, func(r row) (bool, error) {
		e, err := decodeRow[chat.OutboundEntry](x, bOutbound, r)
		if err != nil || e.At.Before(at) {
			return false, err
		}
		out = append(out, e)
		return true, nil
	})
	return out, err
}

// trimOutbound walks over the keys alone; an attempt like one of the last hour adds none, so this is rare.
func (x *Tx) trimOutbound() error {
	var keys [][]byte
	err := x.t.scan(bOutbound, nil, nil, func(r row) (bool, error) {
		keys = append(keys, bytes.Clone(r.key))
		return true, nil
	})
	if err != nil || len(keys) <= keepOutbound {
		return err
	}
	for _, key := range keys[:len(keys)-keepOutbound] {
		if err := x.t.delete(bOutbound, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) outbound() error {
	return c.each(bOutbound, func(key []byte, r record) {
		checkJSON[chat.OutboundEntry](c, bOutbound, key, r)
		if len(key) != 8 {
			c.add(bOutbound, key, "the key is not a number")
			return
		}
		c.used(bOutbound, key, chat.MessageID(numberAt(key, 0)))
	})
}
