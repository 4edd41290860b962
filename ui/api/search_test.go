package api_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// What the model said and what the person wrote is found at once, titles as well, by the owner alone.
func TestChatsAreFoundByTheirMessages(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	var ids []chat.ID
	for _, text := range []string{"the quokka sleeps", "a wombat digs", "quokka and wombat meet"} {
		c := create(t, a, text)
		a.Rests(t, c.ID)
		ids = append(ids, c.ID)
	}
	_, token := a.AddUser(t, "other", chat.UserMember)
	find := func(c *client.Client, q client.ChatQuery) []chat.ID {
		t.Helper()
		page, err := c.Chats(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var out []chat.ID
		for _, x := range page.Chats {
			out = append(out, x.ID)
		}
		return out
	}
	for q, want := range map[string][]chat.ID{
		"quokka": {ids[2], ids[0]}, "QUOK": {ids[2], ids[0]}, "wombat quokka": {ids[2]}, "sleeps": {ids[0]}, "platypus": nil,
		"quokka status:running": nil, "quokka archived:true": nil,
	} {
		if got := find(a.Client, client.ChatQuery{Text: q}); !same(got, want) {
			t.Errorf("%q finds %v, must find %v", q, got, want)
		}
	}
	if got := find(a.Client, client.ChatQuery{Text: "quokka", Limit: 1}); !same(got, ids[2:]) {
		t.Errorf("the first page is %v", got)
	}
	if got := find(a.Client, client.ChatQuery{Text: "quokka", Limit: 1, AfterID: ids[2]}); !same(got, ids[:1]) {
		t.Errorf("the second page is %v", got)
	}
	if got := find(a.As(t, token), client.ChatQuery{Text: "quokka"}); len(got) > 0 {
		t.Errorf("somebody else finds %v", got)
	}
}

func same(a, b []chat.ID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
