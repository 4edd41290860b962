package api

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// TestAWatchedChatThatCannotBeReadFailed, and keeps its title; the others are told of.
func TestAWatchedChatThatCannotBeReadFailed(t *testing.T) {
	who := chat.Principal{UserID: "me"}
	good, bad := &chat.Chat{ID: "good", RootID: "good", OwnerID: "me", Title: "good", State: chat.Running}, &chat.Chat{ID: "bad", RootID: "bad", OwnerID: "me", Title: "bad", State: chat.Running}
	held := watched{"good": standingOf(good), "bad": standingOf(bad)}
	rested := *good
	rested.State = chat.Waiting
	lost := &chat.Chat{ID: "bad", RootID: "bad", State: chat.Failed, Damage: "the checksum does not fit",
		LastError: &chat.Error{Kind: chat.KindStoreDamaged, Message: "This chat's record is damaged."}}
	now, ids := engine.OverviewOutput{Chats: []*chat.Chat{lost, &rested}}, []chat.ID{"bad", "good"}
	got := held.difference(now, ids, who)
	if len(got) != 2 || got[0].Type != client.ChangeStatus || got[0].Chat.Damaged == "" || got[0].Chat.Status != chat.Failed || got[1].Type != client.ChangeStatus || got[1].Chat.ID != "good" {
		t.Errorf("%+v", got)
	}
	if again := held.difference(now, ids, who); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
}
