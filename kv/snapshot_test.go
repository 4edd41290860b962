package kv

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// snapshotOf is one of instruction files; names and texts take turns.
func snapshotOf(pairs ...string) chat.Snapshot {
	s := chat.Snapshot{BootID: "boot", Version: 1, Ready: true, MCPSettled: true}
	for i := 0; i < len(pairs); i += 2 {
		text := []byte(pairs[i+1])
		s.Resources = append(s.Resources, chat.Resource{Kind: chat.ResourceInstructionFile, Source: pairs[i], Status: chat.ResourceOK,
			SizeBytes: int64(len(text)), ContentHash: chat.FileHash(text), Payload: text})
		s.PayloadBytes += int64(len(text))
	}
	s.AggregateHash = chat.AggregateHash(s.Resources)
	s.FullHash = chat.FullHash(s.Resources, s.Error, s.MCPSettled)
	return s
}

// pinSnapshot makes s the newest and lets the Chat pin it.
func pinSnapshot(tx *Tx, c *chat.Chat, w chat.WorkspaceID, s chat.Snapshot) error {
	n, err := tx.PutSnapshot(w, s, time.Now().UTC())
	if err != nil {
		return err
	}
	c.WorkspaceID, c.Context = w, &chat.ContextPin{Address: n.Address, Number: n.Number, Aggregate: n.Aggregate}
	return tx.PutChat(c)
}

func TestSnapshotsAreNumberedAndAddressedByContent(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	w := newID[chat.WorkspaceID]()
	now := time.Now().UTC()
	put := func(sn chat.Snapshot) (n *chat.NewestSnapshot) {
		t.Helper()
		update(t, s, func(tx *Tx) (err error) {
			n, err = tx.PutSnapshot(w, sn, now)
			return err
		})
		return n
	}
	err := s.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.PutSnapshot(w, snapshotOf(), now)
		return err
	})
	var missing *chat.Error
	if !errors.As(err, &missing) || missing.Kind != chat.KindNotFound {
		t.Errorf("a snapshot of no workspace: %v", err)
	}
	update(t, s, func(tx *Tx) error { return tx.PutWorkspace(&chat.WorkspaceRecord{ID: w}) })
	// Larger than what stands in the database itself.
	large := strings.Repeat("large and <tagged>\n", 3500)
	first := put(snapshotOf("/w/AGENTS.md", "one", "/w/big/AGENTS.md", large))
	second := put(snapshotOf("/w/AGENTS.md", "two", "/w/big/AGENTS.md", large))
	again := snapshotOf("/w/AGENTS.md", "one", "/w/big/AGENTS.md", large)
	again.BootID, again.Version = "later", 7
	third := put(again)
	if first.Number != 1 || second.Number != 2 || third.Number != 1 || third.Address != first.Address || third.Last != 2 || third.Version != 7 {
		t.Errorf("numbers: %+v %+v %+v", first, second, third)
	}
	view(t, s, func(tx *Tx) error {
		r, found, err := tx.Snapshot(w, second.Address, true)
		if err != nil || !found {
			t.Fatalf("the second: %v %v", found, err)
		}
		if got := string(r.Snapshot.Resources[0].Payload) + string(r.Snapshot.Resources[1].Payload); got != "two"+large || r.Number != 2 {
			t.Errorf("the second has %d bytes, number %d", len(got), r.Number)
		}
		if r.Snapshot.AggregateHash != second.Aggregate {
			t.Error("the hash was lost")
		}
		bare, _, err := tx.Snapshot(w, second.Address, false)
		if err != nil || bare.Snapshot.Resources[0].Payload != nil {
			t.Errorf("without texts: %+v %v", bare.Snapshot.Resources[0], err)
		}
		if _, found, err := tx.Snapshot(w, chat.Hash{1}, false); found || err != nil {
			t.Errorf("an unknown address: %v %v", found, err)
		}
		return nil
	})
	bad := snapshotOf("/w/AGENTS.md", "one")
	bad.Resources[0].Payload = []byte("other")
	if err := s.Update(context.Background(), func(tx *Tx) error { _, err := tx.PutSnapshot(w, bad, now); return err }); err == nil {
		t.Error("a payload with another hash was kept")
	}
}

