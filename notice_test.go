package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/client"
)

// told reads the first Notice that the appliance has, or gets.
func (a *appliance) told() (said struct{ Kind, Body, URL string }) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), startLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/notices/stream", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Last-Event-ID", "0")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if body, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(body), &said); err != nil {
				a.t.Fatal(err)
			}
			return said
		}
	}
	a.t.Fatalf("nothing was told; status %d", res.StatusCode)
	return said
}

// TestCase68ANoticeOutlivesAKill kills the appliance between a Turn's rest and the summary that its Notice waits for: the next start tells it,
// once.
func TestCase68ANoticeOutlivesAKill(t *testing.T) {
	asked := make(chan struct{}, 4)
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m", Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.Small() == "summary":
			asked <- struct{}{}
			return scripted.Reply{Stall: true}
		case p.User() == "again":
			return scripted.Text("Said again.")
		}
		return scripted.Text("The parser is mended. It had read one byte too far.")
	}}}}))
	t.Cleanup(models.Close)
	l := launch{data: filepath.Join(t.TempDir(), "data"), ollama: models.URL}
	a := serveNow(t, l)
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// Asking for the models lets their configs make themselves.
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateChat(t.Context(), client.ChatCreate{Title: "a chat", Content: client.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	a.kill()
	b := serveNow(t, l)
	if said := b.told(); said.Kind != "finished" || said.Body != "The parser is mended." || said.URL != "/chats/"+string(made.ID) {
		t.Errorf("after the kill it told %+v", said)
	}
	b.kill()
	again := serveNow(t, l)
	again.must("POST", "/api/v1/chats/"+string(made.ID)+"/messages", map[string]any{"content": client.Text("again")}, nil)
	if said := again.told(); said.Body != "Said again." {
		t.Errorf("the next process told %+v first", said)
	}
}
