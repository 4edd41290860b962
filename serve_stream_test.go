package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
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

// TestAStreamTellsWhatWasFoundBefore: the Context tab is right although its workspace was told of another source after the document was
// written, which is no change of the chat.
func TestAStreamTellsWhatWasFoundBefore(t *testing.T) {
	t.Parallel()
	models, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest"}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { models.Close() })
	a := serveNow(t, launch{ollama: models.URL})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pier"), 0o700); err != nil {
		t.Fatal(err)
	}
	var space struct{ ID string }
	a.must(http.MethodPost, "/api/v1/workspaces", map[string]any{"directory": dir}, &space)
	open := a.chatIn(space.ID, "the one that is open")
	a.rests(open)
	a.reads("/chats/"+open+"/stream", "data:")
	if code, body := a.raw(http.MethodGet, "/chats/"+open, nil); code != http.StatusOK || strings.Contains(string(body), "Remove "+filepath.Join(dir, "pier")) {
		t.Fatalf("the document: %d, with the source", code)
	}
	a.must(http.MethodPost, "/api/v1/workspaces/"+space.ID+"/context/sources", map[string]any{"path": filepath.Join(dir, "pier")}, nil)

	a.reads("/chats/"+open+"/stream", "Remove "+filepath.Join(dir, "pier"))
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