func TestUnpinnedSnapshotsGoAfterADay(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	start := time.Now().UTC()
	now := start
	s.now = func() time.Time { return now }
	w, c := newID[chat.WorkspaceID](), newChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutWorkspace(&chat.WorkspaceRecord{ID: w}), pinSnapshot(tx, c, w, snapshotOf("/w/AGENTS.md", "pinned")))
	})
	var middle, last *chat.NewestSnapshot
	update(t, s, func(tx *Tx) (err error) {
		if middle, err = tx.PutSnapshot(w, snapshotOf("/w/AGENTS.md", "middle"), start); err == nil {
			last, err = tx.PutSnapshot(w, snapshotOf("/w/AGENTS.md", "last"), start)
		}
		return err
	})
	sweep := func(at time.Duration, want int) {
		t.Helper()
		now = start.Add(at)
		swept, err := s.Sweep(context.Background())
		if err != nil || swept.Snapshots != want {
			t.Errorf("after %s: %d removed, want %d, %v", at, swept.Snapshots, want, err)
		}
		mustBeClean(t, s)
	}
	sweep(23*time.Hour, 0)
	sweep(25*time.Hour, 1)
	view(t, s, func(tx *Tx) error {
		for _, k := range []struct {
			at   chat.Hash
			want bool
		}{{c.Context.Address, true}, {middle.Address, false}, {last.Address, true}} {
			if _, found, err := tx.Snapshot(w, k.at, true); found != k.want || err != nil {
				t.Errorf("%s: found %v, %v", k.at, found, err)
			}
		}
		pinned, err := tx.PinnedChats(w)
		if !slices.Equal(pinned, []chat.ID{c.ID}) {
			t.Errorf("pinned by %v", pinned)
		}
		return err
	})
	update(t, s, func(tx *Tx) error { c.Context = nil; return tx.PutChat(c) })
	sweep(26*time.Hour, 1)
	update(t, s, func(tx *Tx) error { return pinSnapshot(tx, c, w, snapshotOf("/w/AGENTS.md", "last")) })
	update(t, s, func(tx *Tx) error { _, err := tx.DeleteWorkspace(w); return err })
	mustBeClean(t, s)
	update(t, s, func(tx *Tx) error { return tx.DeleteFamily(c.ID) })
	if _, err := s.PurgeFamilies(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustBeClean(t, s)
	view(t, s, func(tx *Tx) error {
		pinned, err := tx.PinnedChats(w)
		if len(pinned) != 0 {
			t.Errorf("a deleted chat still pins: %v", pinned)
		}
		return err
	})
}

func TestTheCheckSeesContextThatDoesNotFit(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	w, c := newID[chat.WorkspaceID](), newChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutWorkspace(&chat.WorkspaceRecord{ID: w}), pinSnapshot(tx, c, w, snapshotOf("/w/AGENTS.md", "text")))
	})
	key, _ := idKey(w)
	own, _ := idKey(c.ID)
	at := snapshotKey(key, c.Context.Address)
	text := snapshotKey(key, chat.FileHash([]byte("text")))
	for _, damage := range []struct {
		words string
		do    func(tx *Tx) error
	}{
		{"is missing", func(tx *Tx) error { return tx.t.delete(bContextText, text) }},
		{"another hash than its key", func(tx *Tx) error { return tx.t.putJSON(bContextText, text, []byte("other")) }},
		{"the newest snapshot is not there", func(tx *Tx) error { return tx.t.delete(bSnapshot, at) }},
		{"the pinned snapshot is not there", func(tx *Tx) error { return tx.t.delete(bSnapshot, at) }},
		{"missing in the index", func(tx *Tx) error { return tx.t.delete(bPin, own) }},
		{"pins another", func(tx *Tx) error { return tx.t.put(bPin, own, snapshotKey(key, chat.Hash{1}), nil) }},
		{"another hash than its address", func(tx *Tx) error {
			return tx.t.putJSON(bSnapshot, at, storedSnapshot{Number: 1, Content: []byte(`{}`)})
		}},
	} {
		errUndo := errors.New("undo")
		err := s.Update(context.Background(), func(tx *Tx) error {
			if err := damage.do(tx); err != nil {
				return err
			}
			check := &checker{ctx: context.Background(), tx: tx, chats: map[id16]*checkedChat{}, refs: map[string]bool{},
				sums: map[[hashSize]byte]Damage{}, sizes: map[[hashSize]byte]int64{}, ids: map[string]bool{}}
			if err := check.run(); err != nil {
				return err
			}
			for _, d := range check.found {
				if strings.Contains(d.Reason, damage.words) {
					return errUndo
				}
			}
			t.Errorf("no damage says %q: %v", damage.words, check.found)
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
	}
	mustBeClean(t, s)
}
