package api_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// create starts a Chat with a title of its own, so that no title is generated beside its Turn.
func create(t *testing.T, a *apitest.Appliance, text string) client.Chat {
	t.Helper()
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text(text), Title: text})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATurnFromCreateToRest(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{User: "hello", Reply: scripted.Text("Hello to you, too.")}}})
	c := create(t, a, "hello")
	if c.Status != chat.Pending || c.Phase != chat.PhaseQueued || c.Title == "" || c.OwnerName != "owner" {
		t.Errorf("created: %+v", c)
	}
	held := a.Rests(t, c.ID)
	want(t, apitest.Texts(held.Messages), "user: hello", "assistant: Hello to you, too.")
	if len(held.Parts) != 0 || held.Status.Status != chat.Waiting {
		t.Errorf("at rest: %d parts, status %s", len(held.Parts), held.Status.Status)
	}
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if len(got) != len(lines) {
		t.Fatalf("got %q, want %q", got, lines)
	}
	for i := range lines {
		if got[i] != lines[i] {
			t.Errorf("line %d is %q, want %q", i, got[i], lines[i])
		}
	}
}
