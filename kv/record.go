package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"sync"
)

// A record is version 1 | CRC-32C 4 | head | body. The CRC covers version, bucket, key, head and body. The body is JSON; with the spill
// bit in the version byte it is a fileRef and the JSON stands in files/.
const (
	recordVersion = 1
	spillBit      = 0x80
	recordHead    = 5
	// spillAbove is the size from which on a body goes to files/.
	spillAbove  = 64 << 10
	fileRefSize = hashSize + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileRef is the body of a spilled record: SHA-256, then the size.
type fileRef struct {
	Sum  [hashSize]byte
	Size int64
}

func (r fileRef) hex() string { return hex.EncodeToString(r.Sum[:]) }

func (r fileRef) bytes() []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, fileRefSize), r.Sum[:]...), uint64(r.Size))
}

func parseFileRef(b []byte) (fileRef, bool) {
	if len(b) != fileRefSize {
		return fileRef{}, false
	}
	r := fileRef{Sum: [hashSize]byte(b[:hashSize]), Size: int64(binary.BigEndian.Uint64(b[hashSize:]))}
	return r, r.Size > 0
}

// spillError asks Update to write a body to files/ and to run the function again; no file is written inside a transaction.
type spillError struct {
	// place is the bucket and key of the record.
	place string
	body  []byte
}

func spillAt(b bucket, key, body []byte) *spillError {
	return &spillError{place: string(rune(b)) + string(key), body: body}
}

func (e *spillError) Error() string {
	return fmt.Sprintf("kv: a value of %d bytes must go to a file first", len(e.body))
}

func checksum(version byte, b bucket, key, head, body []byte) uint32 {
	front := [2]byte{version, byte(b)}
	sum := crc32.Update(0, castagnoli, front[:])
	sum = crc32.Update(sum, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, head)
	return crc32.Update(sum, castagnoli, body)
}

func encodeRecord(version byte, b bucket, key, head, body []byte) []byte {
	out := make([]byte, recordHead, recordHead+len(head)+len(body))
	out[0] = version
	binary.BigEndian.PutUint32(out[1:], checksum(version, b, key, head, body))
	out = append(out, head...)
	return append(out, body...)
}

// record is a stored value taken apart; its slices are valid inside the transaction only.
type record struct {
	version byte
	head    []byte
	// body is as stored: JSON, or a fileRef when spilled.
	body []byte
}

func (r record) spilled() bool { return r.version&spillBit != 0 }

// decodeRecord checks version, size and CRC; any failure is a *DamageError.
func decodeRecord(b bucket, key, value []byte) (record, error) {
	n := headSizes[b]
	if len(value) < recordHead+n {
		return record{}, &DamageError{damageAt(b, key, "the record is cut short")}
	}
	r := record{version: value[0], head: value[recordHead : recordHead+n], body: value[recordHead+n:]}
	if r.version&^spillBit != recordVersion {
		return record{}, &DamageError{damageAt(b, key, fmt.Sprintf("unknown record version %d", r.version))}
	}
	if binary.BigEndian.Uint32(value[1:]) != checksum(r.version, b, key, r.head, r.body) {
		return record{}, &DamageError{damageAt(b, key, "the checksum does not fit")}
	}
	if r.spilled() {
		if _, ok := parseFileRef(r.body); !ok {
			return record{}, &DamageError{damageAt(b, key, "the file reference is not readable")}
		}
	}
	return r, nil
}

// linkHash chains a Message or mark to the one before it.
func linkHash(prev []byte, b bucket, key []byte, version byte, body []byte) [hashSize]byte {
	h := sha256.New()
	if len(prev) == 0 {
		prev = make([]byte, hashSize)
	}
	h.Write(prev)
	h.Write([]byte{byte(b), version})
	h.Write(key)
	h.Write(body)
	var out [hashSize]byte
	h.Sum(out[:0])
	return out
}

// toJSON encodes without escaping <, > and &, so that raw JSON in records keeps its bytes.
func toJSON(v any) ([]byte, error) {
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	body, err := w.encode(v)
	return bytes.Clone(body), err
}

// encode is toJSON; what it gives is valid until release.
func (w *jsonWriter) encode(v any) ([]byte, error) {
	if err := w.enc.Encode(v); err != nil {
		return nil, fmt.Errorf("kv: encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(w.buf.Bytes(), []byte("\n")), nil
}

// jsonWriter is a buffer that grows once for many records.
type jsonWriter struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var jsonWriters = sync.Pool{New: func() any {
	w := new(jsonWriter)
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}}

// release gives the buffer back unless a large record has blown it up.
func (w *jsonWriter) release() {
	if w.buf.Cap() <= spillAbove {
		w.buf.Reset()
		jsonWriters.Put(w)
	}
}
