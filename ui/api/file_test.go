package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

func checkFiles(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	octets := map[string]string{"Content-Type": "image/png", "X-File-Name": "..%2Fgr%C3%BCn.html"}
	body := "<!doctype html><script>alert(1)</script>"
	id := idOf(t, take(step{name: "upload", method: "POST", path: "/files", body: body, header: octets, status: 201,
		has: []string{`"name":"grün.html"`, `"media_type":"text/plain"`, fmt.Sprintf(`"size":%d`, len(body)), `"sha256":"`}, hasNot: []string{"owner"}}))
	take(step{name: "download", method: "GET", path: "/files/" + id, status: 200, has: []string{body}})
	for _, none := range []string{"x", "0197c2aa-0000-7000-8000-000000000000", "..%2f..%2fholdfast.db"} {
		take(step{name: "download " + none, method: "GET", path: "/files/" + none, status: 404, has: []string{`"kind":"not_found"`}})
	}
	take(step{name: "send an unknown file", method: "POST", path: "/chats", status: 400, has: []string{`"field":"content[0].file_id"`},
		body: `{"content":[{"type":"file","file_id":"0197c2aa-0000-7000-8000-000000000000"}]}`})
	made := take(step{name: "send it", method: "POST", path: "/chats", status: 201, has: []string{`"title":"grün.html"`},
		body: fmt.Sprintf(`{"content":[{"type":"file","file_id":%q}]}`, id)})
	a.Rests(t, chat.ID(idOf(t, made)))
	take(step{name: "the chat's files", method: "GET", path: "/chats/" + idOf(t, made), status: 200, has: []string{`"files":[{"id":"` + id + `"`}})
	take(step{name: "the message", method: "GET", path: "/chats/" + idOf(t, made) + "/messages", status: 200, hasNot: []string{"sha256", "alert"},
		has: []string{`{"type":"file","file_id":"` + id + `","name":"grün.html","media_type":"text/plain"}`}})
	res := get(t, a, a.Token, "/files/"+id)
	take(step{name: "download what is known", method: "GET", path: "/files/" + id, header: map[string]string{"If-None-Match": res.Header.Get("ETag")}, status: 304})
}

func get(t *testing.T, a *apitest.Appliance, token, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res
}

func TestFilesAreServedSafely(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	for name, c := range map[string]struct{ body, media, how string }{
		"a.png":  {"\x89PNG\r\n\x1a\n0000", "image/png", "inline"},
		"a.svg":  {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "application/octet-stream", "attachment"},
		"a.html": {"<html><script>alert(1)</script>", "application/octet-stream", "attachment"},
		"a.pdf":  {"%PDF-1.7", "application/octet-stream", "attachment"},
		"a.txt":  {"words", "application/octet-stream", "attachment"},
	} {
		f, err := a.Client.Upload(t.Context(), name, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		h := get(t, a, a.Token, "/files/"+string(f.ID)).Header
		if h.Get("Content-Type") != c.media || h.Get("Content-Disposition") != c.how+"; filename="+name || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || strings.Contains(h.Get("Content-Security-Policy"), "script-src") {
			t.Errorf("%s is served with %v", name, h)
		}
		b, err := a.Client.Download(t.Context(), f.ID)
		if err != nil || string(b) != c.body {
			t.Errorf("%s came back as %q, %v", name, b, err)
		}
	}
	f, err := a.Client.Upload(t.Context(), "mine.txt", strings.NewReader("mine"))
	if err != nil {
		t.Fatal(err)
	}
	_, theirs := a.AddUser(t, "mallory", chat.UserMember)
	if res := get(t, a, theirs, "/files/"+string(f.ID)); res.StatusCode != http.StatusNotFound {
		t.Errorf("another person gets %d", res.StatusCode)
	}
	_, err = a.As(t, theirs).CreateChat(t.Context(), client.ChatCreate{Content: []client.Input{client.FileInput(f)}})
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid {
		t.Errorf("another person sends it: %v", err)
	}
}

func TestAFileOfTenMiBAndNotOneByteMore(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	f, err := a.Client.Upload(t.Context(), "", io.LimitReader(zeros{}, chat.MaxFileBytes))
	if err != nil || f.Size != chat.MaxFileBytes || f.Name != "file" {
		t.Errorf("%+v, %v", f, err)
	}
	_, err = a.Client.Upload(t.Context(), "", io.LimitReader(zeros{}, chat.MaxFileBytes+1))
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindTooLarge || refused.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestASendWarnsOfWhatTheModelWillNotSee(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Server: scripted.Options{Models: []scripted.Model{{Name: "eyes:latest", Capabilities: []string{"completion", "tools", "vision"}}}}})
	f, err := a.Client.Upload(t.Context(), "p.png", strings.NewReader("\x89PNG\r\n\x1a\n0000"))
	if err != nil {
		t.Fatal(err)
	}
	configs, err := a.Client.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content := append(client.Text("look"), client.FileInput(f))
	for _, m := range configs {
		c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: content, ModelConfigID: m.ID, Title: "t"})
		if err != nil {
			t.Fatal(err)
		}
		held := a.Rests(t, c.ID)
		sent, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: content})
		if err != nil {
			t.Fatal(err)
		}
		a.Rests(t, c.ID)
		blind := m.Model != "eyes:latest"
		if blind != (len(c.Warnings) == 1) || blind != (len(sent.Warnings) == 1) || held.Status.Status != chat.Waiting {
			t.Errorf("%s: warned %q and %q, then %s", m.Model, c.Warnings, sent.Warnings, held.Status.Status)
		}
	}
}

