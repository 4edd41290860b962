package kv

import (
	"encoding/hex"

	"holdfast/engine/chat"
)

// A Message's files are noted beside it, so that the sweep and the check need not read Messages to know what is in use. Checkpoints and
// the few records that may be spilled are looked at themselves.

func (x *Tx) putFileRef(messageKey []byte, sum [hashSize]byte) error {
	key := append(append(make([]byte, 0, len(messageKey)+hashSize), messageKey...), sum[:]...)
	return x.t.putEmpty(bFileRef, key)
}

// sumOf reads a file id that is a SHA-256.
func sumOf(id string) ([hashSize]byte, bool) {
	var sum [hashSize]byte
	if !isSum(id) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(id))
	return sum, err == nil
}

// referencedFiles calls fn with each kept file that a record names, and the record.
func (x *Tx) referencedFiles(fn func(sum [hashSize]byte, b bucket, key []byte)) error {
	err := x.t.scan(bFileRef, nil, nil, func(r row) (bool, error) {
		if len(r.key) == idSize+8+hashSize {
			fn([hashSize]byte(r.key[idSize+8:]), bFileRef, r.key)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for b := bMeta; b <= lastBucket; b++ {
		if b == bMessage || b == bFileRef {
			continue
		}
		if err := x.filesOfBucket(b, fn); err != nil {
			return err
		}
	}
	return nil
}

// filesOfBucket gives the files of spilled records and of the nouns whose content names files. What cannot be read names nothing; the
// check reports it.
func (x *Tx) filesOfBucket(b bucket, fn func(sum [hashSize]byte, b bucket, key []byte)) error {
	return x.t.scan(b, nil, nil, func(r row) (bool, error) {
		n := recordHead + headSizes[b]
		if len(r.value) < n {
			return true, nil
		}
		if r.value[0]&spillBit != 0 {
			if ref, ok := parseFileRef(r.value[n:]); ok {
				fn(ref.Sum, b, r.key)
			}
		}
		if b != bCheckpoint && b != bQueue && b != bFile {
			return true, nil
		}
		for _, id := range x.namedFiles(b, r) {
			if sum, ok := sumOf(id); ok {
				fn(sum, b, r.key)
			}
		}
		return true, nil
	})
}

func (x *Tx) namedFiles(b bucket, r row) []string {
	if b == bCheckpoint {
		if c, err := decodeRow[chat.Checkpoint](x, b, r); err == nil {
			return []string{c.SHA256}
		}
		return nil
	}
	if b == bFile {
		if f, err := decodeRow[chat.File](x, b, r); err == nil && !f.Dropped {
			return []string{f.SHA256}
		}
		return nil
	}
	q, err := decodeRow[[]*chat.QueuedMessage](x, b, r)
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range *q {
		for _, p := range m.Content {
			out = append(out, p.FileID)
		}
	}
	return out
}
