package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// TestADamagedChat: its list is an error that names the message, never a shorter history; it takes no message; a copy up to the last good
// one goes on; other chats do as ever.
func TestADamagedChat(t *testing.T) {
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir})
	c, other := create(t, a, "the first question"), create(t, a, "another chat")
	for n := range 3 {
		a.Rests(t, c.ID)
		send(t, a, c.ID, fmt.Sprintf("question number %d", n), "")
	}
	held := a.Rests(t, c.ID)
	a.Rests(t, other.ID)
	a.Stop(t)
	name := filepath.Join(dir, "holdfast.db")
	db, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.ReplaceAll(db, []byte("question number 1"), []byte("question number 7")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a = apitest.Start(t, apitest.Options{Dir: dir})
	t.Cleanup(func() {
		// A store that is closed is not checked, and this one is known to be damaged. All its chats are at rest.
		if err := a.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	var bad, good chat.MessageID
	for _, m := range held.Messages {
		if strings.Contains(m.Content[0].Text, "question number 1") {
			bad = m.ID
		} else if bad == 0 {
			good = m.ID
		}
	}
	for _, path := range []string{"/chats/" + string(c.ID) + "/messages", "/chats/" + string(c.ID) + "/export?format=json"} {
		res := get(t, a, a.Token, path)
		var text bytes.Buffer
		if _, err := text.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusInternalServerError || !strings.Contains(text.String(), "store_damaged") ||
			!strings.Contains(text.String(), fmt.Sprint("Message ", bad)) {
			t.Errorf("%s: %d %s", path, res.StatusCode, text.String())
		}
	}
	var refused *chat.Error
	_, err = a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("more")})
	if !errors.As(err, &refused) || refused.Kind != chat.KindChatDamaged || !strings.Contains(refused.Detail, fmt.Sprint("message ", good)) {
		t.Errorf("a message: %v", err)
	}
	if _, err := a.Client.Fork(t.Context(), c.ID, 0); !errors.As(err, &refused) || refused.Kind != chat.KindStoreDamaged {
		t.Errorf("a copy of all: %v", err)
	}
	if _, err := a.Client.Fork(t.Context(), c.ID, bad); !errors.As(err, &refused) || refused.Kind != chat.KindNotFound {
		t.Errorf("a copy up to the damage: %v", err)
	}
	fork, err := a.Client.Fork(t.Context(), c.ID, good)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []chat.ID{fork.ID, other.ID} {
		send(t, a, id, "and on", "")
		if got := apitest.Texts(a.Rests(t, id).Messages); got[len(got)-2] != "user: and on" {
			t.Errorf("%q", got)
		}
	}
}
