package kv

import (
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"holdfast/engine/chat"
)

// nouns decodes every record and holds it against its key.
func (c *checker) nouns() error {
	return errors.Join(
		c.each(bMessage, c.message),
		c.each(bMark, func(key []byte, r record) { checkJSON[storedMark](c, bMark, key, r); c.owned(bMark, key) }),
		c.each(bQueue, c.queue),
		c.each(bDraft, func(key []byte, r record) { checkJSON[chat.DraftChunk](c, bDraft, key, r); c.owned(bDraft, key) }),
		c.each(bIntent, func(key []byte, r record) { checkJSON[chat.Intent](c, bIntent, key, r); c.owned(bIntent, key) }),
		c.each(bCheckpoint, c.checkpoint),
		c.each(bReadMark, func(key []byte, r record) { checkJSON[chat.MessageID](c, bReadMark, key, r); c.owned(bReadMark, key) }),
		c.each(bFileRead, func(key []byte, r record) {
			checkJSON[map[string]string](c, bFileRead, key, r)
			c.owned(bFileRead, key)
		}),
		c.each(bReceipt, c.receipt),
		c.each(bChatRules, func(key []byte, r record) { checkJSON[chat.RuleSet](c, bChatRules, key, r); c.owned(bChatRules, key) }),
		c.each(bOwed, func(key []byte, r record) { checkJSON[chat.OwedNotice](c, bOwed, key, r); c.owned(bOwed, key) }),
		c.each(bSpaceRules, func(key []byte, r record) {
			checkJSON[chat.RuleSet](c, bSpaceRules, key, r)
			c.placed(bSpaceRules, key)
		}),
		c.usages(),
		c.each(bUser, func(key []byte, r record) {
			c.named(bUser, key, idText(checkJSON[chat.User](c, bUser, key, r), func(u *chat.User) string { return string(u.ID) }))
		}),
		c.each(bWorkspace, func(key []byte, r record) {
			v := checkJSON[chat.WorkspaceRecord](c, bWorkspace, key, r)
			c.named(bWorkspace, key, idText(v, func(w *chat.WorkspaceRecord) string { return string(w.ID) }))
		}),
		c.each(bModelConfig, func(key []byte, r record) {
			v := checkJSON[chat.ModelConfig](c, bModelConfig, key, r)
			c.named(bModelConfig, key, idText(v, func(m *chat.ModelConfig) string { return string(m.ID) }))
		}),
		c.each(bToken, func(key []byte, r record) {
			if v := checkJSON[chat.Token](c, bToken, key, r); v != nil {
				c.credential(bToken, key, v.Hash, string(v.ID))
			}
		}),
		c.each(bSession, func(key []byte, r record) {
			if v := checkJSON[chat.Session](c, bSession, key, r); v != nil {
				c.credential(bSession, key, v.Hash, string(v.ID))
			}
		}),
		c.each(bLoginCode, func(key []byte, r record) {
			if v := checkJSON[chat.LoginCode](c, bLoginCode, key, r); v != nil {
				c.credential(bLoginCode, key, v.Hash, "")
			}
		}),
		c.agents(),
		c.mcpServers(),
		c.outbound(),
		c.pushes(),
		c.notices(),
		c.advised(),
		c.audits(),
		c.each(bSite, c.siteValue),
		c.uploads(),
		c.snapshots(),
	)
}

// checkJSON decodes a record and reports one that is not readable, as nil.
func checkJSON[T any](c *checker, b bucket, key []byte, r record) *T {
	v := new(T)
	if c.damage(c.tx.t.decode(b, key, r, v)) {
		return nil
	}
	return v
}

func idText[T any](v *T, id func(*T) string) string {
	if v == nil {
		return ""
	}
	return id(v)
}

// named reports a record that names itself otherwise than its key; "" was reported already.
func (c *checker) named(b bucket, key []byte, id string) {
	if len(key) != idSize || id != "" && id != toID(key).String() {
		c.add(b, key, "the record is that of %q", id)
	}
}

func (c *checker) credential(b bucket, key, hash []byte, id string) {
	if string(hash) != string(key) {
		c.add(b, key, "the record has another hash than its key")
	}
	if id == "" {
		return
	}
	if c.ids[id] {
		c.add(b, key, "the id %s is there twice", id)
	}
	c.ids[id] = true
}

func (c *checker) message(key []byte, r record) {
	c.owned(bMessage, key)
	if len(key) != idSize+8 {
		c.add(bMessage, key, "the key is not a chat and a number")
		return
	}
	c.used(bMessage, key, messageIDOf(key))
	if r.spilled() {
		ref, _ := parseFileRef(r.body)
		c.refs[string(key)+string(ref.Sum[:])] = true
	}
	m, err := c.tx.decodeMessage(key, r)
	if c.damage(err) {
		return
	}
	for _, p := range m.Content {
		if sum, ok := sumOf(p.FileID); ok {
			c.refs[string(key)+string(sum[:])] = true
		} else if p.FileID != "" {
			c.linked(key, m, chat.FileID(p.FileID))
		}
	}
}

