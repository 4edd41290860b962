package kv

import (
	"context"
	"testing"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

func TestScrubVisitsEachChatAndNamesTheDamage(t *testing.T) {
	dir := t.TempDir()
	_, c, other := smallStore(t, dir)
	s := openTest(t, dir, faults{})
	e, err := EncodeMessage(text("many"))
	if err != nil {
		t.Fatal(err)
	}
	var victim chat.MessageID
	update(t, s, func(tx *Tx) error {
		x, _, err := tx.Chat(other.ID)
		if err != nil {
			return err
		}
		for n := range 3 * scrubRecords {
			id, err := tx.AppendMessage(x, e)
			if err != nil {
				return err
			}
			if n == 2*scrubRecords {
				victim = id
			}
		}
		return tx.PutChat(x)
	})
	round := func(s *Store) (visited map[chat.ID]int, found []Damage) {
		visited = map[chat.ID]int{}
		for at := chat.ID(""); ; {
			next, damage, err := s.Scrub(context.Background(), at)
			if err != nil {
				t.Fatal(err)
			}
			if next == "" {
				return visited, found
			}
			visited[next]++
			found = append(found, damage...)
			at = next
		}
	}
	visited, found := round(s)
	if len(visited) != 4 || visited[c.ID] != 1 || visited[other.ID] != 1 || len(found) != 0 {
		t.Errorf("visited %v, found %v", visited, found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	key, err := chatKey(other.ID, uint64(victim))
	if err != nil {
		t.Fatal(err)
	}
	withBolt(t, dir, func(bt *bolt.Tx) error {
		b := bt.Bucket([]byte("message"))
		value := append([]byte(nil), b.Get(key)...)
		value[len(value)-4] ^= 1
		return b.Put(key, value)
	})
	s = openTest(t, dir, faults{})
	defer closeStore(t, s)
	visited, found = round(s)
	if len(visited) != 4 || len(found) != 1 || found[0].Chat != other.ID || found[0].Message != victim {
		t.Errorf("visited %v, found %v, the victim is message %d of %s", visited, found, victim, other.ID)
	}
	if got := s.Damages(); len(got) != 1 {
		t.Errorf("the damage is listed %d times", len(got))
	}
}