// case 31: what is internal leaves neither by REST nor by stream nor by watch.
func TestInternalFieldsNeverLeave(t *testing.T) {
	const secret = "internal-canary"
	renamed := "renamed"
	a := apitest.Start(t, apitest.Options{})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	content := []chat.Part{
		{Type: chat.PartContextFile, Path: "AGENTS.md", Truncated: true, Content: secret, Name: secret},
		{Type: chat.PartSkill, Name: "review", Description: "reviews", Content: secret, Path: secret},
		{Type: chat.PartSource, URL: "http://127.0.0.1/x", Title: "A source", Content: secret},
		{Type: chat.PartToolCall, CallID: "c1", ToolName: "search", Args: json.RawMessage(`{}`), ProviderExecuted: true, Content: secret},
		{Type: chat.PartToolResult, CallID: "c1", ToolName: "search", Result: json.RawMessage(`{"output":"1"}`), ProviderExecuted: true, Detail: json.RawMessage(`"` + secret + `"`)},
		{Type: chat.PartFile, FileID: "0197c2aa-0000-7000-8000-000000000000", Name: "f.txt", MediaType: "text/plain", Content: secret, Text: secret},
		{Type: chat.PartText, Text: "shown", Detail: json.RawMessage(`"` + secret + `"`)},
	}
	a.Append(t, c.ID, chat.Message{Role: chat.RoleAssistant, Content: content, ContentVersion: 1})
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if got := page.Messages[0].Content; len(got) != len(content) || got[0].Path != "AGENTS.md" || got[1].Description != "reviews" || got[2].Title != "A source" || !got[3].ProviderExecuted {
		t.Errorf("the parts came as %+v", got)
	}
	read := func(path string) string {
		res := get(t, a, a.Token, path)
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, frame := openStream(t, a, "/chats/"+string(c.ID)+"/stream")
	_, watched := openStream(t, a, "/chats/watch")
	first := watched()
	if err := a.Client.UpdateChat(t.Context(), c.ID, client.ChatUpdate{Title: &renamed}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"messages": read("/chats/" + string(c.ID) + "/messages"), "chat": read("/chats/" + string(c.ID)), "chats": read("/chats"),
		"stream": frame(), "watch": first + watched()} {
		if text == "" || strings.Contains(text, secret) {
			t.Errorf("%s shows internal fields, or nothing: %.300s", name, text)
		}
	}
}
