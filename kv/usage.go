package kv

import (
	"encoding/binary"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

// PutUsage adds a usage entry to a family's and to the roll-ups of its day. Entries stay when the family goes.
func (x *Tx) PutUsage(u *chat.UsageEntry) error {
	root, err := parseID(string(u.RootID))
	if err != nil {
		return err
	}
	user, err := parseID(string(u.UserID))
	if err != nil {
		return err
	}
	n, err := x.t.takeID()
	if err != nil {
		return err
	}
	if err := x.t.putJSON(bUsage, sequenceKey(root[:], n), u); err != nil {
		return err
	}
	day := chat.DayOf(u.At)
	if err := x.addUsage(user, day, root, u); err != nil {
		return err
	}
	return x.addUsage(user, day, id16{}, u)
}

// addUsage adds an entry, which is stored already, to a roll-up. One that is damaged is made anew: a Step must not fail over a sum.
func (x *Tx) addUsage(user id16, day chat.Day, root id16, u *chat.UsageEntry) error {
	key := usageDayKey(user, day, root)
	d, err := x.usageDay(key)
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		x.s.damages.add(damage.Damage)
		if d, err = x.sumUsage(user, day, root); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		d.Add(chat.LineOf(u))
	}
	d.UserID, d.Day, d.RootID = u.UserID, day, chat.ID(root.String())
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	body, err := w.encode(d)
	if err != nil {
		return err
	}
	stored, err := x.t.putKept(bUsageDay, key, nil, body)
	if err != nil {
		return err
	}
	x.s.written.keep(bUsageDay, key, stored, d)
	return nil
}

// usageDay gives a roll-up to be added to, an empty one where there is none.
func (x *Tx) usageDay(key []byte) (*chat.UsageDay, error) {
	r, found, err := x.t.get(bUsageDay, key)
	if err != nil || !found {
		return &chat.UsageDay{}, err
	}
	if kept, ok := x.s.written.find(bUsageDay, key, r).(*chat.UsageDay); ok {
		own := *kept
		own.Lines = slices.Clone(kept.Lines)
		return &own, nil
	}
	d := &chat.UsageDay{}
	return d, x.t.decode(bUsageDay, key, r, d)
}

// sumUsage makes a roll-up from what it sums up: that of a family from its entries, that of a day from those of its families. What is
// damaged there is left out.
func (x *Tx) sumUsage(user id16, day chat.Day, root id16) (*chat.UsageDay, error) {
	sum := &chat.UsageDay{}
	b, prefix := bUsage, root[:]
	if root == (id16{}) {
		b, prefix = bUsageDay, usageDayKey(user, day, root)[:idSize+4]
	}
	err := x.t.scan(b, prefix, nil, func(r row) (bool, error) {
		err := x.sumRow(sum, b, r, user, day)
		var damage *DamageError
		if errors.As(err, &damage) {
			x.s.damages.add(damage.Damage)
			err = nil
		}
		return true, err
	})
	return sum, err
}

func (x *Tx) sumRow(sum *chat.UsageDay, b bucket, r row, user id16, day chat.Day) error {
	if b == bUsage {
		u, err := decodeRow[chat.UsageEntry](x, b, r)
		if err == nil && string(u.UserID) == user.String() && chat.DayOf(u.At) == day {
			sum.Add(chat.LineOf(u))
		}
		return err
	}
	if usageRoot(r.key) == (id16{}) {
		return nil
	}
	family, err := decodeRow[chat.UsageDay](x, b, r)
	if err != nil {
		return err
	}
	for _, l := range family.Lines {
		sum.Add(l)
	}
	return nil
}

// Usage gives a family's usage entries, oldest first.
func (x *Tx) Usage(root chat.ID) ([]*chat.UsageEntry, error) {
	key, err := idKey(root)
	if err != nil {
		return nil, err
	}
	return listNoun[chat.UsageEntry](x, bUsage, key)
}

