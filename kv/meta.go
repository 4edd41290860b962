package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Schema is the newest layout that this version writes and reads; minReader the oldest version that can read what it writes.
const (
	Schema    = 1
	minReader = 1
)

// meta is what stands beside the nouns.
type meta struct {
	Schema    int
	MinReader int
	CreatedBy string
	// Clean: the last process closed the store.
	Clean bool
	Epoch int64
}

// prepare makes directories and, where there is none, the database file: written under another name, synced, renamed. A kill at any
// instant leaves nothing or a whole store.
func prepare(dir string, o Options, f faults) error {
	for _, sub := range []string{filesDir, tmpDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), dirMode); err != nil {
			return fmt.Errorf("kv: make %s: %w", sub, err)
		}
	}
	if err := emptyDir(filepath.Join(dir, tmpDir)); err != nil {
		return fmt.Errorf("kv: empty %s: %w", tmpDir, err)
	}
	path := filepath.Join(dir, fileName)
	if _, err := os.Stat(path); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("kv: remove an unfinished store: %w", err)
	}
	if err := f.hit("create begin"); err != nil {
		return err
	}
	if err := writeNew(tmp, o, f); err != nil {
		return fmt.Errorf("kv: make the store: %w", err)
	}
	if err := f.hit("create rename"); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("kv: make the store: %w", err)
	}
	if err := f.hit("create sync dir"); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeNew(path string, o Options, f faults) error {
	db, err := openBolt(path, o.MaxBytes)
	if err != nil {
		return err
	}
	if err := f.hit("create schema"); err != nil {
		return errors.Join(err, db.Close())
	}
	err = db.Update(func(bt *bolt.Tx) error {
		for b := bMeta; b <= lastBucket; b++ {
			if _, err := bt.CreateBucket([]byte(b.String())); err != nil {
				return err
			}
		}
		t := &txn{shared: newShared(bt)}
		m := meta{Schema: Schema, MinReader: minReader, CreatedBy: o.Version, Clean: true}
		return errors.Join(t.putJSON(bMeta, nextIDKey, 1), putMeta(t, m))
	})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := f.hit("create close"); err != nil {
		return errors.Join(err, db.Close())
	}
	if err := db.Close(); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// fields pairs the names of meta's records with where they live.
func (m *meta) fields() []struct {
	name string
	at   any
} {
	return []struct {
		name string
		at   any
	}{{"schema", &m.Schema}, {"min_reader", &m.MinReader}, {"created_by", &m.CreatedBy}, {"clean", &m.Clean}, {"epoch", &m.Epoch}}
}

func putMeta(t *txn, m meta) error {
	for _, f := range m.fields() {
		if err := t.putJSON(bMeta, []byte(f.name), f.at); err != nil {
			return err
		}
	}
	return nil
}

// readMeta also refuses what this version cannot read.
func (s *Store) readMeta() (meta, error) {
	var m meta
	err := s.view(func(tx *Tx) error {
		for _, f := range m.fields() {
			found, err := tx.t.getJSON(bMeta, []byte(f.name), f.at)
			if err != nil {
				return err
			}
			if !found {
				return &DamageError{damageAt(bMeta, []byte(f.name), "the record is missing")}
			}
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	if m.Schema > Schema && m.MinReader > Schema {
		return m, &NewerError{Schema: m.Schema, Known: Schema}
	}
	return m, nil
}

// writeMeta marks the store as in use under this epoch, or as cleanly closed. It runs while no committer does.
func (s *Store) writeMeta(clean bool) error {
	err := s.db.Update(func(bt *bolt.Tx) error {
		t := &txn{shared: newShared(bt)}
		return errors.Join(t.putJSON(bMeta, []byte("clean"), clean), t.putJSON(bMeta, []byte("epoch"), s.epoch))
	})
	if err != nil {
		return fmt.Errorf("kv: write the state of the store: %w", err)
	}
	return nil
}

func emptyDir(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// addBuckets gives a store that an older version made the buckets that came since. Roll-ups of usage are not only made but filled, by
// addUsageDays.
func (s *Store) addBuckets() error {
	var missing []bucket
	err := s.db.View(func(bt *bolt.Tx) error {
		for b := bMeta; b <= lastBucket; b++ {
			if bt.Bucket([]byte(b.String())) == nil {
				missing = append(missing, b)
			}
		}
		return nil
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.db.Update(func(bt *bolt.Tx) error {
		for _, b := range missing {
			if _, err := bt.CreateBucketIfNotExists([]byte(b.String())); err != nil {
				return fmt.Errorf("kv: make the bucket of %s: %w", b, err)
			}
		}
		return nil
	})
}
