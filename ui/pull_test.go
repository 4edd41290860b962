package ui

import (
	"errors"
	"testing"

	"holdfast/engine/chat"
)

func TestWhoMayPull(t *testing.T) {
	for _, c := range []struct {
		who chat.Principal
		may bool
	}{
		{chat.Principal{UserID: "u", Role: chat.UserAdmin}, true},
		{chat.Principal{UserID: "u", Role: chat.UserAdmin, ReadOnly: true}, false},
		{chat.Principal{UserID: "u", Role: chat.UserMember}, false},
		{chat.Principal{}, false},
	} {
		err := mayPull(c.who)
		var e *chat.Error
		if c.may != (err == nil) || err != nil && (!errors.As(err, &e) || e.Kind != chat.KindForbidden) {
			t.Errorf("%+v: %v", c.who, err)
		}
	}
}
