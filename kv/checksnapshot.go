package kv

import (
	"crypto/sha256"
	"encoding/json"
	"errors"

	"holdfast/engine/chat"
)

// snapshots holds Snapshots against their addresses and texts, the newest against what is kept, and the pins against the Chats.
func (c *checker) snapshots() error {
	kept, texts := map[string]bool{}, map[string]bool{}
	err := errors.Join(
		c.each(bContextText, func(key []byte, r record) {
			text := checkJSON[[]byte](c, bContextText, key, r)
			if len(key) != idSize+hashSize {
				c.add(bContextText, key, "the key is not a workspace and a hash")
				return
			}
			texts[string(key)] = true
			if h := chat.Hash(key[idSize:]); text != nil && chat.FileHash(*text) != h {
				c.add(bContextText, key, "the text has another hash than its key")
			}
		}),
		c.each(bSnapshot, func(key []byte, r record) { c.snapshot(key, r, kept, texts) }),
		c.each(bNewest, func(key []byte, r record) {
			if n := checkJSON[chat.NewestSnapshot](c, bNewest, key, r); n != nil && !kept[string(snapshotKey(key, n.Address))] {
				c.add(bNewest, key, "the newest snapshot is not there")
			}
			c.placed(bNewest, key)
		}),
	)
	return errors.Join(err, c.pinned(kept))
}

func (c *checker) snapshot(key []byte, r record, kept, texts map[string]bool) {
	stored := checkJSON[storedSnapshot](c, bSnapshot, key, r)
	if len(key) != idSize+hashSize {
		c.add(bSnapshot, key, "the key is not a workspace and an address")
		return
	}
	c.placed(bSnapshot, key)
	kept[string(key)] = true
	if stored == nil {
		return
	}
	if sha256.Sum256(stored.Content) != [hashSize]byte(key[idSize:]) {
		c.add(bSnapshot, key, "the content has another hash than its address")
	}
	var content chat.Snapshot
	if err := json.Unmarshal(stored.Content, &content); err != nil {
		c.add(bSnapshot, key, "the content is not readable: %v", err)
		return
	}
	for _, res := range content.Resources {
		if hasText(res) && !texts[string(snapshotKey(key[:idSize], res.ContentHash))] {
			c.add(bSnapshot, key, "the text of %s is missing", res.ID())
		}
	}
}

// placed reports what belongs to a Workspace that is not there.
func (c *checker) placed(b bucket, key []byte) {
	if len(key) < idSize {
		c.add(b, key, "the key is cut short")
		return
	}
	if value, err := c.tx.t.raw(bWorkspace, key[:idSize]); err == nil && value == nil {
		c.add(b, key, "its workspace is not there")
	}
}

// pinned: a Chat whose Workspace has gone pins nothing that could be kept.
func (c *checker) pinned(kept map[string]bool) error {
	err := c.each(bPin, func(key []byte, r record) {
		c.owned(bPin, key)
		if len(key) != idSize {
			c.add(bPin, key, "the key is not a chat")
			return
		}
		x := c.chats[toID(key)]
		if x == nil || x.doomed {
			return
		}
		if string(x.pin) != string(r.head) {
			c.add(bPin, key, "the chat pins another snapshot")
		}
		x.pin = nil
		if value, err := c.tx.t.raw(bWorkspace, r.head[:idSize]); err == nil && value != nil && !kept[string(r.head)] {
			c.add(bPin, key, "the pinned snapshot is not there")
		}
	})
	for id, x := range c.chats {
		if x.pin != nil && !x.doomed {
			c.add(bPin, id[:], "the chat's pin is missing in the index")
		}
	}
	return err
}
