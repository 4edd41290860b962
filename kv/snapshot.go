package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/engine/chat"
)

// storedSnapshot is a Snapshot without its Payloads. What the address covers is kept as the bytes that were hashed.
type storedSnapshot struct {
	Number  int64           `json:"number"`
	At      time.Time       `json:"at"`
	Content json.RawMessage `json:"content"`
}

// pinHeadSize is the head of a pin: workspace | address.
const pinHeadSize = idSize + hashSize

// NewestSnapshot gives the newest Snapshot of a Workspace.
func (x *Tx) NewestSnapshot(id chat.WorkspaceID) (*chat.NewestSnapshot, bool, error) {
	return getByID[chat.NewestSnapshot](x, bNewest, id)
}

// PutSnapshot keeps a Snapshot and makes it the newest of its Workspace, which must be there. A content that is kept already keeps its
// number.
func (x *Tx) PutSnapshot(id chat.WorkspaceID, s chat.Snapshot, now time.Time) (*chat.NewestSnapshot, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	if _, found, err := x.Workspace(id); err != nil || !found {
		return nil, fmt.Errorf("kv: snapshot of workspace %s: %w", id, orNotFound(err))
	}
	old, found, err := x.NewestSnapshot(id)
	if err != nil {
		return nil, err
	}
	newest := &chat.NewestSnapshot{Aggregate: s.AggregateHash, Full: s.FullHash, BootID: s.BootID, Version: s.Version, Settled: s.MCPSettled, At: now}
	if found {
		newest.Last = old.Last
	}
	content, err := x.putTexts(key, s)
	if err != nil {
		return nil, err
	}
	newest.Address = sha256.Sum256(content)
	if found && old.Address != newest.Address {
		if err := x.supersede(key, old, now); err != nil {
			return nil, err
		}
	}
	stored, kept, err := getNoun[storedSnapshot](x, bSnapshot, snapshotKey(key, newest.Address))
	if err != nil {
		return nil, err
	}
	if !kept {
		newest.Last++
		stored = &storedSnapshot{Number: newest.Last, Content: content}
	}
	newest.Number, stored.At = stored.Number, now
	if err := x.t.putJSON(bSnapshot, snapshotKey(key, newest.Address), stored); err != nil {
		return nil, err
	}
	return newest, x.t.putJSON(bNewest, key, newest)
}

func orNotFound(err error) error {
	if err != nil {
		return err
	}
	return chat.NotFound("workspace")
}

// supersede notes when a Snapshot was last the newest.
func (x *Tx) supersede(workspace []byte, old *chat.NewestSnapshot, now time.Time) error {
	key := snapshotKey(workspace, old.Address)
	stored, found, err := getNoun[storedSnapshot](x, bSnapshot, key)
	if err != nil || !found {
		return err
	}
	stored.At = now
	return x.t.putJSON(bSnapshot, key, stored)
}

// putTexts keeps the Payloads under their hashes and gives the content that is left.
func (x *Tx) putTexts(workspace []byte, s chat.Snapshot) ([]byte, error) {
	s.BootID, s.Version = "", 0
	resources := make([]chat.Resource, len(s.Resources))
	for i, r := range s.Resources {
		if hasText(r) {
			if chat.FileHash(r.Payload) != r.ContentHash {
				return nil, fmt.Errorf("kv: %s: the payload has another hash than the resource says", r.ID())
			}
			key := snapshotKey(workspace, r.ContentHash)
			old, err := x.t.raw(bContextText, key)
			if err != nil {
				return nil, err
			}
			if old == nil {
				if err := x.t.putJSON(bContextText, key, r.Payload); err != nil {
					return nil, err
				}
			}
		}
		r.Payload = nil
		resources[i] = r
	}
	s.Resources = resources
	return toJSON(s)
}

// hasText says whether the store keeps the Payload of a Resource.
func hasText(r chat.Resource) bool {
	return r.Status == chat.ResourceOK && (r.Kind == chat.ResourceInstructionFile || r.Kind == chat.ResourceSkill)
}

func snapshotKey(workspace []byte, h chat.Hash) []byte {
	return append(append(make([]byte, 0, idSize+hashSize), workspace...), h[:]...)
}

// Snapshot gives a kept Snapshot of a Workspace, with texts its Payloads too.
func (x *Tx) Snapshot(id chat.WorkspaceID, address chat.Hash, texts bool) (*chat.SnapshotRecord, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	stored, found, err := getNoun[storedSnapshot](x, bSnapshot, snapshotKey(key, address))
	if err != nil || !found {
		return nil, false, err
	}
	r := &chat.SnapshotRecord{Address: address, Number: stored.Number, At: stored.At}
	if err := json.Unmarshal(stored.Content, &r.Snapshot); err != nil {
		return nil, false, &DamageError{damageAt(bSnapshot, snapshotKey(key, address), "the content is not readable: "+err.Error())}
	}
	for i := range r.Snapshot.Resources {
		if !texts {
			break
		}
		if res := &r.Snapshot.Resources[i]; hasText(*res) {
			if res.Payload, err = x.contextText(key, res.ContentHash); err != nil {
				return nil, false, err
			}
		}
	}
	return r, true, nil
}

func (x *Tx) contextText(workspace []byte, h chat.Hash) ([]byte, error) {
	var text []byte
	found, err := x.t.getJSON(bContextText, snapshotKey(workspace, h), &text)
	if err == nil && !found {
		err = &DamageError{damageAt(bContextText, snapshotKey(workspace, h), "the text of a resource is missing")}
	}
	return text, err
}

// PinnedChats gives the Chats that pin a Snapshot of a Workspace. It looks at the pins of all Chats, without reading those; one that cannot be read
// is counted and hides none of the others.
func (x *Tx) PinnedChats(id chat.WorkspaceID) ([]chat.ID, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	var out []chat.ID
	err = x.pins(func(d *DamageError) error { x.s.damages.add(d.Damage); return nil }, func(of id16, head []byte) {
		if bytes.Equal(head[:idSize], key) {
			out = append(out, chat.ID(of.String()))
		}
	})
	return out, err
}

// pins gives the pins of all Chats; lost decides about one that cannot be read.
func (x *Tx) pins(lost func(*DamageError) error, fn func(of id16, head []byte)) error {
	return x.t.scan(bPin, nil, nil, func(r row) (bool, error) {
		rec, err := decodeRecord(bPin, r.key, r.value)
		var d *DamageError
		if errors.As(err, &d) {
			return true, lost(d)
		}
		fn(toID(r.key), rec.head)
		return true, err
	})
}

// pinOf is the head of a Chat's pin, nil without one.
func pinOf(c *chat.Chat) ([]byte, error) {
	if c.Context == nil || c.WorkspaceID == "" {
		return nil, nil
	}
	key, err := idKey(c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return snapshotKey(key, c.Context.Address), nil
}

// movePin keeps the index of pins as the Chats' records are.
func (x *Tx) movePin(id id16, c *chat.Chat, found bool) error {
	want, err := pinOf(c)
	if err != nil || !found && want == nil {
		return err
	}
	old, pinned, err := x.t.get(bPin, id[:])
	switch {
	case err != nil || pinned == (want != nil) && bytes.Equal(old.head, want):
		return err
	case want == nil:
		return x.t.delete(bPin, id[:])
	}
	return x.t.put(bPin, id[:], want, nil)
}
