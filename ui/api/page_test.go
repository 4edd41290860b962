package api_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// case 30: the newest Messages first, has_more, and what waits on the first page alone.
func TestAPageOfMessages(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{User: "stall", Reply: scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}}}})
	c := create(t, a, "one")
	a.Rests(t, c.ID)
	for _, text := range []string{"two", "stall"} {
		if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text(text)}); err != nil {
			t.Fatal(err)
		}
		if text == "two" {
			a.Rests(t, c.ID)
		}
	}
	a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Parts) > 0 })
	if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("waits")}); err != nil {
		t.Fatal(err)
	}
	read := func(q client.MessageQuery) client.MessagePage {
		t.Helper()
		page, err := a.Client.Messages(t.Context(), c.ID, q)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	page := read(client.MessageQuery{Limit: 2})
	want(t, apitest.Texts(page.Messages), "user: stall", "assistant: "+scripted.Fallback)
	if !page.HasMore || len(page.Queued) != 1 {
		t.Errorf("has_more %v, %d queued", page.HasMore, len(page.Queued))
	}
	page = read(client.MessageQuery{Limit: 2, BeforeID: page.Messages[1].ID})
	want(t, apitest.Texts(page.Messages), "user: two", "assistant: "+scripted.Fallback)
	if !page.HasMore || page.Queued != nil {
		t.Errorf("the second page: has_more %v, queued %v", page.HasMore, page.Queued)
	}
	oldest := page.Messages[1].ID
	page = read(client.MessageQuery{Limit: 2, BeforeID: oldest})
	want(t, apitest.Texts(page.Messages), "user: one")
	page = read(client.MessageQuery{Limit: 2, BeforeID: page.Messages[0].ID})
	if page.HasMore || len(page.Messages) != 0 || page.Messages == nil {
		t.Errorf("behind the last page: %+v", page)
	}
	page = read(client.MessageQuery{Limit: 2, AfterID: chat.MessageID(1)})
	if page.Queued != nil || !page.HasMore || page.Messages[0].ID > page.Messages[1].ID {
		t.Errorf("ascending: %+v", page)
	}
}
