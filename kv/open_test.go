package kv

import (
	"errors"
	"path/filepath"
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
