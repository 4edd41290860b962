package kv

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Salvage reads what can be read of a store that may be broken anywhere, without bbolt and without writing. Records are believed by their
// checksums alone, so that what hangs under a broken page is found as well. Hold the directory's DirLock. It is not safe for concurrent use.
type Salvage struct {
	f     *os.File
	pages *pageFile
	files *files
	// reached are the pages that the tree holds.
	reached map[uint64]bool
	records [lastBucket + 1]map[string]place
	broken  map[id16][]Damage
	// found are the Messages and marks of each Chat, in the order of their ids.
	found map[id16][]foundLink
	Finding
}

// Finding is what a Salvage can say of the store as a whole.
type Finding struct {
	// Lost is what was found broken and belongs to no Chat that is known.
	Lost []Damage
	// Doubtful: pages had to be searched of which nobody knows any more which ones hold what was removed, so that removed Chats may be
	// among the salvaged ones.
	Doubtful bool
}

// place is where a value stands in the file. A stray one hangs nowhere.
type place struct {
	at    int64
	size  int
	stray bool
}

// salvaged are the nouns that a Salvage gives, with the size of their keys; 0 is any.
var salvaged = map[bucket]int{bMeta: 0, bChat: idSize, bMessage: idSize + 8, bMark: idSize + 8, bFile: idSize, bFileLink: 2 * idSize, bDoomed: idSize,
	bSite: 0}

// OpenSalvage looks through the whole file of the store in dir. One that is not there is os.ErrNotExist, one of a newer schema a *NewerError.
func OpenSalvage(ctx context.Context, dir string) (*Salvage, error) {
	f, err := os.Open(filepath.Join(dir, fileName))
	if err != nil {
		return nil, fmt.Errorf("kv: salvage: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kv: salvage: %w", err), f.Close())
	}
	s := &Salvage{f: f, pages: openPages(f, info.Size()), files: newFiles(dir, nil), reached: map[uint64]bool{}, broken: map[id16][]Damage{}}
	if s.pages.meta == nil {
		s.pages.page = s.pages.guessPage()
	}
	for b := range salvaged {
		s.records[b] = map[string]place{}
	}
	s.search(ctx)
	var schema, reader int
	if s.json(bMeta, []byte("schema"), &schema) == nil && s.json(bMeta, []byte("min_reader"), &reader) == nil && schema > Schema && reader > Schema {
		return nil, errors.Join(&NewerError{Schema: schema, Known: Schema}, f.Close())
	}
	if ctx.Err() != nil {
		return nil, errors.Join(contextError(ctx), f.Close())
	}
	return s, nil
}

// Close ends it.
func (s *Salvage) Close() error { return s.f.Close() }

// search walks the tree, looks at the other pages when a part of it cannot be reached, and at old copies when a Chat is not whole.
func (s *Salvage) search(ctx context.Context) {
	whole := false
	if s.pages.meta == nil {
		s.structure(0, errors.New("neither of the two first pages holds"))
	} else {
		whole = s.walk(ctx, s.pages.meta.root, 0, 0)
	}
	free, known := s.pages.free()
	if !whole {
		s.Doubtful = !known
		s.strays(ctx, func(id uint64) bool { return !free[id] }, func(bucket, []byte) bool { return true })
	}
	s.settle()
	want := s.notWhole()
	if len(want) == 0 {
		return
	}
	// Messages and marks never change and never go alone: an old copy of one, in a page that is free again, is as good as the lost one.
	s.strays(ctx, func(id uint64) bool { return free[id] }, func(b bucket, key []byte) bool {
		return (b == bMessage || b == bMark) && want[toID(key)]
	})
	s.settle()
}

// settle forgets what was found broken in one place and whole in another, and sorts what was found by Chats.
func (s *Salvage) settle() {
	s.found = map[id16][]foundLink{}
	for _, b := range []bucket{bMessage, bMark} {
		for key := range s.records[b] {
			id := id16([]byte(key[:idSize]))
			s.found[id] = append(s.found[id], foundLink{id: messageIDOf([]byte(key)), mark: b == bMark, key: []byte(key)})
		}
	}
	for id, all := range s.broken {
		all = slices.DeleteFunc(all, func(d Damage) bool {
			key, err := hex.DecodeString(d.Key)
			if err != nil {
				return false
			}
			_, found := s.records[slices.Index(bucketNames[:], d.Noun)][string(key)]
			return found
		})
		if s.broken[id] = all; len(all) == 0 {
			delete(s.broken, id)
		}
	}
}

