package kv

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// txn is one function's view of a transaction: get, put, delete, scan in byte order, next id. The noun files use nothing else, so that
// another engine can stand in for bbolt. The functions of a group share one shared.
type txn struct {
	shared *shared
	files  *files
	// spilled names the bodies that Update has written to files/ for this function.
	spilled map[[hashSize]byte]bool
	// inline: large bodies stay in the database.
	inline bool
	// needSpill is set once a put met a body that is not in files/ yet; the function then counts as failed, whatever it returns.
	needSpill *spillError
	writes    int
	done      bool
}

// shared is the bbolt side of a transaction.
type shared struct {
	bt      *bolt.Tx
	buckets [lastBucket + 1]bucketView
	// bytes counts what was put, for the bound of a group.
	bytes int
	// nextID is the counter as this transaction has it; 0 is not loaded yet.
	nextID      int64
	nextIDMoved bool
	// undo, when not nil, collects what the running function replaced.
	undo *undoLog
	// broken: bbolt itself panicked while it changed the tree; the transaction must not be committed.
	broken bool
}

// bucketView is a bucket that was opened, with the cursor that all single reads of it share: one of their own would allocate its path each time.
type bucketView struct {
	*bolt.Bucket
	cursor *bolt.Cursor
}

// find is Bucket.Get through the kept cursor.
func (v *bucketView) find(key []byte) []byte {
	if v.cursor == nil {
		v.cursor = v.Cursor()
	}
	if k, value := v.cursor.Seek(key); bytes.Equal(k, key) {
		return value
	}
	return nil
}

type undoLog struct {
	entries []undoEntry
	nextID  int64
}

type undoEntry struct {
	b     bucket
	key   []byte
	value []byte // nil when there was none
}

func newShared(bt *bolt.Tx) *shared { return &shared{bt: bt} }

// viewed are the shareds of Views that have ended. A Tx does not look at its own once it is done.
var viewed = sync.Pool{New: func() any { return new(shared) }}

func (s *shared) release() {
	*s = shared{}
	viewed.Put(s)
}

func (s *shared) bucket(b bucket) (*bucketView, error) {
	v := &s.buckets[b]
	if v.Bucket != nil {
		return v, nil
	}
	found := s.bt.Bucket([]byte(b.String()))
	if found == nil {
		return nil, &DamageError{Damage{Noun: b.String(), Reason: "the bucket is missing"}}
	}
	v.Bucket = found
	return v, nil
}

// rescue turns a panic of bbolt over broken pages into a *DamageError.
func rescue(b bucket, key []byte, err *error) {
	if r := recover(); r != nil {
		*err = &DamageError{damageAt(b, key, fmt.Sprintf("the structure is broken: %v", r))}
	}
}

// raw gives the stored bytes of a record, nil when there is none.
func (t *txn) raw(b bucket, key []byte) (value []byte, err error) {
	if t.done {
		return nil, ErrTxDone
	}
	defer rescue(b, key, &err)
	bk, err := t.shared.bucket(b)
	if err != nil {
		return nil, err
	}
	return bk.find(key), nil
}

// get gives a checked record; found is false when there is none.
func (t *txn) get(b bucket, key []byte) (r record, found bool, err error) {
	value, err := t.raw(b, key)
	if err != nil || value == nil {
		return record{}, false, err
	}
	r, err = decodeRecord(b, key, value)
	return r, err == nil, err
}

// getJSON decodes a record's body into v.
func (t *txn) getJSON(b bucket, key []byte, v any) (bool, error) {
	r, found, err := t.get(b, key)
	if err != nil || !found {
		return false, err
	}
	return true, t.decode(b, key, r, v)
}

// decode reads a record's JSON, from its file when it was spilled.
func (t *txn) decode(b bucket, key []byte, r record, v any) error {
	body, err := t.body(b, key, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return &DamageError{damageAt(b, key, "the content is not readable: "+err.Error())}
	}
	return nil
}