// UsageDays gives a person's days with usage from the first to the last day, both included, oldest first. It reads one record for each
// of them.
func (x *Tx) UsageDays(id chat.UserID, first, last chat.Day) ([]*chat.UsageDay, error) {
	user, err := parseID(string(id))
	if err != nil {
		return nil, err
	}
	var out []*chat.UsageDay
	for day := first; day <= last; {
		more := false
		// A day's own record stands before those of its families, so that each look finds the next day.
		err := x.t.scan(bUsageDay, user[:], usageDayKey(user, day, id16{}), func(r row) (bool, error) {
			if len(r.key) != usageDaySize {
				return false, &DamageError{damageAt(bUsageDay, r.key, "the key is not a person, a day and a chat")}
			}
			if day = usageDayOf(r.key); day > last {
				return false, nil
			}
			more = true
			if usageRoot(r.key) != (id16{}) {
				return false, nil
			}
			d, err := decodeRow[chat.UsageDay](x, bUsageDay, r)
			out = append(out, d)
			return false, err
		})
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		day++
	}
	return out, nil
}

// EachUsage calls fn with the usage of each of a person's families on each day from the first to the last, both included.
func (x *Tx) EachUsage(id chat.UserID, first, last chat.Day, fn func(*chat.UsageDay)) error {
	user, err := parseID(string(id))
	if err != nil {
		return err
	}
	return x.t.scan(bUsageDay, user[:], usageDayKey(user, first, id16{}), func(r row) (bool, error) {
		if usageDayOf(r.key) > last {
			return false, nil
		}
		if usageRoot(r.key) == (id16{}) {
			return true, nil
		}
		d, err := decodeRow[chat.UsageDay](x, bUsageDay, r)
		if err == nil {
			fn(d)
		}
		return true, err
	})
}

// UsageUsers gives the ids of all who ever used something, in their order.
func (x *Tx) UsageUsers() ([]chat.UserID, error) {
	var out []chat.UserID
	for from := []byte(nil); ; {
		var found id16
		err := x.t.scan(bUsageDay, nil, from, func(r row) (bool, error) {
			found = toID(r.key)
			return false, nil
		})
		if err != nil {
			return nil, err
		}
		if found == (id16{}) {
			return out, nil
		}
		out = append(out, chat.UserID(found.String()))
		if from = prefixEnd(found[:]); from == nil {
			return out, nil
		}
	}
}

const usageDaySize = idSize + 4 + idSize

// usageDayKey is the key of a roll-up; the zero root stands for all families and sorts first. The sign bit is flipped so that days
// before 1970 sort.
func usageDayKey(user id16, day chat.Day, root id16) []byte {
	key := binary.BigEndian.AppendUint32(append(make([]byte, 0, usageDaySize), user[:]...), uint32(int32(day))^(1<<31))
	return append(key, root[:]...)
}

func usageDayOf(key []byte) chat.Day {
	return chat.Day(int32(binary.BigEndian.Uint32(key[idSize:]) ^ (1 << 31)))
}

func usageRoot(key []byte) id16 { return toID(key[idSize+4:]) }

// addUsageDays gives a store that was made before there were roll-ups theirs, in one transaction.
func (s *Store) addUsageDays() error {
	there := false
	err := s.db.View(func(bt *bolt.Tx) error {
		there = bt.Bucket([]byte(bUsageDay.String())) != nil
		return nil
	})
	if err != nil || there {
		return err
	}
	return s.db.Update(func(bt *bolt.Tx) error {
		if _, err := bt.CreateBucket([]byte(bUsageDay.String())); err != nil {
			return err
		}
		x := newTx(s, newShared(bt), nil)
		sums := usageSums{}
		err := x.t.scan(bUsage, nil, nil, func(r row) (bool, error) {
			u, err := decodeRow[chat.UsageEntry](x, bUsage, r)
			var damage *DamageError
			if errors.As(err, &damage) {
				s.damages.add(damage.Damage)
				return true, nil
			}
			if err == nil {
				err = sums.add(u)
			}
			return true, err
		})
		for key, d := range sums {
			err = errors.Join(err, x.t.putJSON(bUsageDay, []byte(key), d))
		}
		return err
	})
}

// usageSums are roll-ups by their keys.
type usageSums map[string]*chat.UsageDay

// add adds an entry to both of its roll-ups.
func (s usageSums) add(u *chat.UsageEntry) error {
	user, err := parseID(string(u.UserID))
	if err != nil {
		return err
	}
	root, err := parseID(string(u.RootID))
	if err != nil {
		return err
	}
	day := chat.DayOf(u.At)
	for _, of := range []id16{root, {}} {
		key := string(usageDayKey(user, day, of))
		if s[key] == nil {
			s[key] = &chat.UsageDay{UserID: u.UserID, Day: day, RootID: chat.ID(of.String())}
		}
		s[key].Add(chat.LineOf(u))
	}
	return nil
}
