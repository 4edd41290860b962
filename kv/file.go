package kv

import (
	"bytes"
	"context"
	"slices"

	"holdfast/engine/chat"
)

var fileFields = fieldsOf[chat.File]()

// File gives a File's record.
func (x *Tx) File(id chat.FileID) (*chat.File, bool, error) {
	return getByID[chat.File](x, bFile, id)
}

// PutFile writes a File's record. Put its bytes with Store.PutFile before.
func (x *Tx) PutFile(f *chat.File) error {
	key, err := idKey(f.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bFile, key, f, fileFields)
}

// ChatFile is a File as a Chat has it.
type ChatFile struct {
	*chat.File
	Link chat.FileLink
}

// Gone says whether the Chat's model and its readers have the bytes no more.
func (f ChatFile) Gone() bool { return f.Link.Dropped || f.Dropped }

// ChatFiles gives the Files that were sent in a Chat, in the order in which they were first sent.
func (x *Tx) ChatFiles(id chat.ID) ([]ChatFile, error) {
	prefix, err := idKey(id)
	if err != nil {
		return nil, err
	}
	var out []ChatFile
	err = x.t.scan(bFileLink, prefix, nil, func(r row) (bool, error) {
		l, err := decodeRow[chat.FileLink](x, bFileLink, r)
		if err != nil {
			return false, err
		}
		f, found, err := getNoun[chat.File](x, bFile, r.key[idSize:])
		if found {
			out = append(out, ChatFile{File: f, Link: *l})
		}
		return true, err
	})
	slices.SortFunc(out, func(a, b ChatFile) int { return int(a.Link.N - b.Link.N) })
	return out, err
}

// linkFile ties a File to a Chat; c.Files grows, and the caller then calls PutChat(c). What is tied already stays as it is, and what is
// unknown or another person's is not tied.
func (x *Tx) linkFile(c *chat.Chat, id chat.FileID) error {
	f, found, err := x.File(id)
	if err != nil || !found || f.OwnerID != c.OwnerID {
		return err
	}
	key, err := linkKey(c.ID, id)
	if err != nil {
		return err
	}
	old, found, err := getNoun[chat.FileLink](x, bFileLink, key)
	if err != nil || found && !old.Dropped {
		return err
	}
	c.Files++
	return x.t.putJSON(bFileLink, key, chat.FileLink{N: c.Files})
}

// LinkFiles ties Files to a Chat; the caller then calls PutChat(c). Beyond most of them the oldest lose their place: those are given. Their
// bytes go with the next sweep, unless another Chat has them too.
func (x *Tx) LinkFiles(c *chat.Chat, ids []chat.FileID, most int) (dropped []*chat.File, err error) {
	for _, id := range ids {
		if err := x.linkFile(c, id); err != nil {
			return nil, err
		}
	}
	all, err := x.ChatFiles(c.ID)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(all, ChatFile.Gone)
	// What Tools answered with makes room for what a person sent.
	slices.SortStableFunc(kept, func(a, b ChatFile) int { return toolsFirst(b) - toolsFirst(a) })
	return x.dropFirst(c.ID, kept, len(kept)-most)
}

func toolsFirst(f ChatFile) int {
	if f.FromTool {
		return 1
	}
	return 0
}

// TrimToolFiles drops the oldest Files that Tools answered with: those beyond ofTools that nobody chose for the user, and as many more as it
// takes to keep most in all.
func (x *Tx) TrimToolFiles(id chat.ID, ofTools, most int) error {
	all, err := x.ChatFiles(id)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(all, ChatFile.Gone)
	over := len(kept) - most
	kept = slices.DeleteFunc(kept, func(f ChatFile) bool { return !f.FromTool })
	shown := slices.DeleteFunc(slices.Clone(kept), func(f ChatFile) bool { return f.Given })
	dropped, err := x.dropFirst(id, shown, len(shown)-ofTools)
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(f ChatFile) bool {
		return slices.ContainsFunc(dropped, func(d *chat.File) bool { return d.ID == f.ID })
	})
	_, err = x.dropFirst(id, kept, min(over-len(dropped), len(kept)))
	return err
}

