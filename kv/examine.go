package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Examination is what a look at a store found that nobody has open.
type Examination struct {
	Schema int
	// Clean: the last process closed it.
	Clean bool
	// Size is the database file's, in bytes.
	Size int64
	// Newest is when a Chat last changed, the zero time where there is none.
	Newest time.Time
	// Damages are those that a deep look found.
	Damages []Damage
}

// Examine looks at the store in dir and writes nothing; deep reads every record and every file. Hold the directory's DirLock. A structure
// that cannot be read is a *DamageError, a store that is not there os.ErrNotExist, and one of a newer schema a *NewerError.
func Examine(ctx context.Context, dir string, deep bool) (out Examination, err error) {
	path := filepath.Join(dir, fileName)
	info, err := os.Stat(path)
	if err != nil {
		return out, fmt.Errorf("kv: examine: %w", err)
	}
	out.Size = info.Size()
	// bbolt panics over pages that it cannot read.
	defer func() {
		if r := recover(); r != nil {
			err = &DamageError{Damage{Noun: "structure", Key: fileName, Reason: fmt.Sprint(r)}}
		}
	}()
	if err := checkLength(path); err != nil {
		return out, err
	}
	db, err := bolt.Open(path, fileMode, &bolt.Options{ReadOnly: true, Timeout: openWait, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return out, boltError(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	log := slog.New(slog.DiscardHandler)
	s := &Store{dir: dir, log: log, now: time.Now, db: db, files: newFiles(dir, time.Now), gauges: newGauges(nil), damages: newDamages(log)}
	m, err := s.readMeta()
	if out.Schema, out.Clean = m.Schema, m.Clean; err != nil {
		return out, err
	}
	err = s.view(func(tx *Tx) error {
		out.Newest, err = tx.NewestChange()
		return err
	})
	if err != nil || !deep {
		return out, err
	}
	out.Damages, err = s.finishCheck(ctx, db, checkStructure(db), true)
	return out, err
}
