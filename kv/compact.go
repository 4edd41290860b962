package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

const (
	// compactName is the copy under way, in tmp/, which every start empties.
	compactName = "compact.db"
	// compactCommit is how much of the copy one commit holds, in bytes.
	compactCommit = 16 << 20
	// compactAbove is the size from which on a start looks whether the file is worth compacting.
	compactAbove = 256 << 20
)

// Compaction says what one came to, in bytes of the database file.
type Compaction struct{ Before, After int64 }

// Compact writes the database of dir anew without its free pages and puts the copy in its place at once. The copy is synced and compared
// with the original, record by record, before; a kill at any instant leaves the one or the other, whole. Hold the directory's DirLock.
// A broken structure is a *DamageError, a newer store a *NewerError, a disk without room for the copy ErrNoSpace; nothing is changed then.
func Compact(ctx context.Context, dir string) (Compaction, error) { return compact(ctx, dir, faults{}) }

func compact(ctx context.Context, dir string, f faults) (out Compaction, err error) {
	path, tmp := filepath.Join(dir, fileName), filepath.Join(dir, tmpDir, compactName)
	// bbolt panics over pages that it cannot read.
	defer func() {
		if r := recover(); r != nil {
			err = &DamageError{Damage{Noun: "structure", Key: fileName, Reason: fmt.Sprint(r)}}
		}
		if err != nil {
			err = readOnlyError(err)
		}
	}()
	if out.Before, err = fileSize(path); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(tmp))
		}
	}()
	if err := copyCompact(ctx, dir, tmp, f); err != nil {
		return out, fmt.Errorf("kv: compact: %w", err)
	}
	if out.After, err = fileSize(tmp); err != nil {
		return out, err
	}
	// Whoever asked to stop has not got a new file put in place behind their back.
	if ctx.Err() != nil {
		return out, contextError(ctx)
	}
	if err := f.hit("compact rename"); err != nil {
		return out, err
	}
	if err := os.Rename(tmp, path); err != nil {
		return out, fmt.Errorf("kv: compact: %w", err)
	}
	if err := f.hit("compact sync dir"); err != nil {
		return out, err
	}
	return out, syncDir(dir)
}

// openToCompact opens the database for reading, and refuses one that this version does not know or whose structure is broken.
func openToCompact(dir string) (*bolt.DB, error) {
	path := filepath.Join(dir, fileName)
	if err := checkLength(path); err != nil {
		return nil, err
	}
	db, err := bolt.Open(path, fileMode, &bolt.Options{ReadOnly: true, Timeout: openWait, FreelistType: bolt.FreelistMapType, PreLoadFreelist: true})
	if err != nil {
		return nil, boltError(path, err)
	}
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler), now: time.Now, db: db, gauges: newGauges(nil)}
	if _, err := s.readMeta(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if broken := checkStructure(db); len(broken) > 0 {
		return nil, errors.Join(&DamageError{broken[0]}, db.Close())
	}
	return db, nil
}

// roomToCompact refuses what does not fit beside the original.
func roomToCompact(db *bolt.DB, dir string) error {
	_, free, err := fileSystem(dir)
	if err != nil {
		return err
	}
	all, unused, err := pageBytes(db)
	if err != nil {
		return err
	}
	if need := all - unused + compactCommit; free < need {
		return fmt.Errorf("%w: a compact copy of %d bytes does not fit beside the store, %d bytes are free in %s", ErrNoSpace, need, free, dir)
	}
	return nil
}

// pageBytes says how much the pages of a database hold, and how much of that is free. The file may be longer.
func pageBytes(db *bolt.DB) (all, free int64, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		s := db.Stats()
		all, free = tx.Size(), int64(s.FreePageN+s.PendingPageN)*int64(db.Info().PageSize)
		return nil
	})
	return all, free, err
}

