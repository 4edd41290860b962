package kv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// fillUntilFull appends Messages of 4 KB until the store says that it is full, and gives how many were acknowledged.
func fillUntilFull(t *testing.T, s *Store, id chat.ID) int {
	t.Helper()
	noise := make([]byte, 2048)
	rand.Read(noise)
	e, err := EncodeMessage(text(hex.EncodeToString(noise)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100_000 {
		err := s.Update(context.Background(), func(tx *Tx) error {
			c, _, err := tx.Chat(id)
			if err != nil {
				return err
			}
			if _, err := tx.AppendMessage(c, e); err != nil {
				return err
			}
			return tx.PutChat(c)
		})
		if errors.Is(err, ErrNoSpace) {
			return n
		}
		if err != nil {
			t.Fatalf("message %d: %v", n, err)
		}
	}
	t.Fatal("the store never got full")
	return 0
}

func messageCount(t *testing.T, s *Store, id chat.ID) (n int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		ms, err := tx.Messages(id, MessageQuery{})
		n = len(ms)
		return err
	})
	return n
}

// fullStore fills a store, and shows that it reads, refuses, makes room by a deletion, and takes writes again after a probe.
func fullStore(t *testing.T, s *Store, ticks chan time.Time, makeRoom func()) {
	t.Helper()
	owner := newID[chat.UserID]()
	kept, filler := newChat(owner), newChat(owner)
	update(t, s, func(tx *Tx) error { return errors.Join(tx.PutChat(kept), tx.PutChat(filler)) })
	appendText(t, s, kept.ID, "before")
	acknowledged := fillUntilFull(t, s, filler.ID)
	if acknowledged < 100 {
		t.Fatalf("full after %d messages", acknowledged)
	}
	if state, reason := s.State(); state != StateNoSpace || reason == "" {
		t.Fatalf("state %q %q", state, reason)
	}
	if n := messageCount(t, s, filler.ID); n != acknowledged {
		t.Errorf("%d messages are there, %d were acknowledged", n, acknowledged)
	}
	if n := messageCount(t, s, kept.ID); n != 1 {
		t.Errorf("the other chat reads as %d messages", n)
	}
	makeRoom()
	ticks <- time.Time{}
	// The probe's outcome shows in the state before the next call is taken.
	m := appendText(t, s, kept.ID, "after")
	if state, reason := s.State(); state != StateOK {
		t.Fatalf("state %q %q after room was made", state, reason)
	}
	if n := messageCount(t, s, kept.ID); n != 2 || m == 0 {
		t.Errorf("the chat reads as %d messages", n)
	}
	if n := messageCount(t, s, filler.ID); n != acknowledged {
		t.Errorf("%d messages are there, %d were acknowledged", n, acknowledged)
	}
	mustBeClean(t, s)
}

func Test18StoreAtItsMaxBytes(t *testing.T) {
	dir, ticks := t.TempDir(), make(chan time.Time)
	s, err := open(context.Background(), dir, Options{MaxBytes: 8 << 20}, faults{after: func(time.Duration) <-chan time.Time { return ticks }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	// Room is made as a person would: by deleting a chat, while the store is full.
	owner := newID[chat.UserID]()
	old := newChat(owner)
	update(t, s, func(tx *Tx) error { return tx.PutChat(old) })
	for n := range 200 {
		appendText(t, s, old.ID, strings.Repeat(fmt.Sprint(n), 1000))
	}
	fullStore(t, s, ticks, func() {
		if err := s.Update(context.Background(), func(tx *Tx) error { return tx.DeleteFamily(old.ID) }); err != nil {
			t.Fatalf("a deletion in a full store: %v", err)
		}
		if _, err := s.PurgeFamilies(context.Background()); err != nil {
			t.Fatalf("a removal in a full store: %v", err)
		}
	})
}

// With root's rights the same is shown on a real, full file system. Without them the mount is refused, and the test above and the
// injected faults are what there is.
func Test18StoreOnAFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir, 24<<20); err != nil {
		t.Logf("no small file system to fill (%v): shown by MaxBytes and injected faults only", err)
		return
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ticks := make(chan time.Time)
	s, err := open(context.Background(), dir, Options{MaxBytes: 1 << 30}, faults{after: func(time.Duration) <-chan time.Time { return ticks }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	ballast := dir + "/ballast"
	if err := os.WriteFile(ballast, make([]byte, 8<<20), fileMode); err != nil {
		t.Fatal(err)
	}
	fullStore(t, s, ticks, func() {
		if _, _, err := s.PutFile(context.Background(), strings.NewReader(strings.Repeat("x", 1<<20))); !errors.Is(err, ErrNoSpace) {
			t.Errorf("a file on a full file system: %v", err)
		}
		if left, err := os.ReadDir(dir + "/" + tmpDir); err != nil || len(left) != 0 {
			t.Errorf("%d unfinished files are left, %v", len(left), err)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSpaceIsLowUnderTheStopLine(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	got, err := s.Space()
	if err != nil || got.Path != s.dir || got.Total <= 0 || got.Free <= 0 || got.Free > got.Total {
		t.Errorf("space is %+v, %v", got, err)
	}
	for _, c := range []struct {
		free, total int64
		low         bool
	}{{1 << 30, 100 << 30, false}, {200 << 20, 100 << 30, true}, {256 << 20, 100 << 30, false}, {19 << 20, 1000 << 20, true},
		{20 << 20, 1000 << 20, false}, {0, 1 << 30, true}} {
		if got := isLow(c.free, c.total); got != c.low {
			t.Errorf("%d free of %d: low %v", c.free, c.total, got)
		}
	}
}

func TestReadOnlyErrorTellsWhatIsWrong(t *testing.T) {
	for in, want := range map[error]error{syscall.EROFS: ErrReadOnly, syscall.ENOSPC: ErrNoSpace, syscall.EDQUOT: ErrNoSpace} {
		if got := readOnlyError(&os.PathError{Op: "write", Path: "p", Err: in}); !errors.Is(got, want) || !errors.Is(got, in) {
			t.Errorf("%v became %v", in, got)
		}
	}
}
