package kv

import (
	"encoding/binary"
	"slices"

	"holdfast/engine/chat"
)

const (
	// advisedSize is the length of the key of an AdvisedDay.
	advisedSize = 4 + idSize
	// keepTook is how many times of a person's consultations of a day are kept, the newest.
	keepTook = 500
)

// advisedKey sorts by day. The sign bit is flipped so that days before 1970 sort.
func advisedKey(day chat.Day, user id16) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, advisedSize), uint32(int32(day))^(1<<31)), user[:]...)
}

// AddAdvised adds what a Step says of the advisor to its person's day.
func (x *Tx) AddAdvised(more chat.AdvisedDay) error {
	user, err := parseID(string(more.UserID))
	if err != nil {
		return err
	}
	key := advisedKey(more.Day, user)
	sum, found, err := getNoun[chat.AdvisedDay](x, bAdvised, key)
	if err != nil {
		return err
	}
	if !found {
		sum = &chat.AdvisedDay{UserID: more.UserID, Day: more.Day}
	}
	sum.Turns += more.Turns
	sum.Limited += more.Limited
	sum.TookMS = slices.Concat(sum.TookMS, more.TookMS)
	sum.TookMS = sum.TookMS[max(0, len(sum.TookMS)-keepTook):]
	return x.t.putJSON(bAdvised, key, sum)
}

// Advised gives the days in a range on which a person asked the advisor, "" for all people.
func (x *Tx) Advised(user chat.UserID, first, last chat.Day) ([]*chat.AdvisedDay, error) {
	var out []*chat.AdvisedDay
	err := x.t.scan(bAdvised, nil, advisedKey(first, id16{}), func(r row) (bool, error) {
		d, err := decodeRow[chat.AdvisedDay](x, bAdvised, r)
		if err != nil || d.Day > last {
			return false, err
		}
		if user == "" || d.UserID == user {
			out = append(out, d)
		}
		return true, nil
	})
	return out, err
}

func (c *checker) advised() error {
	return c.each(bAdvised, func(key []byte, r record) {
		v := checkJSON[chat.AdvisedDay](c, bAdvised, key, r)
		if v == nil {
			return
		}
		user, err := parseID(string(v.UserID))
		if err != nil || string(advisedKey(v.Day, user)) != string(key) {
			c.add(bAdvised, key, "the record is that of %s on %s", v.UserID, v.Day)
		}
	})
}