// notWhole names the Chats that stand in the list and miss Messages.
func (s *Salvage) notWhole() map[id16]bool {
	out := map[id16]bool{}
	for _, id := range s.ids() {
		if _, found := s.records[bChat][string(id[:])]; found && len(s.links(id).lost) > 0 {
			out[id] = true
		}
	}
	return out
}

// structure notes a page that cannot be read.
func (s *Salvage) structure(id uint64, err error) {
	s.Lost = append(s.Lost, Damage{Noun: "structure", Key: fmt.Sprintf("page %d", id), Reason: err.Error()})
}

// deepest bounds a tree; one of 2^63 records with two on each page is not deeper.
const deepest = 64

// walk reads the tree below a page, of the root (b 0) or of a bucket, and says whether all of it could be read, as far as it is salvaged.
func (s *Salvage) walk(ctx context.Context, id uint64, b bucket, depth int) bool {
	if ctx.Err() != nil {
		return false
	}
	page, err := s.pages.read(id)
	switch {
	case err == nil && page.kind == pageFreelist:
		err = errPage
	case err == nil && (s.reached[id] || depth > deepest):
		err = errors.New("two places of the tree lead to it")
	}
	if err != nil {
		if b == 0 || s.records[b] != nil {
			s.structure(id, err)
			return false
		}
		return true
	}
	for n := range page.more + 1 {
		s.reached[id+n] = true
	}
	whole := true
	for _, e := range page.elements {
		if page.kind == pageBranch {
			whole = s.walk(ctx, e.child, b, depth+1) && whole
		} else {
			whole = s.leaf(ctx, e, b, depth) && whole
		}
	}
	return whole
}

// leaf takes an element of a leaf: a record, or in the root a bucket, which may stand inside of its value.
func (s *Salvage) leaf(ctx context.Context, e element, b bucket, depth int) bool {
	if b != 0 {
		s.take(b, e)
		return true
	}
	n := slices.Index(bucketNames[:], string(e.key))
	if !e.bucket || n <= 0 || len(e.value) < bucketHead {
		s.structure(s.pages.meta.root, fmt.Errorf("the root names a bucket %q", e.key))
		return false
	}
	at := bucket(n)
	if root := order.Uint64(e.value); root != 0 {
		return s.walk(ctx, root, at, depth+1)
	}
	inner, err := parsePage(e.value[bucketHead:], e.at+bucketHead)
	if err != nil {
		if s.records[at] == nil {
			return true
		}
		s.structure(s.pages.meta.root, fmt.Errorf("the bucket %s inside of it: %w", at, err))
		return false
	}
	for _, e := range inner.elements {
		s.take(at, e)
	}
	return true
}

// take remembers a record that holds, and what is wrong with another.
func (s *Salvage) take(b bucket, e element) {
	if s.records[b] == nil {
		return
	}
	_, err := decodeRecord(b, e.key, e.value)
	if size := salvaged[b]; err == nil && size > 0 && len(e.key) != size {
		err = &DamageError{damageAt(b, e.key, "the key is not one of this noun")}
	}
	if err != nil {
		s.note(err)
		return
	}
	s.records[b][string(e.key)] = place{at: e.at, size: len(e.value)}
}

// note puts damage to its Chat.
func (s *Salvage) note(err error) {
	var d *DamageError
	if !errors.As(err, &d) {
		d = &DamageError{Damage{Noun: "structure", Key: fileName, Reason: err.Error()}}
	}
	if id, err := parseID(string(d.Chat)); err == nil {
		s.broken[id] = append(s.broken[id], d.Damage)
		return
	}
	if d.Noun == bFile.String() || d.Noun == "structure" {
		// What else is broken (a setting, say) is none of what is salvaged. A Chat misses its File by itself.
		s.Lost = append(s.Lost, d.Damage)
	}
}

