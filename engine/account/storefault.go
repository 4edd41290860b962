package account

import (
	"errors"
	"fmt"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// storeFault turns what the store says into the error a person can read; anything else passes unchanged.
func storeFault(err error) error {
	var known *chat.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	switch {
	case errors.Is(err, kv.ErrUnknown):
		return &chat.Error{Kind: chat.KindCommitUnknown, Message: "Whether this was saved could not be learned.",
			Detail: "Ask again with the same key.", Retryable: true, Cause: err}
	case errors.Is(err, kv.ErrNoSpace):
		return &chat.Error{Kind: chat.KindNoSpace, Message: "There is no space left for the store.",
			Detail: "Free some space on its disk; it goes on by itself.", Retryable: true, Cause: err}
	case errors.Is(err, kv.ErrReadOnly):
		return &chat.Error{Kind: chat.KindReadOnly, Message: "The store can only be read.",
			Detail: "Look at the disk, then restart Holdfast.", Cause: err}
	case errors.Is(err, kv.ErrDamaged):
		return damaged(err)
	case errors.Is(err, kv.ErrClosed):
		return &chat.Error{Kind: chat.KindStopping, Message: "Holdfast is stopping.", Retryable: true, Cause: err}
	}
	return err
}

// damaged names the Message that cannot be read, or the Chat, where it is one.
func damaged(err error) *chat.Error {
	out := &chat.Error{Kind: chat.KindStoreDamaged, Message: "A part of the store is damaged.",
		Detail: "The rest goes on working. Run: holdfast doctor --deep", Cause: err}
	var d *kv.DamageError
	switch {
	case !errors.As(err, &d):
	case d.Message != 0:
		out.Message = fmt.Sprintf("Message %d of this chat cannot be read: %s.", d.Message, d.Reason)
	case d.Noun == "chat":
		out.Message = fmt.Sprintf("This chat cannot be read: its own record is damaged (%s).", d.Reason)
		out.Detail = "Other chats go on. To save what is left of it, stop Holdfast and run: holdfast export --all DIR --salvage"
	}
	return out
}
