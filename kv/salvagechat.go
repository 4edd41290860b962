package kv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast/engine/chat"
)

// SalvagedChat is a Chat as far as it can be read.
type SalvagedChat struct {
	// Chat is its record; of one that cannot be read, no more than the id.
	Chat *chat.Chat
	// Messages are those that can be read and are not deleted.
	Messages []*chat.Message
	// Files are those that the Messages name.
	Files []ChatFile
	// Lost says what is missing, in the order of the history: what has a Message stood where that one stands, or right before it. It is empty
	// when the Chat is whole.
	Lost []Damage
}

// Chats names the Chats of which anything was found, but for those that were being removed.
func (s *Salvage) Chats() []chat.ID {
	var out []chat.ID
	for _, id := range s.ids() {
		out = append(out, chat.ID(id.String()))
	}
	return out
}

func (s *Salvage) ids() []id16 {
	all := map[id16]bool{}
	for _, b := range []bucket{bChat, bMessage, bMark} {
		for key := range s.records[b] {
			all[id16([]byte(key[:idSize]))] = true
		}
	}
	for id := range s.broken {
		all[id] = true
	}
	maps.DeleteFunc(all, func(id id16, _ bool) bool {
		rec, err := s.record(bChat, id[:])
		if err != nil {
			return false
		}
		root := parseChatHead(rec.head).root
		_, doomed := s.records[bDoomed][string(root[:])]
		return doomed
	})
	return slices.SortedFunc(maps.Keys(all), func(a, b id16) int { return bytes.Compare(a[:], b[:]) })
}

// Chat gives what can be read of one Chat. A Chat of which nothing was found has no Messages and one loss.
func (s *Salvage) Chat(id chat.ID) (SalvagedChat, error) {
	key, err := parseID(string(id))
	if err != nil {
		return SalvagedChat{}, err
	}
	history := s.links(key)
	out := SalvagedChat{Chat: &chat.Chat{ID: id}, Lost: history.lost}
	c := new(chat.Chat)
	if err := s.json(bChat, key[:], &storedChat{Chat: c}); err == nil {
		out.Chat = c
	} else if d := new(DamageError); errors.As(err, &d) {
		out.Lost = append([]Damage{d.Damage}, out.Lost...)
	}
	for _, l := range history.links {
		if l.mark || deletedBy(history.marks, l.id) {
			continue
		}
		m, err := s.message(l)
		if err != nil {
			out.Lost = append(out.Lost, *err)
			continue
		}
		out.Messages = append(out.Messages, m)
		out.Lost = append(out.Lost, s.filesOf(&out, key, m)...)
	}
	slices.SortStableFunc(out.Lost, func(a, b Damage) int { return cmp.Compare(a.Message, b.Message) })
	return out, nil
}

func (s *Salvage) message(l foundLink) (*chat.Message, *Damage) {
	m := new(chat.Message)
	err := s.json(bMessage, l.key, &storedMessage{Message: m})
	if err == nil && m.ContentVersion != contentVersion {
		err = fmt.Errorf("its content has version %d, which is not known here", m.ContentVersion)
	}
	if err == nil {
		m.ID, m.ChatID = l.id, chat.ID(toID(l.key).String())
		return m, nil
	}
	if d := new(DamageError); errors.As(err, &d) {
		return nil, &d.Damage
	}
	d := damageAt(bMessage, l.key, err.Error())
	return nil, &d
}

// filesOf adds the Files that a Message names, each once, and gives the ones whose record is lost.
func (s *Salvage) filesOf(c *SalvagedChat, id id16, m *chat.Message) []Damage {
	var lost []Damage
	for _, p := range m.Content {
		if p.FileID == "" || isSum(p.FileID) || slices.ContainsFunc(c.Files, func(f ChatFile) bool { return string(f.ID) == p.FileID }) {
			continue
		}
		key, err := parseID(p.FileID)
		if err != nil {
			continue
		}
		f := ChatFile{File: new(chat.File)}
		if err := s.json(bFile, key[:], f.File); err != nil {
			d := damageAt(bMessage, sequenceKey(id[:], int64(m.ID)), fmt.Sprintf("what is known of its file %q cannot be read", p.Name))
			d.Noun = bFile.String()
			lost = append(lost, d)
			continue
		}
		// A link that is lost says nothing against the file.
		_ = s.json(bFileLink, append(id[:], key[:]...), &f.Link)
		c.Files = append(c.Files, f)
	}
	return lost
}

