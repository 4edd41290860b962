package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

const (
	// copyAtStart is the size from which on the check after an unclean stop runs on a copy while the store already serves.
	copyAtStart = 2 << 30
	// copyOnline is the size from which on a check of the running store works on a copy: bbolt's own check must hold up writers.
	copyOnline = 256 << 20
	// maxQueue is the longest queue (engine.md 1).
	maxQueue = 20
)

// Check looks at everything: bbolt's structure, then every record's checksum and content, chains, indexes in both directions, counts,
// family trees, queues, and files against references. deep also reads every file in files/. It gives what it found; an error is that it
// could not look. Writers wait during the structural part; a large store is copied first, and the copy is checked.
func (s *Store) Check(ctx context.Context, deep bool) ([]Damage, error) {
	if s.size() > copyOnline {
		return s.checkCopy(ctx, deep)
	}
	var found []Damage
	err := s.committer.submit(ctx, &call{alone: func() error {
		found = checkStructure(s.db)
		return nil
	}})
	if errors.Is(err, ErrReadOnly) {
		// Nobody writes any more.
		found, err = checkStructure(s.db), nil
	}
	if err != nil {
		return nil, err
	}
	return s.finishCheck(ctx, s.db, found, deep)
}

func (s *Store) finishCheck(ctx context.Context, db *bolt.DB, found []Damage, deep bool) ([]Damage, error) {
	if len(found) == 0 {
		records, err := s.checkRecords(ctx, db, deep)
		if err != nil {
			return nil, err
		}
		found = records
	}
	for _, d := range found {
		s.damages.add(d)
	}
	return found, nil
}

// checkAtStart runs before the committer does. A broken structure stops the start; damaged records do not.
func (s *Store) checkAtStart(ctx, background context.Context) error {
	if s.size() > copyAtStart {
		s.log.Warn("the store was not closed cleanly; it is checked while it serves", chat.LogBytes, s.size())
		s.end.checks.Go(func() {
			if _, err := s.checkCopy(background, false); err != nil && background.Err() == nil {
				s.log.Error("check after an unclean stop", chat.LogError, err)
			}
		})
		return nil
	}
	s.log.Info("the store was not closed cleanly; checking it", chat.LogBytes, s.size())
	structure := checkStructure(s.db)
	if len(structure) > 0 {
		return &DamageError{structure[0]}
	}
	_, err := s.finishCheck(ctx, s.db, nil, false)
	return err
}

