package kv

import (
	"bytes"
	"sync"
)

// remembered is what a store need not read or decode again.
type remembered struct {
	decoded decoded
	written written
	holds   holds
}

// decoded keeps what the few records decode to that nearly every request reads: people, Tokens, Sessions, Model configs and a
// few values of the site. What is kept counts only while the stored bytes are the same, so that nobody has to say when it is out of date.
type decoded struct {
	mu sync.RWMutex // guards of
	of map[decodedKey]decodedRecord
}

type decodedKey struct {
	b   bucket
	key string
}

type decodedRecord struct {
	stored []byte
	// value is a *T that nobody changes.
	value any
}

// decodedKept bounds the records; beyond it, it begins anew.
const decodedKept = 1024

func keepsDecoded(b bucket) bool {
	return b == bUser || b == bToken || b == bSession || b == bModelConfig
}

// find gives what these bytes were decoded to, nil when that is not known.
func (d *decoded) find(b bucket, r row) any {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if kept := d.of[decodedKey{b, string(r.key)}]; bytes.Equal(kept.stored, r.value) {
		return kept.value
	}
	return nil
}

func (d *decoded) keep(b bucket, r row, value any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil || len(d.of) >= decodedKept {
		d.of = map[decodedKey]decodedRecord{}
	}
	d.of[decodedKey{b, string(r.key)}] = decodedRecord{stored: bytes.Clone(r.value), value: value}
}
