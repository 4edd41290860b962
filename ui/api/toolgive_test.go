package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// fetched is what a person downloads of a file.
func (p *permits) fetched(id string) (body []byte, header http.Header) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL+"/api/v1/files/"+id, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %v", res.Status, err)
	}
	return body, res.Header
}

// TestAttachFile: the user gets a copy that never changes, by what the bytes are and not by their name.
func TestAttachFile(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	w.put("report.csv", "tide,height\n6:12,4.1\n")
	w.put("page.html", "<script>alert(1)</script>")
	w.put("drawing.png", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	w.put("exact", strings.Repeat("x", chat.MaxFileBytes))
	w.put("large", strings.Repeat("x", chat.MaxFileBytes+1))
	if err := os.Symlink("/etc/passwd", filepath.Join(w.dir, "out")); err != nil {
		t.Fatal(err)
	}
	var got struct {
		File, SHA256 string
		MediaType    string `json:"media_type"`
		Bytes        int
	}
	if w.in("attach_file", map[string]string{"path": "report.csv", "name": "../The tides\n.csv"}, &got) || got.File != "The tides.csv" || got.MediaType != "text/plain" || got.Bytes != 21 {
		t.Errorf("%+v", got)
	}
	part := lastResult(w.settled(w.chat))
	w.put("report.csv", "other")
	body, _ := w.fetched(part.FileID)
	sum := sha256.Sum256(body)
	if string(body) != "tide,height\n6:12,4.1\n" || got.SHA256 != hex.EncodeToString(sum[:]) || part.Name != "The tides.csv" {
		t.Errorf("%q, %+v, %+v", body, got, part)
	}
	w.in("attach_file", map[string]string{"path": "page.html"}, &got)
	if _, header := w.fetched(lastResult(w.settled(w.chat)).FileID); !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") || strings.Contains(header.Get("Content-Type"), "html") {
		t.Errorf("a page is served as %v", header)
	}
	w.in("attach_file", map[string]string{"path": "exact"}, &got)
	if body, _ := w.fetched(lastResult(w.settled(w.chat)).FileID); len(body) != chat.MaxFileBytes {
		t.Errorf("%d bytes", len(body))
	}
	for path, want := range map[string]string{"drawing.png": "Only text, PDF and images", "large": "larger than 10 MiB", "none": "none", "out": "outside", ".": "directory"} {
		var text string
		if !w.in("attach_file", map[string]string{"path": path}, &text) || !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
		if id := lastResult(w.settled(w.chat)).FileID; id != "" {
			t.Errorf("%s is attached as %s", path, id)
		}
	}
	w.rules(chat.Rule{Effect: chat.PermitDeny, Tool: "*", Path: "page.html"})
	var text string
	if !w.in("attach_file", map[string]string{"path": "page.html"}, &text) || !strings.Contains(text, "deny * page.html") {
		t.Errorf("against a rule: %s", text)
	}
}

// TestFiftyFilesOfAChat: what a model gives makes room for itself, and never takes the place of what the user attached.
func TestFiftyFilesOfAChat(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	own, err := w.Client.Upload(t.Context(), "own.txt", bytes.NewReader([]byte("mine")))
	if err != nil {
		t.Fatal(err)
	}
	var calls []any
	for i := range chat.MaxChatFiles + 1 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		w.put(name, name)
		calls = append(calls, map[string]any{"tool": "attach_file", "args": map[string]string{"path": name}})
	}
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Client.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: w.space, Content: []client.Input{{Type: chat.PartFile, FileID: own.ID}}, Title: "files"})
	if err != nil {
		t.Fatal(err)
	}
	w.Rests(t, c.ID)
	if _, err := w.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text(string(text))}); err != nil {
		t.Fatal(err)
	}
	w.Until(t, c.ID, func(h *client.Transcript) bool { return len(h.Messages) > 50 && h.Status.Status.AtRest() })
	now, err := w.Client.Chat(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, f := range now.Files {
		if !f.Gone {
			kept++
		}
		if f.ID == own.ID && f.Gone {
			t.Error("the user's file made room")
		}
	}
	if kept != chat.MaxChatFiles {
		t.Errorf("%d files are kept of %d", kept, len(now.Files))
	}
}

// TestASmallModelFindsTheRest: it is offered files, commands and find_tools, in few bytes; what it finds it may call.
func TestASmallModelFindsTheRest(t *testing.T) {
	t.Parallel()
	for _, window := range []int64{4096, 8192, 16383} {
		w := newWorkbench(t)
		if _, err := w.Client.UpdateModel(t.Context(), w.config(apitest.Model), client.ModelFields{ContextLimit: client.Some(window)}); err != nil {
			t.Fatal(err)
		}
		w.put("x", "1")
		var found struct{ Tools []struct{ Name string } }
		w.in("find_tools", map[string]any{"query": "give the user a file", "limit": 1}, &found)
		if len(found.Tools) == 0 || found.Tools[0].Name != "attach_file" {
			t.Errorf("%d: found %+v", window, found)
		}
		first := w.Scripted.Requests("/api/chat")[0]
		var body struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(first.Body, &body); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, tool := range body.Tools {
			size += len(tool)
		}
		if size > 5000 || len(first.Body) > 8000 {
			t.Errorf("%d: the definitions have %d bytes, the first request %d", window, size, len(first.Body))
		}
		names := w.offeredTo(false)
		if !slices.Contains(names, "read_file") || !slices.Contains(names, "find_tools") || !slices.Contains(names, "attach_file") || slices.Contains(names, "spawn_agent") {
			t.Errorf("%d: after finding it the model is offered %v", window, names)
		}
		var text string
		if w.in("attach_file", map[string]string{"path": "x"}, &text) || lastResult(w.settled(w.chat)).FileID == "" {
			t.Errorf("%d: %s", window, text)
		}
		// A hidden tool whose arguments fit runs, too.
		if w.in("spawn_agent", map[string]string{"prompt": "look"}, &text) {
			t.Errorf("%d: %s", window, text)
		}
	}
}