func (c *checker) queue(key []byte, r record) {
	c.owned(bQueue, key)
	q := checkJSON[[]*chat.QueuedMessage](c, bQueue, key, r)
	if q == nil {
		return
	}
	if len(*q) == 0 || len(*q) > maxQueue {
		c.add(bQueue, key, "the queue holds %d messages", len(*q))
	}
	seen := map[chat.MessageID]bool{}
	for _, m := range *q {
		c.used(bQueue, key, m.ID)
		if seen[m.ID] || m.ID <= 0 {
			c.add(bQueue, key, "the queued message %d is there twice, or has no id", m.ID)
		}
		seen[m.ID] = true
	}
	if x := c.chats[toID(key)]; x != nil && !x.doomed {
		if x.queued != len(*q) {
			c.add(bQueue, key, "the chat counts %d queued messages, there are %d", x.queued, len(*q))
		}
		x.queued = 0
	}
}

func (c *checker) checkpoint(key []byte, r record) {
	c.owned(bCheckpoint, key)
	v := checkJSON[chat.Checkpoint](c, bCheckpoint, key, r)
	if v == nil {
		return
	}
	if want, err := checkpointKey(v); err != nil || string(want) != string(key) {
		c.add(bCheckpoint, key, "the record is that of %q", v.Path)
	}
	if sum, ok := sumOf(v.SHA256); ok {
		c.needs(sum, v.Size, bCheckpoint, key)
	}
}

func (c *checker) receipt(key []byte, r record) {
	v := checkJSON[chat.Receipt](c, bReceipt, key, r)
	if len(key) <= 2*idSize {
		c.add(bReceipt, key, "the key is cut short")
		return
	}
	if toID(key) != (id16{}) {
		c.owned(bReceipt, key)
	}
	if v != nil && (v.Key != string(key[2*idSize:]) || string(v.UserID) != toID(key[idSize:]).String()) {
		c.add(bReceipt, key, "the record is that of another key or person")
	}
}

// indexes holds the stored indexes against the Chats, both ways, and reports queues that are counted but missing.
func (c *checker) indexes() error {
	active, child := map[string]bool{}, map[string]bool{}
	for id, x := range c.chats {
		if key := x.head.activeKey(id); key != nil {
			active[string(key)] = true
		}
		if x.head.parent != (id16{}) {
			child[string(x.head.parent[:])+string(id[:])] = true
		}
		if x.queued != 0 && !x.doomed {
			c.add(bChat, id[:], "it counts %d queued messages, there are none", x.queued)
		}
	}
	err := errors.Join(
		c.each(bActive, func(key []byte, _ record) { c.indexed(bActive, key, active) }),
		c.each(bChild, func(key []byte, _ record) { c.indexed(bChild, key, child) }),
	)
	for key := range active {
		c.add(bActive, []byte(key), "the chat is missing in the index of chats not at rest")
	}
	for key := range child {
		c.add(bChild, []byte(key), "the chat is missing in the index of children")
	}
	return err
}

func (c *checker) indexed(b bucket, key []byte, want map[string]bool) {
	if !want[string(key)] {
		c.add(b, key, "the index has a chat that does not belong there")
	}
	delete(want, string(key))
}

func (c *checker) fileRefs() error {
	err := c.each(bFileRef, func(key []byte, _ record) {
		if len(key) != idSize+8+hashSize {
			c.add(bFileRef, key, "the key is not a message and a file")
			return
		}
		if x := c.chats[toID(key)]; !c.refs[string(key)] && (x == nil || !x.doomed) {
			c.add(bFileRef, key, "no message names this file")
		}
		delete(c.refs, string(key))
	})
	for key := range c.refs {
		if x := c.chats[toID([]byte(key))]; x == nil || !x.doomed {
			c.add(bFileRef, []byte(key), "a message names a file that is not noted")
		}
	}
	return err
}

// filesOnDisk looks for the files that records need, and with deep reads all files.
func (c *checker) filesOnDisk() error {
	for sum, who := range c.sums {
		info, err := os.Stat(filepath.Join(c.tx.s.files.dir, hex.EncodeToString(sum[:])))
		size := c.sizes[sum]
		switch {
		case errors.Is(err, os.ErrNotExist):
			who.Reason = "its file " + hex.EncodeToString(sum[:]) + " is missing"
		case err != nil:
			return err
		case size > 0 && info.Size() != size:
			who.Reason = "its file " + hex.EncodeToString(sum[:]) + " has another size"
		default:
			continue
		}
		c.found = append(c.found, who)
	}
	if !c.deep {
		return nil
	}
	entries, err := os.ReadDir(c.tx.s.files.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if c.ctx.Err() != nil {
			return contextError(c.ctx)
		}
		if err := c.file(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) file(name string) error {
	if !isSum(name) {
		c.found = append(c.found, Damage{Noun: "file", Key: name, Reason: "the name is not a SHA-256"})
		return nil
	}
	f, err := c.tx.s.OpenFile(name)
	if errors.Is(err, os.ErrNotExist) {
		// The sweep took it after the directory was read.
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, f)
	if c.damage(err) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
