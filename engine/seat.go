package engine

import (
	"context"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// seat is a free slot kept for a root Chat that is about to become runnable, so that the transition that makes it so and the Acquire share
// one commit.
type seat struct {
	r  *runner
	ru *run
}

// seat gives nil when no slot is free, others wait for one, or a goroutine of ours has the Chat already. Take or leave must follow.
func (r *runner) seat(id chat.ID) *seat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ours := r.taken[id]; ours || r.closed || r.passed || r.seats.busy[rootChats] >= r.slots(rootChats) {
		return nil
	}
	r.seats.busy[rootChats]++
	r.taken[id] = &held{pool: rootChats}
	r.joined.Add(1)
	return &seat{r: r, ru: r.newRun(id)}
}

// take runs the Chat, which has the seat's lease.
func (s *seat) take(c *chat.Chat) {
	go func() {
		defer s.r.joined.Done()
		s.ru.do(s.r.ctx, c)
		s.r.e.feed.unregister(s.ru.id, s.ru)
		s.r.again(s.ru.id)
	}()
}

// lend makes the slot one of a Sub-agent, which the Chat turned out to be.
func (s *seat) lend() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.seats.busy[rootChats]--
	s.r.seats.busy[childChats]++
	s.r.taken[s.ru.id].pool = childChats
}

// leave gives the slot back.
func (s *seat) leave() {
	s.r.e.feed.unregister(s.ru.id, s.ru)
	go func() {
		defer s.r.joined.Done()
		s.r.again(s.ru.id)
	}()
}

// newRun makes a run and registers it before its lease is written: an interrupt that follows the commit must find it.
func (r *runner) newRun(id chat.ID) *run {
	ru := newRun(r.e, id, chat.Lease{Epoch: r.e.store.Epoch(), Runner: uuid.Must(uuid.NewV7()).String()})
	r.e.feed.register(id, ru)
	return ru
}

// acquire is the transition that gives the run its lease.
func (r *run) acquire() change {
	lease := r.lease
	return change{chat: r.id, quiet: true,
		event: func(*kv.Tx, *chat.Chat) (chat.Event, error) { return chat.Event{Kind: chat.Acquire}, nil },
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error { c.Lease = &lease; return nil }}
}

// changeAndRun is change for a transition that may make a Chat runnable: with a free slot the Chat is acquired in the same commit.
func (e *Engine) changeAndRun(ctx context.Context, x change) error {
	s := e.runner.seat(x.chat)
	if s == nil {
		_, err := e.change(ctx, x)
		return err
	}
	var out, acquired changed
	var refused error
	err := e.store.Update(ctx, func(tx *kv.Tx) (err error) {
		out, acquired, refused, err = e.transactAndAcquire(tx, x, s.ru)
		return err
	})
	if err != nil || refused != nil {
		s.leave()
		if err != nil {
			return e.refusal(ctx, x.chat, err)
		}
		return e.refusal(ctx, x.chat, refused)
	}
	if acquired.chat == nil {
		if out.chat.Child() {
			s.lend()
		}
		s.leave()
	} else {
		out.move.Effects &^= chat.Wake
	}
	if !out.move.Effects.Has(chat.NoChange) {
		out.followed = acquired.chat != nil
		e.after(out, x.appended())
	}
	if acquired.chat != nil {
		e.after(acquired, nil)
		s.take(acquired.chat)
	}
	return nil
}

// transactAndAcquire is transact, and behind it the Acquire of a root that became runnable; the Chat's record is written once for both.
// acquired is empty where the Chat was not acquired.
func (e *Engine) transactAndAcquire(tx *kv.Tx, x change, ru *run) (out, acquired changed, refused, err error) {
	c, found, err := tx.Chat(x.chat)
	if err != nil {
		return out, acquired, nil, err
	}
	if !found {
		return out, acquired, chat.NotFound("chat"), nil
	}
	out, refused, err = e.apply(tx, c, x)
	if err != nil || refused != nil || out.move.Effects.Has(chat.NoChange) {
		return out, acquired, refused, err
	}
	if out.move.Effects.Has(chat.Wake) && !c.Child() {
		// Those who are told of the first transition get the Chat as that left it.
		then := *c
		if acquired, refused, err = e.apply(tx, &then, ru.acquire()); err != nil {
			return out, acquired, nil, err
		}
		if refused == nil {
			c = &then
		}
	}
	return out, acquired, nil, tx.PutChat(c)
}