func (x *Tx) dropFirst(id chat.ID, files []ChatFile, n int) (dropped []*chat.File, err error) {
	for _, f := range files[:max(0, n)] {
		if err := x.dropLink(id, f); err != nil {
			return nil, err
		}
		dropped = append(dropped, f.File)
	}
	return dropped, nil
}

func (x *Tx) dropLink(id chat.ID, f ChatFile) error {
	key, err := linkKey(id, f.ID)
	if err != nil {
		return err
	}
	f.Link.Dropped = true
	if err := x.t.putJSON(bFileLink, key, f.Link); err != nil {
		return err
	}
	elsewhere := false
	err = x.t.scan(bFileLink, nil, nil, func(r row) (bool, error) {
		if !bytes.Equal(r.key[idSize:], key[idSize:]) {
			return true, nil
		}
		l, err := decodeRow[chat.FileLink](x, bFileLink, r)
		elsewhere = err == nil && !l.Dropped
		return !elsewhere, err
	})
	if err != nil || elsewhere {
		return err
	}
	f.Dropped = true
	return x.PutFile(f.File)
}

func linkKey(id chat.ID, f chat.FileID) ([]byte, error) {
	key, err := chatKey(id)
	if err != nil {
		return nil, err
	}
	last, err := idKey(f)
	return append(key, last...), err
}

// sweepUploads removes Files that stand in no Chat: never sent, or those of Chats that were deleted.
func (s *Store) sweepUploads(ctx context.Context) (int, error) {
	removed := 0
	limit := s.now().Add(-keepUnreferenced)
	for n := purgeRecords; n == purgeRecords; removed += n {
		err := s.Update(ctx, func(tx *Tx) error {
			n = 0
			linked := map[id16]bool{}
			err := tx.t.scan(bFileLink, nil, nil, func(r row) (bool, error) {
				linked[toID(r.key[idSize:])] = true
				return true, nil
			})
			if err != nil {
				return err
			}
			var gone [][]byte
			err = tx.t.scan(bFile, nil, nil, func(r row) (bool, error) {
				if linked[toID(r.key)] {
					return true, nil
				}
				f, err := decodeRow[chat.File](tx, bFile, r)
				if err == nil && f.CreatedAt.Before(limit) {
					gone = append(gone, bytes.Clone(r.key))
				}
				return len(gone) < purgeRecords, err
			})
			if err != nil {
				return err
			}
			for _, key := range gone {
				if err := tx.t.delete(bFile, key); err != nil {
					return err
				}
			}
			n = len(gone)
			return nil
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// uploads holds the Files against their bytes, and the links against Files and Chats.
func (c *checker) uploads() error {
	err := c.each(bFile, func(key []byte, r record) {
		f := checkJSON[chat.File](c, bFile, key, r)
		c.named(bFile, key, idText(f, func(f *chat.File) string { return string(f.ID) }))
		if f == nil || f.Dropped {
			return
		}
		if sum, ok := sumOf(f.SHA256); ok {
			c.needs(sum, f.Size, bFile, key)
		} else {
			c.add(bFile, key, "it names no bytes")
		}
	})
	if err != nil {
		return err
	}
	return c.each(bFileLink, func(key []byte, r record) {
		c.owned(bFileLink, key)
		l := checkJSON[chat.FileLink](c, bFileLink, key, r)
		if len(key) != 2*idSize {
			c.add(bFileLink, key, "the key is not a chat and a file")
			return
		}
		if _, found, err := c.tx.t.get(bFile, key[idSize:]); err == nil && !found {
			c.add(bFileLink, key, "its file is not there")
		}
		if x := c.chats[toID(key)]; l != nil && l.N <= 0 && x != nil {
			c.add(bFileLink, key, "it has no place in the order of the chat's files")
		}
	})
}

// linked reports a File that a Message names and that is not tied to the Message's Chat.
func (c *checker) linked(key []byte, m *chat.Message, id chat.FileID) {
	f, found, err := c.tx.File(id)
	x := c.chats[toID(key)]
	if err != nil || !found || x == nil || x.doomed || x.head.owner.String() != string(f.OwnerID) {
		return
	}
	link, err := linkKey(m.ChatID, id)
	if err != nil {
		return
	}
	if _, found, err := c.tx.t.get(bFileLink, link); err == nil && !found {
		c.add(bMessage, key, "it names the file %s, which is not tied to its chat", id)
	}
}