// body gives a record's JSON. A spilled one is read inside the transaction: it is bounded, and readers must not see half a value.
func (t *txn) body(b bucket, key []byte, r record) ([]byte, error) {
	if !r.spilled() {
		return r.body, nil
	}
	ref, _ := parseFileRef(r.body)
	body, err := t.files.read(ref)
	if err != nil {
		return nil, &DamageError{damageAt(b, key, err.Error())}
	}
	return body, nil
}

// put writes a record. A body above spillAbove must be in files/ already, else the function is run again once it is.
func (t *txn) put(b bucket, key, head, body []byte) error {
	if len(body) <= spillAbove || t.inline {
		return t.putRaw(b, key, encodeRecord(recordVersion, b, key, head, body))
	}
	ref := refOf(body)
	if !t.spilled[ref.Sum] {
		t.needSpill = spillAt(b, key, bytes.Clone(body))
		return t.needSpill
	}
	return t.putRef(b, key, head, ref)
}

// putKept is put, and gives the record as it is stored; its bytes stay as they are. Of a spilled one it gives the zero record.
func (t *txn) putKept(b bucket, key, head, body []byte) (record, error) {
	if len(body) > spillAbove {
		return record{}, t.put(b, key, head, body)
	}
	value := encodeRecord(recordVersion, b, key, head, body)
	split := recordHead + len(head)
	return record{version: recordVersion, head: value[recordHead:split], body: value[split:]}, t.putRaw(b, key, value)
}

// putRef writes a record whose body is in files/.
func (t *txn) putRef(b bucket, key, head []byte, ref fileRef) error {
	return t.putRaw(b, key, encodeRecord(recordVersion|spillBit, b, key, head, ref.bytes()))
}

func (t *txn) putJSON(b bucket, key []byte, v any) error {
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	body, err := w.encode(v)
	if err != nil {
		return err
	}
	return t.put(b, key, nil, body)
}

// putEmpty writes a record that is all key.
func (t *txn) putEmpty(b bucket, key []byte) error { return t.put(b, key, nil, nil) }

func (t *txn) putRaw(b bucket, key, value []byte) (err error) {
	bk, err := t.writable(b)
	if err != nil {
		return err
	}
	defer t.rescueWrite(b, key, &err)
	t.remember(bk, b, key)
	t.writes++
	t.shared.bytes += len(key) + len(value)
	if err := bk.Put(key, value); err != nil {
		return fmt.Errorf("kv: put %s: %w", b, err)
	}
	return nil
}

// delete removes a record; one that is not there is no error and no write.
func (t *txn) delete(b bucket, key []byte) (err error) {
	bk, err := t.writable(b)
	if err != nil {
		return err
	}
	defer t.rescueWrite(b, key, &err)
	if bk.find(key) == nil {
		return nil
	}
	t.remember(bk, b, key)
	t.writes++
	if err := bk.Delete(key); err != nil {
		return fmt.Errorf("kv: delete %s: %w", b, err)
	}
	return nil
}

func (t *txn) writable(b bucket) (*bucketView, error) {
	if t.done {
		return nil, ErrTxDone
	}
	if !t.shared.bt.Writable() {
		return nil, ErrNotWritable
	}
	return t.shared.bucket(b)
}

func (t *txn) rescueWrite(b bucket, key []byte, err *error) {
	if r := recover(); r != nil {
		t.shared.broken = true
		*err = &DamageError{damageAt(b, key, fmt.Sprintf("the structure is broken: %v", r))}
	}
}

func (t *txn) remember(bk *bucketView, b bucket, key []byte) {
	log := t.shared.undo
	if log == nil {
		return
	}
	e := undoEntry{b: b, key: bytes.Clone(key)}
	if old := bk.find(key); old != nil {
		e.value = bytes.Clone(old)
	}
	log.entries = append(log.entries, e)
}

// beginUndo makes what follows revocable by rollback; commit order within the transaction is unchanged.
func (s *shared) beginUndo() { s.undo = &undoLog{nextID: s.nextID} }

