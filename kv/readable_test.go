package kv

import (
	"bytes"
	"errors"
	"testing"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

// flip changes one bit of the n-th record under a Chat's key.
func flip(key id16, b bucket, n int) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		withBolt(t, dir, func(bt *bolt.Tx) error {
			bk, at := bt.Bucket([]byte(b.String())), 0
			c := bk.Cursor()
			for k, v := c.Seek(key[:]); k != nil && bytes.HasPrefix(k, key[:]); k, v = c.Next() {
				if at == n {
					v = bytes.Clone(v)
					v[len(v)-2] ^= 1
					return bk.Put(bytes.Clone(k), v)
				}
				at++
			}
			return errors.New("there is no such record")
		})
	}
}

// removeMessage takes the n-th Message of the Chat away.
func removeMessage(key id16, n int) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		s := openTest(t, dir, faults{})
		defer closeStore(t, s)
		update(t, s, func(tx *Tx) error {
			r, err := nth(tx, bMessage, key[:], n)
			return errors.Join(err, tx.t.delete(bMessage, r.key))
		})
	}
}

// TestReadableMessages: what can be read is given, in order, and each place where something is missing is named. The damaged Chat of the store has
// five messages, a mark that deletes the fifth, and a sixth that is kept in a file.
func TestReadableMessages(t *testing.T) {
	origin := t.TempDir()
	_, damagedChat, _ := smallStore(t, origin)
	key, err := parseID(string(damagedChat.ID))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		harm  func(t *testing.T, dir string)
		reads int
		// good is how many stand in front of the first damage, lost how many places are named.
		good, lost int
	}{
		"nothing":                    {func(*testing.T, string) {}, 5, 5, 0},
		"the first is broken":        {flip(key, bMessage, 0), 4, 0, 1},
		"one in the middle":          {flip(key, bMessage, 2), 4, 2, 1},
		"one that an edit took away": {flip(key, bMessage, 4), 5, 5, 0},
		"the last":                   {flip(key, bMessage, 5), 4, 4, 1},
		"the mark of the edit":       {flip(key, bMark, 0), 6, 5, 1},
		"the first is gone":          {removeMessage(key, 0), 4, 0, 1},
		"one in the middle is gone":  {removeMessage(key, 2), 4, 2, 1},
		"the last is gone":           {removeMessage(key, 5), 4, 4, 1},
		"two swapped": {func(t *testing.T, dir string) {
			s := openTest(t, dir, faults{})
			defer closeStore(t, s)
			update(t, s, func(tx *Tx) error { return swapMessages(tx, key) })
		}, 5, 1, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyStore(t, origin)
			c.harm(t, dir)
			s := openTest(t, dir, faults{})
			defer closeStore(t, s)
			view(t, s, func(tx *Tx) error {
				got, err := tx.ReadableMessages(damagedChat.ID)
				if err != nil {
					return err
				}
				if len(got.Messages) != c.reads || len(got.Good()) != c.good || len(got.Lost) != c.lost {
					t.Errorf("%d messages, %d of them good, lost %v", len(got.Messages), len(got.Good()), got.Lost)
				}
				for i, m := range got.Messages {
					if i > 0 && m.ID <= got.Messages[i-1].ID {
						t.Errorf("message %d stands behind %d", m.ID, got.Messages[i-1].ID)
					}
				}
				return nil
			})
			_, damaged := s.DamagedChat(damagedChat.ID)
			if damaged != (c.lost > 0) {
				t.Errorf("the chat counts as damaged: %v", damaged)
			}
			view(t, s, func(tx *Tx) error {
				if _, err := tx.ReadableMessages(newID[chat.ID]()); err != nil {
					t.Errorf("a chat that is not there: %v", err)
				}
				return nil
			})
		})
	}
}
