package kv

import (
	"bytes"
	"fmt"
	"slices"
)

// Tx is what a function of Update or View works with. Gets return (value, found, error); a missing record is found == false and no
// error. It is not safe for concurrent use and ends with its function.
type Tx struct {
	t *txn
	s *Store
}

func newTx(s *Store, sh *shared, spilled map[[hashSize]byte]bool) *Tx {
	return &Tx{t: &txn{shared: sh, files: s.files, spilled: spilled}, s: s}
}

// getNoun reads a noun that is all JSON.
func getNoun[T any](tx *Tx, b bucket, key []byte) (*T, bool, error) {
	value, err := tx.t.raw(b, key)
	if err != nil || value == nil {
		return nil, false, err
	}
	v, err := decodeRow[T](tx, b, row{key: key, value: value})
	return v, err == nil, err
}

// getByID is getNoun for a noun whose key is its id. An id that no key can hold names nothing.
func getByID[T any, ID ~string](tx *Tx, b bucket, id ID) (*T, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, nil
	}
	return getNoun[T](tx, b, key)
}

// listNoun reads all records under a prefix in key order.
func listNoun[T any](tx *Tx, b bucket, prefix []byte) ([]*T, error) {
	var out []*T
	err := tx.t.scan(b, prefix, nil, func(r row) (bool, error) {
		v, err := decodeRow[T](tx, b, r)
		out = append(out, v)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// listWhere reads the records of a bucket that match accepts.
func listWhere[T any](tx *Tx, b bucket, match func(*T) bool) ([]*T, error) {
	all, err := listNoun[T](tx, b, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v *T) bool { return !match(v) }), nil
}

// decodeRow decodes a record. What a View reads may share its slices, maps and pointers with what others read; an Update, which may change
// them, has all to itself.
func decodeRow[T any](tx *Tx, b bucket, r row) (*T, error) {
	shared := keepsDecoded(b) && !tx.t.shared.bt.Writable()
	if shared {
		if kept, ok := tx.s.decoded.find(b, r).(*T); ok {
			own := *kept
			return &own, nil
		}
	}
	rec, err := decodeRecord(b, r.key, r.value)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := tx.t.decode(b, r.key, rec, v); err != nil {
		return nil, err
	}
	if shared && !rec.spilled() {
		own := *v
		tx.s.decoded.keep(b, r, &own)
	}
	return v, nil
}

// putNoun writes a noun that may have been written by a newer version: top-level fields that this one does not know are kept.
func putNoun[T any](tx *Tx, b bucket, key []byte, v *T, known map[string]bool) error {
	if v == nil {
		return fmt.Errorf("kv: put of a nil %s", b)
	}
	body, err := toJSON(v)
	if err != nil {
		return err
	}
	body, err = tx.keepUnknown(b, key, body, known)
	if err != nil {
		return err
	}
	return tx.t.put(b, key, nil, body)
}

// deleteNoun removes a record and says whether there was one.
func deleteNoun(tx *Tx, b bucket, key []byte) (bool, error) {
	old, err := tx.t.raw(b, key)
	if err != nil || old == nil {
		return false, err
	}
	return true, tx.t.delete(b, key)
}

// deleteWhere removes the first record of a bucket that match accepts.
func deleteWhere[T any](tx *Tx, b bucket, match func(*T) bool) (bool, error) {
	var key []byte
	err := tx.t.scan(b, nil, nil, func(r row) (bool, error) {
		v, err := decodeRow[T](tx, b, r)
		if err != nil {
			return false, err
		}
		if match(v) {
			key = bytes.Clone(r.key)
		}
		return key == nil, nil
	})
	if err != nil || key == nil {
		return false, err
	}
	return true, tx.t.delete(b, key)
}
