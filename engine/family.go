package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// changeFamily amends a Chat and archives it or takes it back, with all Chats below it: one transition each, in one transaction. Those
// that stand so already stay as they are.
func (e *Engine) changeFamily(ctx context.Context, amend change, archived bool) (*chat.Chat, error) {
	kind := chat.Unarchive
	if archived {
		kind = chat.Archive
	}
	var outs []changed
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		outs = nil
		do := func(x change) error {
			out, refused, err := e.transact(tx, x)
			if err != nil || refused != nil {
				// Others of the family may be written already: the error takes them back.
				return errors.Join(refused, err)
			}
			outs = append(outs, out)
			return nil
		}
		if err := do(amend); err != nil {
			return err
		}
		c := outs[0].chat
		if err := withRoot(tx, c, archived); err != nil {
			return err
		}
		members, err := family(tx, c)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.Archived == archived || m.Lost() {
				continue
			}
			if err := do(change{chat: m.ID, quiet: true, event: kindOf(kind)}); err != nil {
				return err
			}
		}
		return nil
	})
	var refused *chat.Error
	if errors.As(err, &refused) {
		return nil, refused
	}
	if err != nil {
		return nil, e.refusal(ctx, amend.chat, err)
	}
	last := outs[0].chat
	for _, out := range outs {
		if out.chat.ID == last.ID {
			last = out.chat
		}
		e.after(out, nil)
	}
	return last, nil
}

// withRoot refuses to take a Chat back whose root stays archived.
func withRoot(tx *kv.Tx, c *chat.Chat, archived bool) error {
	if archived || c.RootID == c.ID {
		return nil
	}
	root, found, err := tx.Chat(c.RootID)
	if err != nil || !found || !root.Archived {
		return err
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "This chat belongs to an archived one.", Detail: "Unarchive the chat that started it.",
		Validations: []chat.Validation{{Field: "archived", Detail: "Unarchive the chat that started it."}}}
}

// family gives a Chat and all below it, parents first, as they are in tx. It ends even if the tree has a circle.
func family(tx *kv.Tx, c *chat.Chat) ([]*chat.Chat, error) {
	members := []*chat.Chat{c}
	seen := map[chat.ID]bool{c.ID: true}
	for i := 0; i < len(members); i++ {
		below, err := tx.Children(members[i].ID)
		if err != nil {
			return nil, err
		}
		for _, b := range below {
			if !seen[b.ID] {
				seen[b.ID] = true
				members = append(members, b)
			}
		}
	}
	return members, nil
}

// DeleteInput names an archived Chat.
type DeleteInput struct{ ChatID chat.ID }

// Delete removes an archived root Chat, all Chats below it and their Messages for good. What was used stays counted.
func (e *Engine) Delete(ctx context.Context, _ chat.Principal, in DeleteInput) (Done, error) {
	var refused error
	var gone []*chat.Chat
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		refused, gone = nil, nil
		c, found, err := tx.Chat(in.ChatID)
		if err != nil {
			return err
		}
		if !found {
			refused = chat.NotFound("chat")
			return nil
		}
		if gone, err = family(tx, c); err != nil {
			return err
		}
		if refused = mayDelete(gone); refused != nil {
			return nil
		}
		return tx.DeleteFamily(c.ID)
	})
	if err != nil {
		return Done{}, storeError(err)
	}
	if refused != nil {
		return Done{}, refused
	}
	for _, c := range gone {
		e.feed.changed(c.ID)
		e.feed.touchOwner(c.OwnerID, c.ID)
		e.ports.committed(c.ID)
		if e.ports.forget == nil {
			continue
		}
		if err := e.ports.forget(c.ID); err != nil {
			// The Chat is gone all the same; what is left of its processes' output goes with the next sweep.
			e.log.Warn("files of a deleted chat were left", chat.LogChat, c.ID, chat.LogError, err)
		}
	}
	return Done{}, nil
}

// mayDelete asks the table for each of a family; the first is the one that was named.
func mayDelete(members []*chat.Chat) error {
	first := members[0]
	switch {
	case first.RootID != first.ID:
		return &chat.Error{Kind: chat.KindWrongState, Message: "This chat belongs to another one.", Detail: "It is deleted with the chat that started it."}
	case !first.Archived:
		return &chat.Error{Kind: chat.KindWrongState, Message: "Archive the chat before you delete it."}
	}
	for _, c := range members {
		if c.Lost() {
			// It goes with the others.
			continue
		}
		if _, no := chat.Next(chat.StandingOf(c), chat.Event{Kind: chat.Delete}); no != nil {
			return no.AsError()
		}
	}
	return nil
}
