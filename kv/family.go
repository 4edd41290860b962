package kv

import (
	"bytes"
	"context"
	"fmt"

	"holdfast/engine/chat"
)

// purgeRecords is the most that one commit of a removal takes away.
const purgeRecords = 1000

// DeleteFamily hides a root Chat and all Chats below it at once; PurgeFamilies takes their records away. Usage entries stay.
func (x *Tx) DeleteFamily(root chat.ID) error {
	h, found, err := x.chatHead(root)
	if err != nil {
		return err
	}
	key, err := idKey(root)
	if err != nil {
		return err
	}
	switch {
	case !found:
		return fmt.Errorf("kv: delete chat %s: %w", root, chat.NotFound("chat"))
	case h.root.String() != string(root):
		return fmt.Errorf("kv: delete chat %s: it is not the root of its family", root)
	}
	return x.t.putJSON(bDoomed, key, x.s.now().UTC())
}

// hidden says whether a family is being removed. The bucket is empty but for a moment after a deletion.
func (x *Tx) hidden(root id16) (bool, error) {
	_, found, err := x.t.get(bDoomed, root[:])
	return found, err
}

func (x *Tx) doomedRoots() (map[id16]bool, error) {
	var out map[id16]bool
	err := x.t.scan(bDoomed, nil, nil, func(r row) (bool, error) {
		if out == nil {
			out = map[id16]bool{}
		}
		out[toID(r.key)] = true
		return true, nil
	})
	return out, err
}

// PurgeFamilies removes what DeleteFamily has hidden, in commits of at most 1,000 records. It goes on where a crash or ctx ended it; call
// it after Open and after each DeleteFamily. It says how many families are gone.
func (s *Store) PurgeFamilies(ctx context.Context) (int, error) {
	var roots map[id16]bool
	err := s.View(ctx, func(tx *Tx) (err error) {
		roots, err = tx.doomedRoots()
		return err
	})
	if err != nil {
		return 0, err
	}
	families := 0
	for root := range roots {
		for done := false; !done; {
			err := s.Update(ctx, func(tx *Tx) (err error) {
				done, err = tx.purge(root, purgeRecords)
				return err
			})
			if err != nil {
				return families, err
			}
		}
		families++
	}
	return families, nil
}

// purge removes up to limit records of a hidden family and says whether it is gone. Members go first, the root and its mark last, so that
// what is left always finds the rest.
func (x *Tx) purge(root id16, limit int) (done bool, err error) {
	if hidden, err := x.hidden(root); err != nil || !hidden {
		return !hidden, err
	}
	members, err := x.family(root)
	if err != nil {
		return false, err
	}
	for i := len(members) - 1; i >= 0; i-- {
		id := members[i]
		for _, b := range familyBuckets {
			n, err := x.t.deletePrefix(b, id[:], nil, limit)
			if err != nil {
				return false, err
			}
			if limit -= n; limit <= 0 {
				return false, nil
			}
		}
		if limit -= 3; limit <= 0 {
			return false, nil
		}
		if err := x.purgeChat(id); err != nil {
			return false, err
		}
	}
	return true, x.t.delete(bDoomed, root[:])
}

// purgeChat removes a Chat's own record and its places in the indexes; a damaged record goes all the same.
func (x *Tx) purgeChat(id id16) error {
	var activeKey, childKey []byte
	err := x.t.scan(bActive, nil, nil, func(r row) (bool, error) {
		if bytes.HasSuffix(r.key, id[:]) {
			activeKey = bytes.Clone(r.key)
		}
		return activeKey == nil, nil
	})
	if err != nil {
		return err
	}
	if activeKey != nil {
		if err := x.t.delete(bActive, activeKey); err != nil {
			return err
		}
	}
	value, err := x.t.raw(bChat, id[:])
	if err != nil || value == nil {
		return err
	}
	if rec, err := decodeRecord(bChat, id[:], value); err == nil {
		if h := parseChatHead(rec.head); h.parent != (id16{}) {
			childKey = append(h.parent[:], id[:]...)
		}
	}
	if childKey != nil {
		if err := x.t.delete(bChild, childKey); err != nil {
			return err
		}
	}
	return x.t.delete(bChat, id[:])
}

// family gives a root and all Chats below it, parents before children. It ends even if the tree has a circle.
func (x *Tx) family(root id16) ([]id16, error) {
	members := []id16{root}
	seen := map[id16]bool{root: true}
	for i := 0; i < len(members); i++ {
		parent := members[i]
		err := x.t.scan(bChild, parent[:], nil, func(r row) (bool, error) {
			if id := toID(r.key[idSize:]); !seen[id] {
				seen[id] = true
				members = append(members, id)
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return members, nil
}
