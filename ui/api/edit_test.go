package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkEdit asks for every answer of the route.
func checkEdit(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	c := create(t, a, "hello")
	held := a.Rests(t, c.ID)
	at := "/chats/" + string(c.ID) + "/messages/"
	const body = `{"content":[{"type":"text","text":"stall"}]}`
	take(step{name: "edit a reply", method: "PATCH", path: fmt.Sprint(at, held.Messages[1].ID), body: body, status: 400,
		has: []string{"Only user messages can be edited."}})
	take(step{name: "edit nothing", method: "PATCH", path: at + "0", body: body, status: 400, has: []string{`"field":"message_id"`}})
	take(step{name: "edit below nothing", method: "PATCH", path: at + "-1", body: body, status: 400})
	take(step{name: "edit what is not there", method: "PATCH", path: at + "999999", body: body, status: 404})
	take(step{name: "edit a word", method: "PATCH", path: at + "x", body: body, status: 404})
	take(step{name: "edit to nothing", method: "PATCH", path: fmt.Sprint(at, held.Messages[0].ID), body: `{"content":[]}`, status: 400})
	take(step{name: "edit for no model", method: "PATCH", path: fmt.Sprint(at, held.Messages[0].ID),
		body: `{"content":[{"type":"text","text":"x"}],"model_config_id":"x"}`, status: 400, has: []string{`"field":"model_config_id"`}})
	take(step{name: "edit", method: "PATCH", path: fmt.Sprint(at, held.Messages[0].ID), body: body, status: 200,
		has: []string{`"message":{"id":`, fmt.Sprintf(`"deleted_message_ids":[%d,%d]`, held.Messages[0].ID, held.Messages[1].ID), `"dropped_queued":[]`}})
	take(step{name: "edit the deleted", method: "PATCH", path: fmt.Sprint(at, held.Messages[0].ID), body: body, status: 404})
}

// case 12, case 13
func TestCase12And13AnEditInMidStream(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "hello")
	held := a.Rests(t, c.ID)
	send(t, a, c.ID, "stall", "")
	a.Until(t, c.ID, streaming)
	waits := send(t, a, c.ID, "hello", "queue")
	out, err := a.Client.EditMessage(t.Context(), c.ID, held.Messages[0].ID, client.MessageEdit{Content: client.Text("hello")})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Deleted) != 3 || len(out.Dropped) != 1 || out.Dropped[0].ID != waits.QueuedMessage.ID || slices.Contains(out.Deleted, out.Message.ID) {
		t.Errorf("%+v", out)
	}
	held = a.Rests(t, c.ID)
	want(t, apitest.Texts(held.Messages), "user: hello", "assistant: Hello to you, too.")
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil || len(page.Messages) != 2 || len(page.Queued) != 0 {
		t.Errorf("%+v %v", page, err)
	}
}

// case 63
func TestCase63AnEditResetsTheHistory(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "hello")
	held := a.Rests(t, c.ID)
	stream := fmt.Sprintf("/chats/%s/stream?after_id=", c.ID)
	_, read := openStream(t, a, stream+fmt.Sprint(held.Messages[1].ID))
	read()
	out, err := a.Client.EditMessage(t.Context(), c.ID, held.Messages[0].ID, client.MessageEdit{Content: client.Text("stall")})
	if err != nil {
		t.Fatal(err)
	}
	id, f := decode(t, read())
	status, known := f.Events[0].(*client.StatusEvent)
	if got := typesOf(f); !strings.HasPrefix(got, "status history_reset message queue_update") || id != fmt.Sprint(out.Message.ID) {
		t.Errorf("after an edit came %q with id %s", got, id)
	}
	if !known || status.Status != chat.Pending && status.Status != chat.Running {
		t.Errorf("%+v", f.Events[0])
	}
	// Who was away holds deleted Messages, and is told.
	_, read = openStream(t, a, stream+fmt.Sprint(held.Messages[1].ID))
	_, f = decode(t, read())
	if reset, ok := f.Events[1].(*client.HistoryResetEvent); !ok || reset.HistoryEpoch != 1 {
		t.Errorf("%q: %+v", typesOf(f), f.Events[1])
	}
}
