package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"holdfast/engine/chat"
)

// sweepSnapshots removes the Snapshots that nobody pins and that have not been the newest for a day, and the texts that no other one of
// their Workspace names.
func (s *Store) sweepSnapshots(ctx context.Context) (int, error) {
	limit := s.now().Add(-keepSnapshots)
	var workspaces []id16
	err := s.View(ctx, func(tx *Tx) (err error) {
		workspaces, err = tx.oldSnapshots(limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, w := range workspaces {
		n := 0
		err := s.Update(ctx, func(tx *Tx) (err error) {
			n, err = tx.dropSnapshots(w, limit)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// keptSnapshots are the keys of the Snapshots that somebody pins or that are the newest.
func (x *Tx) keptSnapshots() (map[string]bool, error) {
	kept := map[string]bool{}
	// Without a pin, what it keeps would go.
	lost := func(d *DamageError) error { return d }
	if err := x.pins(lost, func(_ id16, head []byte) { kept[string(head)] = true }); err != nil {
		return nil, err
	}
	err := x.t.scan(bNewest, nil, nil, func(r row) (bool, error) {
		n, err := decodeRow[chat.NewestSnapshot](x, bNewest, r)
		if err == nil {
			kept[string(snapshotKey(r.key, n.Address))] = true
		}
		return true, err
	})
	return kept, err
}

// oldSnapshots gives the Workspaces that have some to remove.
func (x *Tx) oldSnapshots(limit time.Time) ([]id16, error) {
	kept, err := x.keptSnapshots()
	if err != nil {
		return nil, err
	}
	var out []id16
	err = x.t.scan(bSnapshot, nil, nil, func(r row) (bool, error) {
		if kept[string(r.key)] || len(out) > 0 && out[len(out)-1] == toID(r.key) {
			return true, nil
		}
		stored, err := decodeRow[storedSnapshot](x, bSnapshot, r)
		if err == nil && stored.At.Before(limit) {
			out = append(out, toID(r.key))
		}
		return true, err
	})
	return out, err
}

func (x *Tx) dropSnapshots(w id16, limit time.Time) (int, error) {
	kept, err := x.keptSnapshots()
	if err != nil {
		return 0, err
	}
	var old [][]byte
	named := map[chat.Hash]bool{}
	err = x.t.scan(bSnapshot, w[:], nil, func(r row) (bool, error) {
		stored, err := decodeRow[storedSnapshot](x, bSnapshot, r)
		if err != nil {
			return false, err
		}
		if !kept[string(r.key)] && stored.At.Before(limit) {
			old = append(old, bytes.Clone(r.key))
			return true, nil
		}
		var content chat.Snapshot
		err = json.Unmarshal(stored.Content, &content)
		for _, res := range content.Resources {
			named[res.ContentHash] = true
		}
		return true, err
	})
	if err != nil {
		return 0, err
	}
	for _, key := range old {
		if err := x.t.delete(bSnapshot, key); err != nil {
			return 0, err
		}
	}
	return len(old), x.dropTexts(w, named)
}

func (x *Tx) dropTexts(w id16, named map[chat.Hash]bool) error {
	var keys [][]byte
	err := x.t.scan(bContextText, w[:], nil, func(r row) (bool, error) {
		if !named[chat.Hash(r.key[idSize:])] {
			keys = append(keys, bytes.Clone(r.key))
		}
		return true, nil
	})
	for i := 0; i < len(keys) && err == nil; i++ {
		err = x.t.delete(bContextText, keys[i])
	}
	return err
}
