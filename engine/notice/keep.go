package notice

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// keptStored is how many Notices of a person are kept in the store.
	keptStored = 100
	// trimEvery is after how many that were kept one by one what is over goes: to look takes longer than to keep.
	trimEvery = 16
	// maxUnwritten bounds the Notices that wait to be written.
	maxUnwritten = 10_000
	// keepEvery is how long a write waits for the one before it, so that many Notices share one.
	keepEvery = time.Second
	// lastWrite bounds the write at the end.
	lastWrite = 5 * time.Second
)

// goOn continues the numbers behind those in the store: a busy minute gives more of them than it has milliseconds.
func (r *Room) goOn(ctx context.Context, o Far) {
	var last int64
	err := o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		last, err = tx.LastNotice()
		return err
	})
	if err != nil {
		o.Log.WarnContext(ctx, "the notices that were kept cannot be read", chat.LogError, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, last)
}

// Keep stores a Notice in the transaction that takes it out of what is owed, and numbers it; Post then tells it. So after a kill it is owed or kept.
//
//guard:none the engine calls it with a Notice of its own
func (r *Room) Keep(tx *kv.Tx, n *chat.Notice) error {
	r.mu.Lock()
	r.last++
	k := Kept{Seq: r.last, At: time.Now().UTC(), Notice: *n}
	p := r.personLocked(n.User)
	p.stored = (p.stored + 1) % trimEvery
	full := p.stored == 0
	r.mu.Unlock()
	if err := tx.AddNotice(n.User, stored(k)); err != nil {
		return err
	}
	n.Number = k.Seq
	if full {
		return tx.TrimNotices(n.User)
	}
	return nil
}

// keepLocked lets a Notice be written soon.
func (r *Room) keepLocked(k Kept) {
	if r.far == nil {
		return
	}
	if len(r.unwritten) >= maxUnwritten {
		r.unwritten = slices.Delete(r.unwritten, 0, 1)
	}
	r.unwritten = append(r.unwritten, k)
	select {
	case r.far.unwritten <- struct{}{}:
	default:
	}
}

// keepAll writes Notices until ctx is done, and then what is left.
func (r *Room) keepAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			r.write(end)
			return
		case <-r.far.unwritten:
		}
		r.write(ctx)
		pause(ctx, keepEvery)
	}
}

// write writes what waits; what cannot be written waits for the next Notice.
func (r *Room) write(ctx context.Context) {
	batch := r.waiting()
	if len(batch) == 0 {
		return
	}
	of := map[chat.UserID]int{}
	err := r.far.Store.Update(ctx, func(tx *kv.Tx) error {
		clear(of)
		for _, k := range slices.Backward(batch) {
			user := k.Notice.User
			if of[user]++; of[user] > keptStored {
				continue
			}
			// It may have been read since the batch was copied.
			k.Read = r.readBefore(k.Seq)
			if err := tx.AddNotice(user, stored(k)); err != nil {
				return err
			}
		}
		for user := range of {
			if err := tx.TrimNotices(user); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if ctx.Err() == nil {
			r.far.Log.WarnContext(ctx, "notices could not be kept", chat.LogError, err)
		}
		return
	}
	last := batch[len(batch)-1].Seq
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwritten = slices.DeleteFunc(r.unwritten, func(k Kept) bool { return k.Seq <= last })
}

// readBefore says whether a Notice that is not written yet was read.
func (r *Room) readBefore(number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.unwritten, func(k Kept) bool { return k.Seq == number && k.Read })
}

// waiting gives a copy of what is not written yet.
func (r *Room) waiting() []Kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.unwritten)
}

func stored(k Kept) *chat.KeptNotice {
	n := k.Notice
	return &chat.KeptNotice{Number: k.Seq, At: k.At, Chat: n.Chat, Kind: n.Kind, Title: cut(n.Title, maxTitle), Body: cut(n.Body, maxBody), Read: k.Read}
}