// strays takes records of leaves that hang nowhere. A branch says nothing that its leaves do not say, and what is no page is a part of one,
// or was named by the walk.
func (s *Salvage) strays(ctx context.Context, look func(page uint64) bool, takes func(b bucket, key []byte) bool) {
	for id := uint64(2); id < s.pages.count() && ctx.Err() == nil; id++ {
		if s.reached[id] || !look(id) {
			continue
		}
		if page, err := s.pages.read(id); err == nil && page.kind == pageLeaf {
			s.stray(page, takes)
		}
	}
}

// stray takes the records of one leaf. Which noun it holds, the checksums of its records say.
func (s *Salvage) stray(page rawPage, takes func(b bucket, key []byte) bool) {
	of := bucket(0)
	var odd []element
	for _, e := range page.elements {
		if e.bucket {
			s.inner(e, takes)
			continue
		}
		b := s.nounOf(e)
		if b == 0 {
			odd = append(odd, e)
			continue
		}
		if of = b; takes(b, e.key) && s.better(b, e) {
			s.records[b][string(e.key)] = place{at: e.at, size: len(e.value), stray: true}
		}
	}
	for _, e := range odd {
		// Only a page with other records of a noun tells what its broken ones are.
		if size := salvaged[of]; of != 0 && (size == 0 || len(e.key) == size) && takes(of, e.key) {
			s.take(of, e)
		}
	}
}

// inner takes the records of a bucket inside of a value.
func (s *Salvage) inner(e element, takes func(b bucket, key []byte) bool) {
	if len(e.value) < bucketHead || order.Uint64(e.value) != 0 {
		return
	}
	page, err := parsePage(e.value[bucketHead:], e.at+bucketHead)
	// There are no buckets in buckets.
	if err != nil || page.kind != pageLeaf || slices.ContainsFunc(page.elements, func(e element) bool { return e.bucket }) {
		return
	}
	s.stray(page, takes)
}

// nounOf gives the noun under which a record's checksum fits, 0 for none that is salvaged.
func (s *Salvage) nounOf(e element) bucket {
	for b, size := range salvaged {
		if size > 0 && len(e.key) != size {
			continue
		}
		if _, err := decodeRecord(b, e.key, e.value); err == nil {
			return b
		}
	}
	return 0
}

// better says whether a stray record is to be taken: there is none yet, or it is a Chat as it was later than another stray one says.
func (s *Salvage) better(b bucket, e element) bool {
	at, there := s.records[b][string(e.key)]
	if !there {
		return true
	}
	if b != bChat || !at.stray {
		return false
	}
	rec, err := decodeRecord(b, e.key, e.value)
	have, err2 := s.record(b, e.key)
	return err == nil && err2 == nil && parseChatHead(rec.head).updated > parseChatHead(have.head).updated
}

// record reads a record that was found.
func (s *Salvage) record(b bucket, key []byte) (record, error) {
	at, found := s.records[b][string(key)]
	if !found {
		return record{}, os.ErrNotExist
	}
	value := make([]byte, at.size)
	if _, err := s.f.ReadAt(value, at.at); err != nil {
		return record{}, fmt.Errorf("kv: salvage: %w", err)
	}
	return decodeRecord(b, key, value)
}

// json reads the content of a record, from its file when it was spilled.
func (s *Salvage) json(b bucket, key []byte, v any) error {
	rec, err := s.record(b, key)
	if err != nil {
		return err
	}
	t := txn{files: s.files}
	return t.decode(b, key, rec, v)
}

// Sealed gives the secrets of the store by their names, sealed as they are.
func (s *Salvage) Sealed() map[string][]byte {
	out := map[string][]byte{}
	for key := range s.records[bSite] {
		name, secret := strings.CutPrefix(key, secretPrefix)
		if !secret {
			continue
		}
		var sealed []byte
		// One that cannot be read can be opened by nobody.
		if s.json(bSite, []byte(key), &sealed) == nil {
			out[name] = sealed
		}
	}
	return out
}

// OpenFile opens a kept file, as Store.OpenFile does.
func (s *Salvage) OpenFile(sha256hex string) (io.ReadCloser, error) {
	return (&Store{files: s.files}).OpenFile(sha256hex)
}
