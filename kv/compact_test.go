package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// looseStore is a closed store that is mostly free pages, and what can be read of each of its Chats.
func looseStore(t testing.TB, dir string) history {
	t.Helper()
	want := longStore(t, dir)
	db, err := bolt.Open(filepath.Join(dir, fileName), fileMode, nil)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("waste"), 800_000)
	for _, change := range []func(*bolt.Tx) error{
		func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket([]byte("waste"))
			if err != nil {
				return err
			}
			return b.Put([]byte("k"), large)
		},
		func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("waste")) },
	} {
		if err := db.Update(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return want
}

// mustHold opens the store and holds every Chat in it against want.
func mustHold(t testing.TB, dir string, want history) {
	t.Helper()
	s := openTest(t, dir, faults{})
	for id, shown := range want.shown {
		view(t, s, func(tx *Tx) error {
			got, err := tx.Messages(id, MessageQuery{})
			if err != nil {
				return err
			}
			all, err := tx.Messages(id, MessageQuery{WithDeleted: true})
			if !reflect.DeepEqual(got, shown) || !reflect.DeepEqual(all, want.all[id]) {
				t.Errorf("chat %s is another one", id)
			}
			return err
		})
	}
	mustBeClean(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func sizeOf(t testing.TB, dir string) int64 {
	t.Helper()
	n, err := fileSize(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCompactKeepsEveryRecord(t *testing.T) {
	dir := t.TempDir()
	want := looseStore(t, dir)
	before := sizeOf(t, dir)
	done, err := Compact(t.Context(), dir)
	if err != nil || done.Before != before || done.After != sizeOf(t, dir) || done.After > before/2 {
		t.Fatalf("%+v of %d bytes, %v", done, before, err)
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || info.Mode().Perm() != fileMode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	mustHold(t, dir, want)
	if again, err := Compact(t.Context(), dir); err != nil || again.After > done.After+1<<20 {
		t.Errorf("again: %+v, %v", again, err)
	}
	mustHold(t, dir, want)
}

// TestOpenCompactsWhatIsMostlyFree: only a large file that was closed cleanly, and never at the price of a start.
func TestOpenCompactsWhatIsMostlyFree(t *testing.T) {
	opened := func(t *testing.T, dir string, above int64, f faults) (said string) {
		t.Helper()
		var log strings.Builder
		s, err := open(t.Context(), dir, Options{MaxBytes: 1 << 30, CompactAbove: above, Log: slog.New(slog.NewTextHandler(&log, nil))}, f)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	dir := t.TempDir()
	want := looseStore(t, dir)
	before := sizeOf(t, dir)
	if said := opened(t, dir, before, faults{}); sizeOf(t, dir) != before || said != "" {
		t.Errorf("one that is not above the size: %d bytes, %q", sizeOf(t, dir), said)
	}
	noRoom := faults{at: func(point string) error {
		if point == "compact begin" {
			return fmt.Errorf("copy: %w", syscall.ENOSPC)
		}
		return nil
	}}
	if said := opened(t, dir, 1, noRoom); sizeOf(t, dir) != before || strings.Count(said, "\n") != 1 || !strings.Contains(said, "was not compacted") {
		t.Errorf("one without room: %d bytes, %q", sizeOf(t, dir), said)
	}
	if said := opened(t, dir, 1, faults{}); sizeOf(t, dir) > before/2 || !strings.Contains(said, "was compacted") {
		t.Errorf("%d bytes, %q", sizeOf(t, dir), said)
	}
	small := sizeOf(t, dir)
	if said := opened(t, dir, 1, faults{}); said != "" {
		t.Errorf("one that is full, of %d bytes: %q", small, said)
	}
	mustHold(t, dir, want)
}

// TestCompactThatFails leaves the store as it was, wherever it fails, and nothing beside it.
func TestCompactThatFails(t *testing.T) {
	dir := t.TempDir()
	looseStore(t, dir)
	before, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	unchanged := func(t *testing.T) {
		t.Helper()
		after, err := os.ReadFile(filepath.Join(dir, fileName))
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("the store was changed: %v", err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, tmpDir)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	for _, point := range []string{"compact begin", "compact copied", "compact compare", "compact rename"} {
		_, err := compact(t.Context(), dir, faults{at: func(at string) error {
			if at == point {
				return fmt.Errorf("at %s: %w", point, syscall.ENOSPC)
			}
			return nil
		}})
		if !errors.Is(err, ErrNoSpace) {
			t.Errorf("%s: %v", point, err)
		}
		unchanged(t)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Compact(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
	unchanged(t)
	if _, err := Compact(t.Context(), t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no store: %v", err)
	}
}

// TestCompactRefusesWhatItCannotRead: a broken structure is copied by nobody.
func TestCompactRefusesWhatItCannotRead(t *testing.T) {
	for name, harm := range map[string]func([]byte) []byte{
		"first pages": func(b []byte) []byte { clear(b[:2*os.Getpagesize()]); return b },
		"all pages": func(b []byte) []byte {
			for i := 2*os.Getpagesize() + 9; i < len(b); i += os.Getpagesize() {
				b[i] ^= 0xff
			}
			return b
		},
		"a cut file": func(b []byte) []byte { return b[:len(b)/64] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			longStore(t, dir)
			path := filepath.Join(dir, fileName)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b = harm(b)
			if err := os.WriteFile(path, b, fileMode); err != nil {
				t.Fatal(err)
			}
			if _, err := Compact(t.Context(), dir); !errors.Is(err, ErrDamaged) {
				t.Errorf("%v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(b, after) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// childCompacts kills itself at a named point of a compaction.
func childCompacts(point string) error {
	_, err := compact(context.Background(), ".", faults{at: func(at string) error {
		if at == point {
			return killMyself()
		}
		return nil
	}})
	return err
}

func TestKilledAtEachStepOfACompaction(t *testing.T) {
	for _, point := range []string{"compact begin", "compact copied", "compact compare", "compact rename", "compact sync dir"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			want := looseStore(t, dir)
			cmd, _ := startChild(t, dir, "compact "+point)
			if err := cmd.Wait(); killedBy(err) != syscall.SIGKILL {
				t.Fatalf("the child was not killed at %q: %v", point, err)
			}
			mustHold(t, dir, want)
			if left, err := os.ReadDir(filepath.Join(dir, tmpDir)); err != nil || len(left) > 0 {
				t.Errorf("left after the start: %v, %v", left, err)
			}
		})
	}
}