// foundLink is a Message or mark that was found, whole or broken.
type foundLink struct {
	id     chat.MessageID
	mark   bool
	key    []byte
	broken *Damage
}

// foundHistory is what was found of a Chat's chain.
type foundHistory struct {
	links []foundLink
	marks []mark
	lost  []Damage
	// gap: lost names a place where Messages are missing of which nothing was found.
	gap bool
}

// links follows the chain of a Chat as far as it goes, and on behind each gap.
func (s *Salvage) links(id id16) foundHistory {
	out := foundHistory{marks: s.marksOf(id), links: slices.Clone(s.found[id])}
	for _, d := range s.broken[id] {
		if d.Noun == bMessage.String() || d.Noun == bMark.String() {
			if d.Message > 0 {
				out.links = append(out.links, foundLink{id: d.Message, mark: d.Noun == bMark.String(), broken: &d})
			}
		} else if d.Noun == bChat.String() {
			out.lost = append(out.lost, d)
		}
	}
	slices.SortFunc(out.links, func(a, b foundLink) int { return cmp.Compare(a.id, b.id) })
	s.follow(&out, id)
	return out
}

// follow holds each link against the one before it, and leaves those out that were found broken.
func (s *Salvage) follow(h *foundHistory, id id16) {
	var last link
	sure, broken := true, 0
	whole := h.links[:0]
	for _, l := range h.links {
		b := bMessage
		if l.mark {
			b = bMark
		}
		rec, err := s.record(b, l.key)
		if l.broken == nil && err != nil {
			d := damageAt(b, l.key, err.Error())
			l.broken = &d
		}
		if l.broken != nil {
			broken++
			last.id, sure = l.id, false
			if l.mark {
				l.broken.Reason += "; messages that it deleted may be among the others"
			}
			// A Message that was deleted is missed by nobody.
			if l.mark || !deletedBy(h.marks, l.id) {
				h.lost = append(h.lost, *l.broken)
			}
			continue
		}
		if want := linkHash(last.hash, b, l.key, rec.version, rec.body); sure && !bytes.Equal(want[:], rec.head) {
			h.lost, h.gap = append(h.lost, damageAt(b, l.key, fmt.Sprintf("what stood between message %d and this one is missing", last.id))), true
		}
		last, sure = link{id: l.id, hash: bytes.Clone(rec.head)}, true
		whole = append(whole, l)
	}
	h.links = whole
	s.ending(h, id, last, sure, broken)
}

// ending holds the end of the chain against the Chat's record.
func (s *Salvage) ending(h *foundHistory, id id16, last link, sure bool, broken int) {
	add := func(b bucket, key []byte, format string, args ...any) {
		h.lost = append(h.lost, damageAt(b, key, fmt.Sprintf(format, args...)))
	}
	rec, err := s.record(bChat, id[:])
	if err != nil {
		add(bChat, id[:], "its record cannot be read: neither its title is known, nor whether messages are missing at the end")
		return
	}
	chain := parseChatHead(rec.head).chain
	missing := chain.Count - int64(len(h.links)+broken)
	switch {
	case last.id > chain.LastID:
		add(bChat, id[:], "its record is older than its messages, so whether messages are missing at the end cannot be told")
	case last.id < chain.LastID || sure && chain.Count > 0 && !bytes.Equal(last.hash, chain.Head):
		add(bMessage, sequenceKey(id[:], int64(chain.LastID)), "what stood behind message %d, up to this one, is missing", last.id)
	case missing > 0 && !h.gap:
		add(bChat, id[:], "%d messages are missing beside those that are named", missing)
	}
}

func (s *Salvage) marksOf(id id16) []mark {
	var out []mark
	for _, l := range s.found[id] {
		var m storedMark
		if l.mark && s.json(bMark, l.key, &m) == nil {
			out = append(out, mark{id: l.id, from: m.From, key: l.key})
		}
	}
	slices.SortFunc(out, func(a, b mark) int { return cmp.Compare(a.id, b.id) })
	return out
}
