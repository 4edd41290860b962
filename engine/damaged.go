package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Damaged is what cannot be read of a Chat.
type Damaged struct {
	// Reason is what the store found first.
	Reason string
	// Last is the newest Message in front of the damage that a person sees, where a copy can end; 0 for none.
	Last chat.MessageID
	Gaps []Gap
}

// Gap is a place of the history where something cannot be read: at the Message At or right before it.
type Gap struct {
	At     chat.MessageID
	Reason string
}

// errReadOnly is the refusal of a transition that a damaged Chat does not make; whoever answers says the rest, outside of the transaction.
var errReadOnly = errors.New("engine: a part of the chat cannot be read")

// standing is what decides a transition of a Chat. A damaged one takes nothing from its queue: it does not go on.
func (e *Engine) standing(c *chat.Chat, k chat.EventKind) (chat.Standing, error) {
	s := chat.StandingOf(c)
	if _, damaged := e.store.DamagedChat(c.ID); !damaged {
		return s, nil
	}
	switch k {
	case chat.Send, chat.SendInterrupt, chat.Edit, chat.Approve, chat.Deny, chat.SubmitResults, chat.Retrying, chat.EditQueued, chat.MoveQueued,
		chat.Promote, chat.Compact, chat.Clear:
		return s, errReadOnly
	case chat.Close:
		return s, nil
	}
	s.Queue = 0
	return s, nil
}

// refusal gives the error of a transition as a person reads it.
func (e *Engine) refusal(ctx context.Context, id chat.ID, err error) error {
	if d, damaged := e.store.DamagedChat(id); damaged && (errors.Is(err, errReadOnly) || errors.Is(err, kv.ErrDamaged)) {
		return e.readOnly(ctx, id, d)
	}
	return storeError(err)
}

// whole refuses what needs the history of a Chat that is known to be damaged.
func (e *Engine) whole(ctx context.Context, id chat.ID) error {
	if d, damaged := e.store.DamagedChat(id); damaged {
		return e.readOnly(ctx, id, d)
	}
	return nil
}

// readOnly says that a damaged Chat does not go on, and up to where a copy can be made.
func (e *Engine) readOnly(ctx context.Context, id chat.ID, d kv.Damage) error {
	out := &chat.Error{Kind: chat.KindChatDamaged, Message: "A part of this chat cannot be read, so it does not go on.", Detail: d.Reason + "."}
	var last chat.MessageID
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		if _, err := mustChat(tx, id); err != nil {
			return err
		}
		history, err := tx.ReadableMessages(id)
		last = lastShown(history)
		return err
	})
	if err != nil {
		return storeError(err)
	}
	if last != 0 {
		out.Detail += fmt.Sprintf(" Fork it at message %d, the last one before the damage, and go on there.", last)
	}
	return out
}

func lastShown(history kv.Readable) (last chat.MessageID) {
	for _, m := range history.Good() {
		if m.Visibility != chat.VisibleModel {
			last = m.ID
		}
	}
	return last
}

// damagedView reads a Chat of which a part cannot be read, with its gaps. What stands beside the history and cannot be read is left out.
func (e *Engine) damagedView(ctx context.Context, in ViewInput, d kv.Damage) (View, error) {
	var v View
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		b, err := e.readBase(tx, in.ChatID, true)
		if err != nil {
			return err
		}
		history, err := tx.ReadableMessages(in.ChatID)
		if err != nil {
			return err
		}
		e.fill(&v, b)
		v.Damaged = &Damaged{Reason: d.Reason, Last: lastShown(history)}
		v.Messages, v.HasMore = pageOf(history.Messages, in)
		v.Damaged.Gaps = gapsOf(history, v, in)
		return nil
	})
	return v, err
}

// pageOf is visible for Messages that were read.
func pageOf(all []*chat.Message, in ViewInput) (out []*chat.Message, more bool) {
	for _, m := range all {
		if shown(m) && m.ID > in.After && (in.Before == 0 || m.ID < in.Before) {
			out = append(out, m)
		}
	}
	if in.Limit <= 0 || len(out) <= in.Limit {
		return out, false
	}
	if in.Ascending || in.After != 0 && in.Before == 0 {
		return out[:in.Limit], true
	}
	return out[len(out)-in.Limit:], true
}

// gapsOf are the gaps of a page, those that stand together as one.
func gapsOf(history kv.Readable, v View, in ViewInput) (out []Gap) {
	from, to := in.After, in.Before
	if n := len(v.Messages); v.HasMore && n > 0 {
		if in.Ascending || in.After != 0 && in.Before == 0 {
			to = v.Messages[n-1].ID + 1
		} else {
			from = v.Messages[0].ID
		}
	}
	last := -1
	for _, d := range history.Lost {
		if d.Message < from || to != 0 && d.Message >= to {
			continue
		}
		at, _ := slices.BinarySearchFunc(history.Messages, d.Message, func(m *chat.Message, id chat.MessageID) int { return int(m.ID - id) })
		if at == last {
			continue
		}
		last = at
		out = append(out, Gap{At: d.Message, Reason: d.Reason})
	}
	return out
}

// lostWith says whether a write failed because the end of the Chat's history cannot be read: what it would have added has no place.
func lostWith(err error) bool { return errors.Is(err, kv.ErrDamaged) }