// rollback takes back what was written since beginUndo.
func (s *shared) rollback() (err error) {
	log := s.undo
	s.undo = nil
	for i := len(log.entries) - 1; i >= 0; i-- {
		if err := s.restore(log.entries[i]); err != nil {
			s.broken = true
			return err
		}
	}
	s.nextID = log.nextID
	return nil
}

func (s *shared) restore(e undoEntry) (err error) {
	defer rescue(e.b, e.key, &err)
	bk, err := s.bucket(e.b)
	if err != nil {
		return err
	}
	if e.value == nil {
		return bk.Delete(e.key)
	}
	return bk.Put(e.key, e.value)
}

// row is one record of a scan; key and value are valid inside the transaction only.
type row struct{ key, value []byte }

// scan calls fn for each stored record whose key begins with prefix, in byte order from the first key that is not below from (nil: all).
// It ends when fn says so or fails. fn gets unchecked bytes and must not write to the bucket.
func (t *txn) scan(b bucket, prefix, from []byte, fn func(r row) (more bool, err error)) error {
	if len(from) == 0 || bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	return t.walk(b, prefix, func(c *bolt.Cursor) ([]byte, []byte) { return c.Seek(from) }, (*bolt.Cursor).Next, fn)
}

// scanDown is scan from the last key below before (nil: the end) downwards.
func (t *txn) scanDown(b bucket, prefix, before []byte, fn func(r row) (more bool, err error)) error {
	if len(before) == 0 {
		before = prefixEnd(prefix)
	}
	first := func(c *bolt.Cursor) ([]byte, []byte) {
		if before == nil {
			return c.Last()
		}
		if k, _ := c.Seek(before); k == nil {
			return c.Last()
		}
		return c.Prev()
	}
	return t.walk(b, prefix, first, (*bolt.Cursor).Prev, fn)
}

func (t *txn) walk(b bucket, prefix []byte, first, next func(*bolt.Cursor) ([]byte, []byte), fn func(r row) (bool, error)) error {
	if t.done {
		return ErrTxDone
	}
	bk, err := t.shared.bucket(b)
	if err != nil {
		return err
	}
	c := bk.Cursor()
	step := func(move func(*bolt.Cursor) ([]byte, []byte)) (r row, err error) {
		defer rescue(b, prefix, &err)
		r.key, r.value = move(c)
		return r, nil
	}
	for r, err := step(first); ; r, err = step(next) {
		if err != nil {
			return err
		}
		if r.key == nil || !bytes.HasPrefix(r.key, prefix) {
			return nil
		}
		more, err := fn(r)
		if err != nil || !more {
			return err
		}
	}
}

// prefixEnd is the first key above all keys with the prefix, nil when there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// deletePrefix removes up to limit records whose keys begin with prefix and lie not below from, and says how many.
func (t *txn) deletePrefix(b bucket, prefix, from []byte, limit int) (int, error) {
	var keys [][]byte
	err := t.scan(b, prefix, from, func(r row) (bool, error) {
		if len(keys) == limit {
			return false, nil
		}
		keys = append(keys, bytes.Clone(r.key))
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if err := t.delete(b, k); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

var nextIDKey = []byte("next_id")

// takeID gives the next number of the one sequence of Messages, queued Messages and usage entries. The counter is stored once per group.
func (t *txn) takeID() (int64, error) {
	if t.done {
		return 0, ErrTxDone
	}
	s := t.shared
	if !s.bt.Writable() {
		return 0, ErrNotWritable
	}
	if s.nextID == 0 {
		if _, err := t.getJSON(bMeta, nextIDKey, &s.nextID); err != nil {
			return 0, err
		}
		if s.nextID <= 0 {
			return 0, &DamageError{damageAt(bMeta, nextIDKey, "the counter of ids is not above zero")}
		}
	}
	id := s.nextID
	s.nextID++
	s.nextIDMoved = true
	return id, nil
}

// finish stores what the group keeps in memory; called once before the commit.
func (t *txn) finish() error {
	if !t.shared.nextIDMoved || t.shared.nextID == 0 {
		return nil
	}
	return t.putJSON(bMeta, nextIDKey, t.shared.nextID)
}

func sequenceKey(prefix []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(n))
}