// copyCompact writes every record into a new database, synced, and reads both to compare them.
func copyCompact(ctx context.Context, dir, path string, f faults) (err error) {
	source, err := openToCompact(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := errors.Join(roomToCompact(source, dir), os.MkdirAll(filepath.Dir(path), dirMode), removeIfThere(path), f.hit("compact begin")); err != nil {
		return err
	}
	db, err := bolt.Open(path, fileMode, &bolt.Options{Timeout: openWait, FreelistType: bolt.FreelistMapType, PageSize: source.Info().PageSize})
	if err != nil {
		return err
	}
	if err := errors.Join(bolt.Compact(db, source, compactCommit), f.hit("compact copied"), db.Close()); err != nil {
		return err
	}
	copied, err := bolt.Open(path, fileMode, &bolt.Options{ReadOnly: true, Timeout: openWait, FreelistType: bolt.FreelistMapType, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	err = errors.Join(f.hit("compact compare"), sameRecords(ctx, source, copied))
	if broken := checkStructure(copied); err == nil && len(broken) > 0 {
		err = fmt.Errorf("the copy is broken: %s", broken[0])
	}
	return errors.Join(err, copied.Close())
}

// sameRecords fails unless both databases hold the same keys and values in the same buckets.
func sameRecords(ctx context.Context, a, b *bolt.DB) error {
	left, err := fingerprints(ctx, a)
	if err != nil {
		return err
	}
	right, err := fingerprints(ctx, b)
	if err != nil {
		return err
	}
	if len(left) != len(right) {
		return fmt.Errorf("the copy has %d buckets, the store %d", len(right), len(left))
	}
	for name, l := range left {
		if r := right[name]; l != r {
			return fmt.Errorf("the bucket %s of the copy has %d records and is not that of the store, which has %d", name, r.records, l.records)
		}
	}
	return nil
}

// fingerprint is what a bucket holds.
type fingerprint struct {
	records int
	sum     [sha256.Size]byte
}

func fingerprints(ctx context.Context, db *bolt.DB) (map[string]fingerprint, error) {
	all := map[string]fingerprint{}
	err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, bk *bolt.Bucket) error {
			sum, n := sha256.New(), 0
			err := bk.ForEach(func(k, v []byte) error {
				if n++; n%4096 == 0 && ctx.Err() != nil {
					return contextError(ctx)
				}
				var lengths [16]byte
				binary.BigEndian.PutUint64(lengths[:8], uint64(len(k)))
				binary.BigEndian.PutUint64(lengths[8:], uint64(len(v)))
				// A hash takes whatever it is given.
				_, _ = sum.Write(bytes.Join([][]byte{lengths[:], k, v}, nil))
				return nil
			})
			f := fingerprint{records: n}
			sum.Sum(f.sum[:0])
			all[string(name)] = f
			return err
		})
	})
	return all, err
}

// compactAtStart compacts a store that was closed cleanly, is large and has more free pages than used ones. Whatever comes in between, the
// store is as good as before, so that the start goes on.
func compactAtStart(ctx context.Context, dir string, o Options, f faults) {
	above := o.CompactAbove
	if above == 0 {
		above = compactAbove
	}
	size, err := fileSize(filepath.Join(dir, fileName))
	if err != nil || size <= above || !worthCompacting(dir) {
		return
	}
	done, err := compact(ctx, dir, f)
	if err != nil {
		o.Log.Warn("the store is over half free and was not compacted", chat.LogBytes, size, chat.LogError, err)
		return
	}
	o.Log.Info("the store was compacted", chat.LogBytes, done.After)
}

// worthCompacting looks at a store without changing it; one that cannot be read, or was not closed cleanly, is left to the start.
func worthCompacting(dir string) (worth bool) {
	// bbolt panics over pages that it cannot read.
	defer func() {
		if recover() != nil {
			worth = false
		}
	}()
	db, err := bolt.Open(filepath.Join(dir, fileName), fileMode, &bolt.Options{ReadOnly: true, Timeout: openWait, FreelistType: bolt.FreelistMapType, PreLoadFreelist: true})
	if err != nil {
		return false
	}
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler), now: time.Now, db: db, gauges: newGauges(nil)}
	m, err := s.readMeta()
	if err == nil && m.Clean {
		all, free, err := pageBytes(db)
		worth = err == nil && free > all/2
	}
	return db.Close() == nil && worth
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("kv: %w", err)
	}
	return info.Size(), nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
