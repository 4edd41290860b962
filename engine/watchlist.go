package engine

import (
	"context"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// WatchListInput is for the list of the principal's Chats.
type WatchListInput struct{}

// ListWatch is a subscription to a person's Chats: C is touched, without payload, after each change. Stop ends it and must be called.
type ListWatch struct {
	C    <-chan struct{}
	Stop func()
	// Changed gives the Chats that were touched since it was last asked, each once; all says that they were too many to name.
	Changed func() (ids []chat.ID, all bool)
}

// WatchList subscribes to the principal's Chats. Subscribe before the first read.
func (e *Engine) WatchList(_ context.Context, p chat.Principal, _ WatchListInput) (ListWatch, error) {
	l, stop := e.feed.subscribeOwner(p.UserID)
	return ListWatch{C: l.wake, Stop: stop, Changed: func() ([]chat.ID, bool) { return e.feed.changedOf(l) }}, nil
}

// listener is woken for a person's Chats and remembers which of them to read again: no state, so a slow reader loses nothing.
type listener struct {
	wake    chan struct{}
	touched map[chat.ID]struct{}
	all     bool
}

// maxTouched is how many Chats a listener remembers by name.
const maxTouched = 1000

// subscribeOwner gives a listener that is touched after each transition of a person's Chats, not by Draft growth, and the func that ends it.
func (f *feed) subscribeOwner(u chat.UserID) (*listener, func()) {
	l := &listener{wake: make(chan struct{}, 1), touched: map[chat.ID]struct{}{}}
	f.mu.Lock()
	if f.owners[u] == nil {
		f.owners[u] = map[*listener]struct{}{}
	}
	f.owners[u][l] = struct{}{}
	f.mu.Unlock()
	return l, sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.owners[u], l)
		if len(f.owners[u]) == 0 {
			delete(f.owners, u)
		}
	})
}

// touchOwner wakes those who watch a person's Chats.
func (f *feed) touchOwner(u chat.UserID, id chat.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.owners[u] {
		if len(l.touched) < maxTouched {
			l.touched[id] = struct{}{}
		} else if _, known := l.touched[id]; !known {
			l.all = true
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (f *feed) changedOf(l *listener) ([]chat.ID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids, all := make([]chat.ID, 0, len(l.touched)), l.all
	for id := range l.touched {
		ids = append(ids, id)
	}
	clear(l.touched)
	l.all = false
	return ids, all
}

// OverviewInput asks for the principal's Chats as they are now, archived ones and children included: those of IDs that are there, or, where
// IDs is nil, all. Of those that are named, one whose record cannot be read is there and Lost.
type OverviewInput struct{ IDs []chat.ID }

// OverviewOutput is in no order; Unread names the Chats with a reply that was not seen.
type OverviewOutput struct {
	Chats  []*chat.Chat
	Unread map[chat.ID]bool
}

// overviewBatch is how many Chats one read transaction gives, so that none is held long.
const overviewBatch = 256

// Overview reads the principal's Chats in several short transactions: each Chat is as it was at one moment, the whole is not.
func (e *Engine) Overview(ctx context.Context, p chat.Principal, in OverviewInput) (OverviewOutput, error) {
	out := OverviewOutput{Unread: map[chat.ID]bool{}}
	add := func(tx *kv.Tx, c *chat.Chat) error {
		seen, err := tx.ReadMark(p.UserID, c.ID)
		if err != nil {
			return err
		}
		out.Chats = append(out.Chats, c)
		out.Unread[c.ID] = c.State.AtRest() && seen < c.LastReply
		return nil
	}
	if in.IDs == nil {
		for last, more := chat.ID(""), true; more; {
			err := e.store.View(ctx, func(tx *kv.Tx) error {
				page, err := tx.OwnedChats(p.UserID, last, overviewBatch)
				for i := 0; i < len(page) && err == nil; i++ {
					last = page[i].ID
					err = add(tx, page[i])
				}
				more = len(page) == overviewBatch
				return err
			})
			if err != nil {
				return out, err
			}
		}
		return out, nil
	}
	for rest := in.IDs; len(rest) > 0; {
		batch := rest[:min(len(rest), overviewBatch)]
		rest = rest[len(batch):]
		err := e.store.View(ctx, func(tx *kv.Tx) error {
			for _, id := range batch {
				c, found, err := tx.ChatOrLost(id)
				if err != nil {
					return err
				}
				if !found || c.OwnerID != p.UserID && !c.Lost() {
					continue
				}
				if err := add(tx, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
