package kv

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/engine/chat"
)

const (
	keepUnreferenced = 24 * time.Hour
	keepReceipts     = 24 * time.Hour
	keepSnapshots    = 24 * time.Hour
	keepReceiptCount = 10_000
	keepCheckpoints  = 14 * 24 * time.Hour
	// keepCheckpointBytes bounds the kept files; bytes that several Checkpoints share count for each.
	keepCheckpointBytes = 1 << 30
)

// Swept says what a sweep removed.
type Swept struct {
	Families, Files, Receipts, LoginCodes, Checkpoints, Uploads, Snapshots, Enrolments, Audits int
}

// Sweep removes what has had its time: hidden families, files that no record has named for 24 h, receipts that are older than 24 h and not
// among the newest 10,000 of their person, login codes and enrolments past their end, Checkpoints that are older than 14 days or, the oldest first,
// beyond 1 GiB, Files that no Chat has had for 24 h, Snapshots that nobody pins and that have not been the newest for 24 h, records of the audit after 365 days. It works in
// small commits; call it hourly.
func (s *Store) Sweep(ctx context.Context) (Swept, error) {
	var out Swept
	var err error
	if out.Families, err = s.PurgeFamilies(ctx); err != nil {
		return out, err
	}
	if out.LoginCodes, err = s.sweepLoginCodes(ctx); err != nil {
		return out, err
	}
	if out.Enrolments, err = s.sweepEnrolments(ctx); err != nil {
		return out, err
	}
	if out.Receipts, err = s.sweepReceipts(ctx); err != nil {
		return out, err
	}
	if out.Checkpoints, err = s.sweepCheckpoints(ctx, keepCheckpointBytes); err != nil {
		return out, err
	}
	if out.Uploads, err = s.sweepUploads(ctx); err != nil {
		return out, err
	}
	if out.Snapshots, err = s.sweepSnapshots(ctx); err != nil {
		return out, err
	}
	if out.Audits, err = s.sweepAudit(ctx); err != nil {
		return out, err
	}
	out.Files, err = s.sweepFiles(ctx)
	return out, err
}

func (s *Store) sweepLoginCodes(ctx context.Context) (int, error) {
	var keys [][]byte
	now := s.now()
	err := s.View(ctx, func(tx *Tx) error {
		return tx.t.scan(bLoginCode, nil, nil, func(r row) (bool, error) {
			c, err := decodeRow[chat.LoginCode](tx, bLoginCode, r)
			if err != nil {
				return false, err
			}
			if c.ExpiresAt.Before(now) {
				keys = append(keys, bytes.Clone(r.key))
			}
			return true, nil
		})
	})
	if err != nil {
		return 0, err
	}
	return s.deleteKeys(ctx, bLoginCode, keys)
}

// deleteKeys removes records in commits of at most purgeRecords.
func (s *Store) deleteKeys(ctx context.Context, b bucket, keys [][]byte) (int, error) {
	removed := 0
	for part := range slices.Chunk(keys, purgeRecords) {
		err := s.Update(ctx, func(tx *Tx) error {
			for _, key := range part {
				if err := tx.t.delete(b, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += len(part)
	}
	return removed, nil
}

type oldReceipt struct {
	key []byte
	at  time.Time
}

func (s *Store) sweepReceipts(ctx context.Context) (int, error) {
	byUser := map[id16][]oldReceipt{}
	err := s.View(ctx, func(tx *Tx) error {
		return tx.t.scan(bReceipt, nil, nil, func(r row) (bool, error) {
			v, err := decodeRow[chat.Receipt](tx, bReceipt, r)
			var d *DamageError
			switch {
			case errors.As(err, &d):
				tx.s.damages.add(d.Damage)
			case err != nil:
				return false, err
			default:
				user := toID(r.key[idSize:])
				byUser[user] = append(byUser[user], oldReceipt{key: bytes.Clone(r.key), at: v.At})
			}
			return true, nil
		})
	})
	if err != nil {
		return 0, err
	}
	limit := s.now().Add(-keepReceipts)
	var keys [][]byte
	for _, all := range byUser {
		if len(all) <= keepReceiptCount {
			continue
		}
		slices.SortFunc(all, func(a, b oldReceipt) int { return b.at.Compare(a.at) })
		for _, r := range all[keepReceiptCount:] {
			if r.at.Before(limit) {
				keys = append(keys, r.key)
			}
		}
	}
	return s.deleteKeys(ctx, bReceipt, keys)
}

func (s *Store) sweepCheckpoints(ctx context.Context, most int64) (int, error) {
	type kept struct {
		key  []byte
		at   time.Time
		size int64
	}
	var all []kept
	err := s.View(ctx, func(tx *Tx) error {
		return tx.t.scan(bCheckpoint, nil, nil, func(r row) (bool, error) {
			c, err := decodeRow[chat.Checkpoint](tx, bCheckpoint, r)
			var d *DamageError
			switch {
			case errors.As(err, &d):
				tx.s.damages.add(d.Damage)
			case err != nil:
				return false, err
			default:
				all = append(all, kept{bytes.Clone(r.key), c.At, c.Size})
			}
			return true, nil
		})
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b kept) int { return b.at.Compare(a.at) })
	limit := s.now().Add(-keepCheckpoints)
	var keys [][]byte
	total := int64(0)
	for _, c := range all {
		if total += c.size; total > most || c.at.Before(limit) {
			keys = append(keys, c.key)
		}
	}
	return s.deleteKeys(ctx, bCheckpoint, keys)
}

// sweepFiles looks at old files first, then at what is in use, so that a file named in between is either in use or fresh.
func (s *Store) sweepFiles(ctx context.Context) (int, error) {
	limit := s.now().Add(-keepUnreferenced)
	s.files.forget(limit)
	old, err := s.files.olderThan(limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	err = s.view(func(tx *Tx) error {
		return tx.referencedFiles(func(sum [hashSize]byte, _ bucket, _ []byte) { delete(old, hex.EncodeToString(sum[:])) })
	})
	if err != nil {
		return 0, err
	}
	removed := 0
	for name := range old {
		if ctx.Err() != nil {
			return removed, contextError(ctx)
		}
		gone, err := s.files.remove(name, limit)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (f *files) olderThan(limit time.Time) (map[string]bool, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.ModTime().Before(limit) {
			old[e.Name()] = true
		}
	}
	return old, nil
}

// forget drops the notes that have had their time.
func (f *files) forget(limit time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.fresh, func(_ string, at time.Time) bool { return at.Before(limit) })
}

// remove takes a file away unless it was put or named since limit. Whoever puts it meanwhile waits.
func (f *files) remove(name string, limit time.Time) (bool, error) {
	f.mu.Lock()
	if at, ok := f.fresh[name]; ok && !at.Before(limit) {
		f.mu.Unlock()
		return false, nil
	}
	delete(f.fresh, name)
	gone := make(chan struct{})
	f.dying[name] = gone
	f.mu.Unlock()
	err := os.Remove(filepath.Join(f.dir, name))
	f.mu.Lock()
	delete(f.dying, name)
	f.mu.Unlock()
	close(gone)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
