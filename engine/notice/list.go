package notice

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// ListInput asks for at most Limit of the principal's Notices between two numbers, the newest first if not Ascending. 0 is no bound.
type ListInput struct {
	Before, After int64
	Ascending     bool
	Limit         int
}

// Listed are Notices of a person.
type Listed struct {
	Notices []*chat.KeptNotice
	HasMore bool
	// Unread counts those that were not read, of all that are kept.
	Unread int
}

// List gives the principal's Notices; those of Chats that are gone are gone with them.
func (r *Room) List(ctx context.Context, p chat.Principal, in ListInput) (Listed, error) {
	// First what is not written: what is written in between is there twice, and not never.
	fresh := r.waiting()
	var all []*chat.KeptNotice
	var out Listed
	var read int64
	err := r.far.Store.View(ctx, func(tx *kv.Tx) (err error) {
		u, found, err := tx.User(p.UserID)
		if err != nil || !found {
			return err
		}
		read = u.NoticesRead
		if all, err = tx.Notices(p.UserID); err != nil {
			return err
		}
		for _, k := range fresh {
			written := func(n *chat.KeptNotice) bool { return n.Number == k.Seq }
			if k.Notice.User == p.UserID && !slices.ContainsFunc(all, written) {
				all = append(all, stored(k))
			}
		}
		slices.SortFunc(all, func(a, b *chat.KeptNotice) int { return cmp.Compare(a.Number, b.Number) })
		all, err = ofLiving(tx, all[max(0, len(all)-keptStored):])
		return err
	})
	if err != nil {
		return Listed{}, err
	}
	for _, n := range all {
		if n.Read = n.Read || n.Number <= read; !n.Read {
			out.Unread++
		}
	}
	all = slices.DeleteFunc(all, func(n *chat.KeptNotice) bool { return n.Number <= in.After || in.Before > 0 && n.Number >= in.Before })
	if !in.Ascending {
		slices.Reverse(all)
	}
	if out.HasMore = len(all) > in.Limit; out.HasMore {
		all = all[:in.Limit]
	}
	out.Notices = all
	return out, nil
}

// ofLiving leaves out Notices whose Chat was deleted.
func ofLiving(tx *kv.Tx, all []*chat.KeptNotice) ([]*chat.KeptNotice, error) {
	there := map[chat.ID]bool{}
	var out []*chat.KeptNotice
	for _, n := range all {
		is, asked := there[n.Chat]
		if !asked {
			_, found, err := tx.Chat(n.Chat)
			if errors.Is(err, kv.ErrDamaged) {
				// It is there, and what was told of it is as true as it was.
				found, err = true, nil
			}
			if err != nil {
				return nil, err
			}
			is, there[n.Chat] = found, found
		}
		if is {
			out = append(out, n)
		}
	}
	return out, nil
}

// ReadInput names what was read: all up to a number, the one with this Number, or those of a Chat. What is left out names nothing.
type ReadInput struct {
	UpTo   int64
	Number int64
	Chat   chat.ID
}

// names says whether a Notice is one of those.
func (r ReadInput) names(number int64, of chat.ID) bool {
	return number == r.Number || r.Chat != "" && of == r.Chat
}

// Read marks Notices of the principal as read. A smaller number than before changes nothing.
func (r *Room) Read(ctx context.Context, p chat.Principal, in ReadInput) (Done, error) {
	if in.UpTo < 0 {
		return Done{}, chat.Invalid("up_to", "the id of a notification")
	}
	if in.Number < 0 {
		return Done{}, chat.Invalid("id", "the id of a notification")
	}
	// First those that are not written: whoever writes them meanwhile asks again.
	changed := r.readUnwritten(p.UserID, in)
	news, err := r.unread(ctx, p, in)
	// A batch that has asked already is in the store before this.
	if err == nil && (changed || len(news) > 0) {
		changed, err = true, r.far.Store.Update(ctx, func(tx *kv.Tx) error { return readStored(tx, p.UserID, in) })
	}
	if err == nil && in.UpTo > 0 {
		r.mu.Lock()
		upTo := min(in.UpTo, r.last)
		r.mu.Unlock()
		changed, err = true, r.changeUser(ctx, p, func(u *chat.User) { u.NoticesRead = max(u.NoticesRead, upTo) })
	}
	if changed {
		r.changed(p.UserID)
	}
	return Done{}, err
}

// readUnwritten marks those that are not in the store yet.
func (r *Room) readUnwritten(user chat.UserID, in ReadInput) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.unwritten {
		k := &r.unwritten[i]
		if k.Notice.User == user && !k.Read && in.names(k.Seq, k.Notice.Chat) {
			k.Read, changed = true, true
		}
	}
	return changed
}

// unread gives the stored ones that are named and not read: looking at a Chat rarely has to write.
func (r *Room) unread(ctx context.Context, p chat.Principal, in ReadInput) (out []*chat.KeptNotice, err error) {
	if in.Number == 0 && in.Chat == "" {
		return nil, nil
	}
	err = r.far.Store.View(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(p.UserID)
		if err != nil || !found {
			return err
		}
		out, err = tx.Notices(p.UserID)
		out = slices.DeleteFunc(out, func(n *chat.KeptNotice) bool {
			return n.Read || n.Number <= u.NoticesRead || !in.names(n.Number, n.Chat)
		})
		return err
	})
	return out, err
}

func readStored(tx *kv.Tx, user chat.UserID, in ReadInput) error {
	all, err := tx.Notices(user)
	if err != nil {
		return err
	}
	for _, n := range all {
		if n.Read || !in.names(n.Number, n.Chat) {
			continue
		}
		n.Read = true
		if err := tx.AddNotice(user, n); err != nil {
			return err
		}
	}
	return nil
}

// MutedInput asks for the kinds that the principal is not told of.
type MutedInput struct{}

// Muted gives the kinds of Notices that the principal is not told of.
func (r *Room) Muted(ctx context.Context, p chat.Principal, _ MutedInput) ([]chat.NoticeKind, error) {
	var out []chat.NoticeKind
	err := r.far.Store.View(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(p.UserID)
		if found {
			out = slices.Clone(u.MutedNotices)
		}
		return err
	})
	return out, err
}

// MuteInput are all kinds that the principal does not want to be told of.
type MuteInput struct{ Kinds []chat.NoticeKind }

// Mute says which kinds of Notices the principal is not told of: neither by a page nor by what they have subscribed. They are listed all the same.
func (r *Room) Mute(ctx context.Context, p chat.Principal, in MuteInput) (Done, error) {
	for _, k := range in.Kinds {
		if !slices.Contains(chat.NoticeKinds, k) {
			return Done{}, chat.Invalid("kinds", "must be finished, failed or action_required")
		}
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(in.Kinds)))
	defer r.changed(p.UserID)
	return Done{}, r.changeUser(ctx, p, func(u *chat.User) { u.MutedNotices = kinds })
}

func (r *Room) changeUser(ctx context.Context, p chat.Principal, change func(*chat.User)) error {
	return r.far.Store.Update(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("user")
		}
		change(u)
		return tx.PutUser(u)
	})
}