// checkCopy checks a copy made in one snapshot.
func (s *Store) checkCopy(ctx context.Context, deep bool) (found []Damage, err error) {
	dir, err := os.MkdirTemp(filepath.Join(s.dir, tmpDir), "check-")
	if err != nil {
		return nil, readOnlyError(fmt.Errorf("kv: copy for a check: %w", err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, fileName)
	if err := s.copyTo(ctx, path); err != nil {
		return nil, readOnlyError(fmt.Errorf("kv: copy for a check: %w", err))
	}
	db, err := bolt.Open(path, fileMode, &bolt.Options{ReadOnly: true, Timeout: openWait, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("kv: open the copy for a check: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return s.finishCheck(ctx, db, checkStructure(db), deep)
}

// copyTo writes one snapshot of the database to a new file.
func (s *Store) copyTo(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	err = s.view(func(tx *Tx) error {
		_, err := tx.t.shared.bt.WriteTo(&contextWriter{ctx: ctx, f: f})
		if ctx.Err() != nil {
			// bbolt keeps the text of the writer's error only.
			return contextError(ctx)
		}
		return err
	})
	return errors.Join(err, f.Close())
}

type contextWriter struct {
	ctx context.Context
	f   *os.File
}

func (c *contextWriter) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, contextError(c.ctx)
	}
	return c.f.Write(p)
}

func (s *Store) size() int64 {
	// A file that cannot be looked at any more shows in the next read or write; as a figure it is 0.
	info, err := os.Stat(filepath.Join(s.dir, fileName))
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkStructure is bbolt's own check. Nobody may write meanwhile.
func checkStructure(db *bolt.DB) []Damage {
	var found []Damage
	err := db.View(func(bt *bolt.Tx) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		for err := range bt.Check() {
			found = append(found, Damage{Noun: "structure", Key: fileName, Reason: err.Error()})
		}
		return nil
	})
	if err != nil {
		found = append(found, Damage{Noun: "structure", Key: fileName, Reason: err.Error()})
	}
	return found
}

// CheckAudit follows the chain of the audit alone, and remembers what it finds.
func (s *Store) CheckAudit(ctx context.Context) ([]Damage, error) {
	c := &checker{ctx: ctx, sums: map[[hashSize]byte]Damage{}, sizes: map[[hashSize]byte]int64{}}
	err := s.view(func(tx *Tx) error {
		c.tx = tx
		return c.audits()
	})
	for _, d := range c.found {
		s.damages.add(d)
	}
	return c.found, err
}

// checkRecords checks what stands in the structure, in one snapshot.
func (s *Store) checkRecords(ctx context.Context, db *bolt.DB, deep bool) ([]Damage, error) {
	bt, err := db.Begin(false)
	if err != nil {
		return nil, fmt.Errorf("kv: begin: %w", err)
	}
	tx := newTx(s, newShared(bt), nil)
	defer func() {
		tx.t.done = true
		// The only error is that it is closed, and nobody else can close it.
		_ = bt.Rollback()
	}()
	c := &checker{ctx: ctx, tx: tx, deep: deep, chats: map[id16]*checkedChat{}, refs: map[string]bool{}, sums: map[[hashSize]byte]Damage{},
		sizes: map[[hashSize]byte]int64{}, ids: map[string]bool{}}
	err = c.run()
	return c.found, err
}

// checker holds what one check has seen.
type checker struct {
	ctx   context.Context
	tx    *Tx
	deep  bool
	found []Damage
	chats map[id16]*checkedChat
	// refs are the keys that the fileref bucket must have; sums the files that must exist, with who names them first.
	refs  map[string]bool
	sums  map[[hashSize]byte]Damage
	sizes map[[hashSize]byte]int64
	// ids are ids of Tokens and Sessions, which must not come twice.
	ids    map[string]bool
	nextID int64
}

type checkedChat struct {
	head   chatHead
	queued int
	doomed bool
	pin    []byte
}

func (c *checker) add(b bucket, key []byte, format string, args ...any) {
	c.found = append(c.found, damageAt(b, key, fmt.Sprintf(format, args...)))
}

func (c *checker) run() error {
	for _, step := range []func() error{c.metas, c.chatRecords, c.trees, c.chains, c.nouns, c.terms, c.indexes, c.fileRefs, c.filesOnDisk} {
		if c.ctx.Err() != nil {
			return contextError(c.ctx)
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with each good record of a bucket and reports the others.
func (c *checker) each(b bucket, fn func(key []byte, r record)) error {
	err := c.tx.t.scan(b, nil, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(b, r.key, r.value)
		if c.damage(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if rec.spilled() {
			ref, _ := parseFileRef(rec.body)
			c.needs(ref.Sum, ref.Size, b, r.key)
		}
		fn(r.key, rec)
		return true, c.ctx.Err()
	})
	if c.damage(err) {
		return nil
	}
	return err
}

// damage reports an error that is damage, and says whether it was.
func (c *checker) damage(err error) bool {
	var d *DamageError
	if !errors.As(err, &d) {
		return false
	}
	c.found = append(c.found, d.Damage)
	return true
}

func (c *checker) needs(sum [hashSize]byte, size int64, b bucket, key []byte) {
	if _, ok := c.sums[sum]; !ok {
		c.sums[sum] = damageAt(b, key, "")
	}
	if size > 0 {
		c.sizes[sum] = size
	}
}

func (c *checker) metas() error {
	var m meta
	for _, f := range m.fields() {
		found, err := c.tx.t.getJSON(bMeta, []byte(f.name), f.at)
		if c.damage(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !found {
			c.add(bMeta, []byte(f.name), "the record is missing")
		}
	}
	_, err := c.tx.t.getJSON(bMeta, nextIDKey, &c.nextID)
	if c.damage(err) {
		err = nil
	}
	if err == nil && c.nextID <= 0 {
		c.add(bMeta, nextIDKey, "the counter of ids is not above zero")
	}
	return err
}

func (c *checker) chatRecords() error {
	err := c.each(bChat, func(key []byte, r record) {
		if len(key) != idSize {
			c.add(bChat, key, "the key is not an id")
			return
		}
		head := parseChatHead(r.head)
		c.chats[toID(key)] = &checkedChat{head: head}
		x, err := c.tx.decodeChat(key, r)
		if c.damage(err) {
			return
		}
		c.chats[toID(key)].queued = x.Queued
		if c.chats[toID(key)].pin, err = pinOf(x); err != nil {
			c.add(bChat, key, "its pin is not one that the store writes: %v", err)
		}
		want, err := headOf(x)
		switch {
		case err != nil:
			c.add(bChat, key, "the record is not one that the store writes: %v", err)
		case !bytes.Equal(want.bytes(), r.head):
			c.add(bChat, key, "the record's head says something else than its content")
		case string(x.ID) != toID(key).String():
			c.add(bChat, key, "the record is that of chat %s", x.ID)
		}
	})
	if err != nil {
		return err
	}
	return c.each(bDoomed, func(key []byte, _ record) {
		root := c.chats[toID(key)]
		if root == nil {
			c.add(bDoomed, key, "the family that is being removed has no root")
			return
		}
		for _, x := range c.chats {
			x.doomed = x.doomed || x.head.root == toID(key)
		}
	})
}

// trees follows each Chat to its root.
func (c *checker) trees() error {
	for id, x := range c.chats {
		at, steps := x, 0
		for at.head.parent != (id16{}) && steps <= len(c.chats) {
			parent := c.chats[at.head.parent]
			if parent == nil {
				c.add(bChat, id[:], "its ancestor %s is not there", at.head.parent)
				break
			}
			if parent.head.root != x.head.root {
				c.add(bChat, id[:], "it names root %s, its ancestor %s names %s", x.head.root, at.head.parent, parent.head.root)
				break
			}
			at, steps = parent, steps+1
		}
		if steps > len(c.chats) {
			c.add(bChat, id[:], "its ancestors form a circle")
		}
	}
	return nil
}

// chains walks every Chat's history, and looks for Messages without a Chat.
func (c *checker) chains() error {
	for id, x := range c.chats {
		if x.doomed {
			// Its Messages are being removed, oldest first.
			continue
		}
		marks, err := c.tx.marks(id[:])
		if c.damage(err) {
			continue
		}
		if err != nil {
			return err
		}
		w := chainWalk{tx: c.tx, prefix: id[:], marks: marks, chain: x.head.chain}
		err = w.from(0, func([]byte, record) (bool, error) { return true, c.ctx.Err() })
		if err == nil && w.count != x.head.chain.Count {
			c.add(bChat, id[:], "it counts %d messages and marks, there are %d", x.head.chain.Count, w.count)
		}
		if err != nil && !c.damage(err) {
			return err
		}
		if int64(w.last.id) >= c.nextID && c.nextID > 0 {
			c.add(bMeta, nextIDKey, "the counter of ids stands at %d, message %d exists", c.nextID, w.last.id)
		}
	}
	return nil
}

// owned reports a record whose Chat is not there.
func (c *checker) owned(b bucket, key []byte) {
	if len(key) < idSize || c.chats[toID(key)] == nil {
		c.add(b, key, "its chat is not there")
	}
}

func (c *checker) used(b bucket, key []byte, id chat.MessageID) {
	if c.nextID > 0 && int64(id) >= c.nextID {
		c.add(b, key, "it has id %d, the counter of ids stands at %d", id, c.nextID)
	}
}
