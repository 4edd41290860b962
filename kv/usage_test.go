package kv

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

// randomUsage puts n entries of three people, some families, models and days, and gives them.
func randomUsage(t *testing.T, s *Store, rng *rand.Rand, n int) []*chat.UsageEntry {
	t.Helper()
	users := []chat.UserID{newID[chat.UserID](), newID[chat.UserID](), newID[chat.UserID]()}
	roots := []chat.ID{newID[chat.ID](), newID[chat.ID](), newID[chat.ID](), newID[chat.ID]()}
	models := []string{"a:1b", "b:2b"}
	kinds := []string{chat.UsageTurn, chat.UsageTitle}
	begin := time.Date(2026, 2, 27, 23, 59, 59, 0, time.UTC)
	maybe := func(top int64) *int64 {
		if rng.IntN(4) == 0 {
			return nil
		}
		v := rng.Int64N(top)
		return &v
	}
	var all []*chat.UsageEntry
	for range n {
		root := roots[rng.IntN(len(roots))]
		all = append(all, &chat.UsageEntry{ChatID: root, RootID: root, UserID: users[rng.IntN(len(users))], Model: models[rng.IntN(2)],
			Kind: kinds[rng.IntN(2)], CostMicros: maybe(1000), RuntimeMS: rng.Int64N(5000), At: begin.Add(time.Duration(rng.IntN(200)) * time.Hour),
			Usage: chat.Usage{InputTokens: maybe(5000), OutputTokens: maybe(500), ReasoningTokens: maybe(50), CacheReadTokens: maybe(900)}})
	}
	for i := 0; i < len(all); i += 7 {
		update(t, s, func(tx *Tx) error {
			for _, u := range all[i:min(i+7, len(all))] {
				if err := tx.PutUsage(u); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all
}

func sumIf(all []*chat.UsageEntry, match func(*chat.UsageEntry) bool) (s chat.UsageSum) {
	for _, u := range all {
		if match(u) {
			s = s.Plus(chat.SumOf(u))
		}
	}
	return s
}

// Whatever range is asked for, the roll-ups say what the entries say.
func TestUsageRollUpsAreTheSumOfEntries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := openTest(t, t.TempDir(), faults{})
	all := randomUsage(t, s, rng, 400)
	view(t, s, func(tx *Tx) error {
		users, err := tx.UsageUsers()
		if err != nil || len(users) != 3 {
			t.Fatalf("users %v, %v", users, err)
		}
		for range 60 {
			user := users[rng.IntN(3)]
			first := chat.DayOf(all[rng.IntN(len(all))].At)
			last := first + chat.Day(rng.IntN(6)) - 1
			in := func(u *chat.UsageEntry) bool {
				d := chat.DayOf(u.At)
				return u.UserID == user && d >= first && d <= last
			}
			days, err := tx.UsageDays(user, first, last)
			if err != nil {
				return err
			}
			var got, perChat chat.UsageSum
			for i, d := range days {
				got = got.Plus(d.Sum())
				if d.RootID != "" || i > 0 && days[i-1].Day >= d.Day {
					t.Errorf("%v is not a day of its own after the one before", d)
				}
				want := sumIf(all, func(u *chat.UsageEntry) bool { return u.UserID == user && chat.DayOf(u.At) == d.Day })
				if d.Sum() != want {
					t.Errorf("%s: %+v, want %+v", d.Day, d.Sum(), want)
				}
			}
			byRoot := map[chat.ID]chat.UsageSum{}
			err = tx.EachUsage(user, first, last, func(d *chat.UsageDay) {
				perChat = perChat.Plus(d.Sum())
				byRoot[d.RootID] = byRoot[d.RootID].Plus(d.Sum())
			})
			if err != nil {
				return err
			}
			if want := sumIf(all, in); got != want || perChat != want {
				t.Errorf("%s to %s: days %+v, chats %+v, want %+v", first, last, got, perChat, want)
			}
			for root, have := range byRoot {
				if want := sumIf(all, func(u *chat.UsageEntry) bool { return in(u) && u.RootID == root }); have != want {
					t.Errorf("%s: %+v, want %+v", root, have, want)
				}
			}
		}
		return nil
	})
	mustBeClean(t, s)
}

func TestUsageDayText(t *testing.T) {
	for text, want := range map[string]chat.Day{"1970-01-01": 0, "1969-12-31": -1, "2026-11-20": 20777} {
		var d chat.Day
		if err := d.UnmarshalText([]byte(text)); err != nil || d != want || d.String() != text || chat.DayOf(d.Time()) != d {
			t.Errorf("%s is %d %s, %v, want %d", text, d, d, err, want)
		}
		if got := usageDayOf(usageDayKey(id16{1}, want, id16{2})); got != want {
			t.Errorf("the key of %d says %d", want, got)
		}
	}
	early := usageDayKey(id16{1}, -1, id16{})
	if late := usageDayKey(id16{1}, 0, id16{}); string(early) >= string(late) {
		t.Error("days before 1970 do not sort first")
	}
}

// A sum that was changed behind the store's back is found; one that cannot be read is made anew by the next entry.
func TestUsageRollUpsAreCheckedAndMended(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	all := randomUsage(t, s, rand.New(rand.NewPCG(1, 1)), 50)
	u := all[0]
	user, _ := parseID(string(u.UserID))
	root, _ := parseID(string(u.RootID))
	keys := map[string][]byte{"day": usageDayKey(user, chat.DayOf(u.At), id16{}), "family": usageDayKey(user, chat.DayOf(u.At), root)}
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			update(t, s, func(tx *Tx) error {
				d, _, err := getNoun[chat.UsageDay](tx, bUsageDay, key)
				if err != nil {
					return err
				}
				d.Lines[0].Requests++
				return tx.t.putJSON(bUsageDay, key, d)
			})
			mustFind(t, s, "the sum is not that of its usage entries")
			update(t, s, func(tx *Tx) error { return tx.t.putRaw(bUsageDay, key, []byte("cut")) })
			mustFind(t, s, "the record is cut short")
			err := s.View(context.Background(), func(tx *Tx) error {
				_, err := tx.UsageDays(u.UserID, chat.DayOf(u.At), chat.DayOf(u.At))
				return err
			})
			if broken := err != nil; broken != (name == "day") {
				t.Errorf("reading the day says %v", err)
			}
			update(t, s, func(tx *Tx) error { return tx.PutUsage(u) })
			mustBeClean(t, s)
			update(t, s, func(tx *Tx) error { return tx.t.delete(bUsageDay, key) })
			mustFind(t, s, "usage entries are missing in the sums")
			update(t, s, func(tx *Tx) error { return tx.t.putRaw(bUsageDay, key, []byte("cut")) })
			update(t, s, func(tx *Tx) error { return tx.PutUsage(u) })
			mustBeClean(t, s)
		})
	}
}

func mustFind(t *testing.T, s *Store, reason string) {
	t.Helper()
	found, err := s.Check(context.Background(), false)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Reason, reason) {
		t.Fatalf("the check found %v, %v, want %q", found, err, reason)
	}
}

func TestUsageRollUpsOfAnOlderStore(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	all := randomUsage(t, s, rand.New(rand.NewPCG(2, 1)), 60)
	read := func(s *Store) (days []*chat.UsageDay) {
		view(t, s, func(tx *Tx) (err error) {
			days, err = tx.UsageDays(all[0].UserID, 0, 1<<20)
			return err
		})
		return days
	}
	want := read(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	withBolt(t, dir, func(bt *bolt.Tx) error { return bt.DeleteBucket([]byte(bUsageDay.String())) })
	s = openTest(t, dir, faults{})
	mustBeClean(t, s)
	got := read(s)
	if len(got) != len(want) {
		t.Fatalf("%d days, want %d", len(got), len(want))
	}
	for i := range got {
		if !sameLines(got[i].Lines, want[i].Lines) || !reflect.DeepEqual(got[i].Day, want[i].Day) {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}
