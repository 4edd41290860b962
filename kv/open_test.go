package kv

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// withBolt opens a closed store's database beside the store's back.
func withBolt(t testing.TB, dir string, fn func(bt *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, fileName), fileMode, &bolt.Options{Timeout: openWait, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// metaOf reads meta from a closed store.
func metaOf(t testing.TB, dir string) meta {
	t.Helper()
	var m meta
	withBolt(t, dir, func(bt *bolt.Tx) error {
		txn := &txn{shared: newShared(bt)}
		for _, f := range m.fields() {
			if _, err := txn.getJSON(bMeta, []byte(f.name), f.at); err != nil {
				return err
			}
		}
		return nil
	})
	return m
}

func TestEpochGrowsAndCleanIsKept(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		s := openTest(t, dir, faults{})
		if got := s.Epoch(); got != int64(n+1) {
			t.Errorf("opening %d has epoch %d", n, got)
		}
		// A copy is what a kill leaves behind.
		if m := metaOf(t, copyStore(t, dir)); m.Clean || m.Epoch != int64(n+1) {
			t.Errorf("while open: %+v", m)
		}
		closeStore(t, s)
		want := meta{Schema: Schema, MinReader: minReader, CreatedBy: "test", Clean: true, Epoch: int64(n + 1)}
		if m := metaOf(t, dir); m != want {
			t.Errorf("after close: %+v, want %+v", m, want)
		}
	}
}

func TestNewerStoreIsRefusedUnlessItLetsUsRead(t *testing.T) {
	for name, c := range map[string]struct {
		schema, minReader int
		refused           bool
	}{"newer": {7, 7, true}, "newer, readable by us": {7, Schema, false}, "same": {Schema, minReader, false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			closeStore(t, openTest(t, dir, faults{}))
			withBolt(t, dir, func(bt *bolt.Tx) error {
				txn := &txn{shared: newShared(bt)}
				return errors.Join(txn.putJSON(bMeta, []byte("schema"), c.schema), txn.putJSON(bMeta, []byte("min_reader"), c.minReader))
			})
			s, err := Open(context.Background(), dir, Options{})
			var newer *NewerError
			if errors.As(err, &newer) != c.refused || c.refused && (newer.Schema != 7 || newer.Known != Schema || !errors.Is(err, ErrNewer)) {
				t.Errorf("open gave %v", err)
			}
			closeStore(t, s)
		})
	}
}

func TestUncleanStopIsCheckedAtStart(t *testing.T) {
	dir := t.TempDir()
	_, c, _ := smallStore(t, dir)
	harm := func(bt *bolt.Tx) error {
		key, err := chatKey(c.ID, 1)
		if err != nil {
			return err
		}
		txn := &txn{shared: newShared(bt)}
		return errors.Join(bt.Bucket([]byte("message")).Put(key, []byte("xxxxx")), txn.putJSON(bMeta, []byte("clean"), false))
	}
	withBolt(t, dir, harm)
	var log bytes.Buffer
	s, err := Open(context.Background(), dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatalf("damaged records stopped the start: %v", err)
	}
	defer closeStore(t, s)
	found := s.Damages()
	if len(found) == 0 || found[0].Chat != c.ID || found[0].Message != 1 || s.Stats().Damaged != len(found) {
		t.Errorf("the start found %v", found)
	}
	if !strings.Contains(log.String(), string(c.ID)) || !strings.Contains(log.String(), "message=1") {
		t.Errorf("the log does not name the record: %s", log.String())
	}
}

func TestBrokenStructureStopsTheStart(t *testing.T) {
	origin := t.TempDir()
	smallStore(t, origin)
	for name, harm := range map[string]func(f *os.File, size int64) error{
		"both meta pages": func(f *os.File, _ int64) error {
			_, err := f.WriteAt(make([]byte, 2*os.Getpagesize()), 0)
			return err
		},
		"no database": func(f *os.File, _ int64) error {
			_, err := f.WriteAt([]byte(strings.Repeat("garbage ", 4096)), 0)
			return err
		},
		"cut short": func(f *os.File, _ int64) error { return f.Truncate(100) },
		"all pages but the meta pages": func(f *os.File, size int64) error {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)-2*os.Getpagesize()), 2*int64(os.Getpagesize()))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyStore(t, origin)
			f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(harm(f, info.Size()), f.Close()); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), dir, Options{MaxBytes: 1 << 30})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("open gave %v", err)
			}
			closeStore(t, s)
		})
	}
}

func TestPermissionsOfWhatTheStoreMakes(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	sum, _, err := s.PutFile(context.Background(), strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{fileName: fileMode, filesDir: dirMode, tmpDir: dirMode, filepath.Join(filesDir, sum): fileMode} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestOpenOfADirectoryThatIsNotThere(t *testing.T) {
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("open gave %v", err)
	}
}

func TestCheckOnACopyFindsTheSame(t *testing.T) {
	dir := t.TempDir()
	_, c, _ := smallStore(t, dir)
	s := openTest(t, dir, faults{})
	if found, err := s.checkCopy(context.Background(), true); err != nil || len(found) != 0 {
		t.Errorf("a good store: %v, %v", found, err)
	}
	update(t, s, func(tx *Tx) error {
		ms, err := tx.Messages(c.ID, MessageQuery{Limit: 1})
		if err != nil {
			return err
		}
		key, err := chatKey(c.ID, uint64(ms[0].ID))
		return errors.Join(err, tx.t.delete(bMessage, key))
	})
	online, err1 := s.Check(context.Background(), true)
	onCopy, err2 := s.checkCopy(context.Background(), true)
	if err1 != nil || err2 != nil || len(online) == 0 || len(online) != len(onCopy) || online[0] != onCopy[0] {
		t.Errorf("online %v %v, on a copy %v %v", online, err1, onCopy, err2)
	}
	if left, err := os.ReadDir(filepath.Join(dir, tmpDir)); err != nil || len(left) != 0 {
		t.Errorf("%d copies are left, %v", len(left), err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.checkCopy(over, true); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check gave %v", err)
	}
	closeStore(t, s)
}
