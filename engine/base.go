package engine

import (
	"bytes"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// base is what a View has beside Messages and Draft. It never changes once it is read: readers share it.
type base struct {
	chat       *chat.Chat
	queue      []*chat.QueuedMessage
	workspace  *chat.WorkspaceRecord
	parent     *chat.Chat
	children   []*chat.Chat
	config     *chat.ModelConfig
	compactAt  int
	restorable map[chat.MessageID]int
	// news are the newest Messages of the history, ascending and without a gap: all that follow the one with the id since.
	news  []*chat.Message
	since chat.MessageID
	files []kv.ChatFile
}

// newsKept bounds the Messages that a base holds for readers who follow.
const newsKept = 32

// readBase reads it. Lenient leaves out what is damaged, but for the Chat's own record.
func (e *Engine) readBase(tx *kv.Tx, id chat.ID, lenient bool) (*base, error) {
	spare := func(err error) error {
		if lenient && errors.Is(err, kv.ErrDamaged) {
			return nil
		}
		return err
	}
	c, err := mustChat(tx, id)
	if err != nil {
		return nil, err
	}
	b := &base{chat: c, since: c.Chain.LastID}
	if c.Queued > 0 {
		if b.queue, err = tx.Queue(id); spare(err) != nil {
			return nil, err
		}
	}
	if c.WorkspaceID != "" {
		if b.workspace, _, err = tx.Workspace(c.WorkspaceID); spare(err) != nil {
			return nil, err
		}
	}
	// A Chat can be read when no model is left to answer in it.
	if m, err := e.ports.configs(tx, c.ModelConfigID); err == nil {
		b.config = &m
		if b.compactAt, err = compactAt(tx, c, m); err != nil {
			return nil, err
		}
	}
	if c.Files > 0 {
		if b.files, err = tx.ChatFiles(id); spare(err) != nil {
			return nil, err
		}
	}
	if b.parent, b.children, err = kin(tx, c); spare(err) != nil {
		return nil, err
	}
	b.restorable, err = restorable(tx, id, c.WorkspaceID)
	return b, spare(err)
}

// freshBase gives what was kept for a reader who follows when tx has the same history, so that Messages read there belong to it; else it
// reads.
func (e *Engine) freshBase(tx *kv.Tx, in ViewInput, kept *base) (*base, error) {
	if in.Following && kept != nil {
		now, found, err := tx.Chain(in.ChatID)
		if err != nil {
			return nil, err
		}
		was := kept.chat.Chain
		if found && now.Count == was.Count && now.LastID == was.LastID && bytes.Equal(now.Head, was.Head) {
			return kept, nil
		}
	}
	return e.readBase(tx, in.ChatID, false)
}

// kept gives the base that was read since the Chat's last change, nil when there is none, and the func that keeps a newer one. Only a
// Chat that somebody reads or runs has one. Ask before reading the store: what is then read is at least as new as the change counted here.
func (f *feed) kept(id chat.ID) (*base, func(*base)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.chats[id]
	if l == nil {
		return nil, func(*base) {}
	}
	at := l.changes
	return l.base, func(b *base) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.changes == at {
			l.base = b
		}
	}
}

// changed is touch after a commit: what was kept of the Chat counts no more.
func (f *feed) changed(id chat.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.chats[id]; l != nil {
		l.changes++
		l.base = nil
		wakeAll(l.subs)
	}
}

// moved is changed after a transition, whose Chat is at hand with the Messages it is known to have appended: where all else of what was
// kept is still so, nobody has to read it again. Without wake the readers are left to what follows.
func (f *feed) moved(c *chat.Chat, appended []*chat.Message, wake bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.chats[c.ID]
	if l == nil {
		return
	}
	l.changes++
	if old := l.base; old != nil {
		l.base = old.with(c, appended)
	}
	if wake {
		wakeAll(l.subs)
	}
}

// with gives the base after a transition to c, nil when more than the Chat's record may have changed, or c is not the next Version.
func (b *base) with(c *chat.Chat, appended []*chat.Message) *base {
	was := b.chat
	if c.Version != was.Version+1 || c.QueueVersion != was.QueueVersion || c.HistoryEpoch != was.HistoryEpoch || c.Files != was.Files ||
		c.WorkspaceID != was.WorkspaceID || c.ModelConfigID != was.ModelConfigID {
		return nil
	}
	next := *b
	next.chat = c
	if c.Chain.Count != b.chat.Chain.Count+int64(len(appended)) || len(b.news)+len(appended) > newsKept {
		next.news, next.since = nil, c.Chain.LastID
	} else if len(appended) > 0 {
		next.news = append(b.news[:len(b.news):len(b.news)], appended...)
	}
	return &next
}

// after gives the Messages behind an id as a person may see them; false when they are not all held.
func (b *base) after(id chat.MessageID) ([]*chat.Message, bool) {
	if id < b.since {
		return nil, false
	}
	var out []*chat.Message
	for _, m := range b.news {
		if m.ID > id && shown(m) {
			out = append(out, m)
		}
	}
	return out, true
}
