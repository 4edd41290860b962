package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// TestAStreamTellsWhatItsDocumentCouldNot: the sidebar of a page is right although another chat changed after the page was written and
// before its stream was opened.
func TestAStreamTellsWhatItsDocumentCouldNot(t *testing.T) {
	t.Parallel()
	models, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest"}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { models.Close() })
	a := serveNow(t, launch{ollama: models.URL})
	open, other := a.chatIn("", "the one that is open"), a.chatIn("", "the other")
	a.rests(open)
	a.rests(other)
	rename := func(title string) {
		a.must(http.MethodPatch, "/api/v1/chats/"+other, map[string]any{"title": title}, nil)
	}
	rename("As it was")
	// The first reader moves the read mark, which tells of the chat by itself.
	a.reads("/chats/"+open+"/stream", "data:")
	if code, body := a.raw(http.MethodGet, "/chats/"+open, nil); code != http.StatusOK || !strings.Contains(string(body), "As it was") {
		t.Fatalf("the document: %d, without the other chat", code)
	}
	rename("As it is")

	a.reads("/chats/"+open+"/stream", "As it is")
}

// reads opens a stream and leaves it at the first line with a text. A stream that rests before fails the test.
func (a *appliance) reads(path, text string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case strings.Contains(line, text):
			return
		case err != nil, strings.HasPrefix(line, ": "):
			a.t.Fatalf("the stream ended or rests without %q: %v", text, err)
		}
	}
}
