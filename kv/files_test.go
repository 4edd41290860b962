package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// clock is an injected Now.
type clock struct {
	mu  sync.Mutex
	now time.Time // guarded by mu
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func openClock(t *testing.T, dir string) (*Store, *clock) {
	t.Helper()
	c := &clock{now: time.Now()}
	s, err := open(context.Background(), dir, Options{MaxBytes: 1 << 30, Now: c.Now}, faults{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mustBeClean(t, s)
		closeStore(t, s)
	})
	return s, c
}

func TestFilesComeBackAndBadNamesDoNot(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	for _, body := range []string{"", "short", strings.Repeat("long ", 1<<18)} {
		sum, size, err := s.PutFile(context.Background(), strings.NewReader(body))
		again, _, err2 := s.PutFile(context.Background(), strings.NewReader(body))
		if err != nil || err2 != nil || size != int64(len(body)) || again != sum {
			t.Fatalf("put: %v %v, %d bytes, %s, %s", err, err2, size, sum, again)
		}
		f, err := s.OpenFile(sum)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != body {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "../holdfast.db", strings.Repeat("a", 63), strings.Repeat("A", 64), strings.Repeat("0", 64)} {
		if _, err := s.OpenFile(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q opens with %v", name, err)
		}
	}
	failing := io.MultiReader(strings.NewReader("half"), &contextReader{ctx: cancelled(), r: strings.NewReader("rest")})
	if _, _, err := s.PutFile(context.Background(), failing); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that fails gave %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, tmpDir)); err != nil || len(left) != 0 {
		t.Errorf("%d unfinished files are left, %v", len(left), err)
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func fileNames(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.files.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	slices.Sort(out)
	return out
}

func TestSweepTakesOnlyFilesThatNothingNamesForADay(t *testing.T) {
	s, now := openClock(t, t.TempDir())
	ctx := context.Background()
	put := func(body string) string {
		sum, _, err := s.PutFile(ctx, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	attached, queued, checkpoint, orphan := put("attached"), put("queued"), put("checkpoint"), put("orphan")
	c := newChat(newID[chat.UserID]())
	one := text("with a file")
	one.Content = append(one.Content, chat.Part{Type: chat.PartFile, FileID: attached})
	e, err := s.EncodeMessage(ctx, one)
	if err != nil {
		t.Fatal(err)
	}
	large, err := s.EncodeMessage(ctx, text(strings.Repeat("large ", 20_000)))
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		_, err := tx.AppendMessage(c, e)
		_, err2 := tx.AppendMessage(c, large)
		id, err3 := tx.NextID()
		q := []*chat.QueuedMessage{{ID: id, ChatID: c.ID, Content: []chat.Part{{Type: chat.PartFile, FileID: queued}}}}
		return errors.Join(err, err2, err3, tx.PutQueue(c, q), tx.PutChat(c),
			tx.PutCheckpoint(&chat.Checkpoint{ChatID: c.ID, MessageID: 1, Path: "p", SHA256: checkpoint, Size: 10, At: s.now()}))
	})
	want := []string{attached, queued, checkpoint, orphan, large.ref.hex()}
	sweep := func() Swept {
		got, err := s.Sweep(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	expect := func(when string, names ...string) {
		t.Helper()
		slices.Sort(names)
		if got := fileNames(t, s); !slices.Equal(got, names) {
			t.Errorf("%s the files are %v, want %v", when, got, names)
		}
	}
	now.pass(23 * time.Hour)
	sweep()
	expect("after 23 hours", want...)
	now.pass(2 * time.Hour)
	if got := sweep(); got.Files != 1 {
		t.Errorf("swept %+v", got)
	}
	expect("after 25 hours", attached, queued, checkpoint, large.ref.hex())
	update(t, s, func(tx *Tx) error { return tx.DeleteFamily(c.ID) })
	put("orphan")
	if got := sweep(); got.Families != 1 || got.Files != 4 {
		t.Errorf("swept %+v", got)
	}
	expect("after the family is gone", orphan)
}

func TestFileNamedWhileTheSweepLooksStays(t *testing.T) {
	s, now := openClock(t, t.TempDir())
	ctx := context.Background()
	sum, _, err := s.PutFile(ctx, strings.NewReader("old upload"))
	if err != nil {
		t.Fatal(err)
	}
	now.pass(48 * time.Hour)
	limit := now.Now().Add(-keepUnreferenced)
	old, err := s.files.olderThan(limit)
	if err != nil || !old[sum] {
		t.Fatalf("old files: %v, %v", old, err)
	}
	// Between the sweep's look and its removal a Message names the file.
	one := text("late")
	one.Content = append(one.Content, chat.Part{Type: chat.PartFile, FileID: sum})
	if _, err := s.EncodeMessage(ctx, one); err != nil {
		t.Fatal(err)
	}
	if gone, err := s.files.remove(sum, limit); gone || err != nil {
		t.Errorf("removed: %v, %v", gone, err)
	}
}

func TestSweepRacesWithPut(t *testing.T) {
	s, now := openClock(t, t.TempDir())
	ctx := context.Background()
	now.pass(48 * time.Hour)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 30 {
				sum, _, err := s.PutFile(ctx, strings.NewReader("contended"))
				if err != nil {
					t.Error(err)
				}
				f, err := s.OpenFile(sum)
				if err != nil {
					t.Errorf("a file that was just put: %v", err)
					return
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 30 {
			if _, err := s.Sweep(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

func TestSweepOfReceiptsAndLoginCodes(t *testing.T) {
	s, now := openClock(t, t.TempDir())
	ctx := context.Background()
	busy, quiet := newID[chat.UserID](), newID[chat.UserID]()
	start := now.Now()
	const extra = 500
	put := func(user chat.UserID, from, to int) {
		update(t, s, func(tx *Tx) error {
			for n := from; n < to; n++ {
				r := &chat.Receipt{UserID: user, Key: fmt.Sprint("key ", n), Answer: json.RawMessage(`1`), At: start.Add(time.Duration(n) * time.Millisecond)}
				if err := tx.PutReceipt("", r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for n := 0; n < keepReceiptCount+extra; n += 2500 {
		put(busy, n, min(n+2500, keepReceiptCount+extra))
	}
	put(quiet, 0, 10)
	for n := range 4 {
		hash := refOf([]byte{byte(n)}).Sum
		code := &chat.LoginCode{Hash: hash[:], UserID: busy, ExpiresAt: start.Add(time.Duration(n) * time.Hour)}
		update(t, s, func(tx *Tx) error { return tx.PutLoginCode(code) })
	}
	now.pass(90 * time.Minute)
	got, err := s.Sweep(ctx)
	if err != nil || got.Receipts != 0 || got.LoginCodes != 2 {
		t.Errorf("after 90 minutes: %+v, %v", got, err)
	}
	now.pass(24 * time.Hour)
	got, err = s.Sweep(ctx)
	if err != nil || got.Receipts != extra || got.LoginCodes != 2 {
		t.Errorf("after a day: %+v, %v", got, err)
	}
	view(t, s, func(tx *Tx) error {
		for key, want := range map[string]bool{"key 0": false, fmt.Sprint("key ", extra-1): false, fmt.Sprint("key ", extra): true} {
			_, found, err := tx.Receipt(busy, "", key)
			if err != nil || found != want {
				t.Errorf("%s: found %v, %v", key, found, err)
			}
		}
		_, found, err := tx.Receipt(quiet, "", "key 0")
		if !found {
			t.Error("a receipt among the newest of its person is gone")
		}
		return err
	})
}

func TestSweepOfCheckpoints(t *testing.T) {
	s, now := openClock(t, t.TempDir())
	ctx := context.Background()
	c := newChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	put := func(path string) {
		t.Helper()
		sum, size, err := s.PutFile(ctx, strings.NewReader(path+" holds ten"))
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, func(tx *Tx) error {
			return tx.PutCheckpoint(&chat.Checkpoint{ChatID: c.ID, MessageID: 1, Path: path, SHA256: sum, Size: size, At: s.now()})
		})
	}
	expect := func(when string, want ...string) {
		t.Helper()
		var paths []string
		view(t, s, func(tx *Tx) error {
			all, err := tx.Checkpoints(c.ID, 0)
			for _, k := range all {
				paths = append(paths, k.Path)
			}
			return err
		})
		if !slices.Equal(paths, want) {
			t.Errorf("%s there are %v, want %v", when, paths, want)
		}
	}
	put("c")
	now.pass(24 * time.Hour)
	put("a")
	now.pass(13 * 24 * time.Hour)
	put("b")
	if got, err := s.Sweep(ctx); err != nil || got.Checkpoints != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	expect("after 14 days", "a", "b", "c")
	now.pass(time.Second)
	if got, err := s.Sweep(ctx); err != nil || got.Checkpoints != 1 || got.Files != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	expect("a second later", "a", "b")
	if got, err := s.sweepCheckpoints(ctx, 11); err != nil || got != 1 {
		t.Errorf("%d, %v", got, err)
	}
	expect("with room for one", "b")
}
