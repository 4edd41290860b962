package api_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// placed makes a Workspace with these files; names and texts take turns.
func placed(t *testing.T, a *apitest.Appliance, pairs ...string) (chat.WorkspaceID, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		put(t, dir, pairs[i], pairs[i+1])
	}
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: dir, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	return w.ID, dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkContext sees every route of a Workspace's context, with its own files. No answer has the content of one.
func checkContext(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	id, dir := placed(t, a, "AGENTS.md", "# Title\n\nthe secret word", "more/AGENTS.md", "x")
	one, refresh := "/workspaces/"+string(id)+"/context", "/chats/config/context-refresh"
	extra := filepath.Join(dir, "more")
	take(step{name: "not looked at", method: "GET", path: one, status: 200, has: []string{`"version":0`, `"ready":false`, `"resources":[]`}})
	take(step{name: "look", method: "POST", path: one + "/resync", status: 200, has: []string{`"id":"instruction_file:` + dir + `/AGENTS.md"`, `"description":"Title"`, `"ready":true`},
		hasNot: []string{"secret word", `"payload":`}})
	take(step{name: "look at none", method: "POST", path: "/workspaces/x/context/resync", status: 404})
	take(step{name: "no sources", method: "GET", path: one + "/sources", status: 200, has: []string{`[]`}})
	take(step{name: "add", method: "POST", path: one + "/sources", body: `{"path":"` + extra + `/"}`, status: 201, has: []string{`{"path":"` + extra + `"}`}})
	take(step{name: "add again", method: "POST", path: one + "/sources", body: `{"path":"` + extra + `"}`, status: 201})
	take(step{name: "add outside", method: "POST", path: one + "/sources", body: `{"path":"/etc"}`, status: 400})
	take(step{name: "add nothing", method: "POST", path: one + "/sources", body: `{}`, status: 400, has: []string{`"field":"path"`}})
	take(step{name: "add what is unknown", method: "POST", path: one + "/sources", body: `{"path":"/x","y":1}`, status: 400})
	take(step{name: "sources", method: "GET", path: one + "/sources", status: 200, has: []string{`[{"path":"` + extra + `"}]`}})
	take(step{name: "one", method: "GET", path: one + "/sources/" + url.PathEscape(extra), status: 200, has: []string{extra}})
	take(step{name: "one by query", method: "GET", path: one + "/sources?path=" + url.QueryEscape(extra), status: 200, has: []string{`{"path":"` + extra + `"}`}, hasNot: []string{"["}})
	take(step{name: "remove", method: "DELETE", path: one + "/sources/" + url.PathEscape(extra), status: 204})
	take(step{name: "remove again", method: "DELETE", path: one + "/sources/" + url.PathEscape(extra), status: 404})
	take(step{name: "gone", method: "GET", path: one + "/sources/" + url.PathEscape(extra), status: 404})
	take(step{name: "add for the query", method: "POST", path: one + "/sources", body: `{"path":"` + extra + `"}`, status: 201})
	take(step{name: "remove by query", method: "DELETE", path: one + "/sources?path=" + url.QueryEscape(extra), status: 204})

	take(step{name: "manual", method: "GET", path: refresh, status: 200, has: []string{`{"context_refresh":"manual"}`}})
	take(step{name: "auto", method: "PUT", path: refresh, body: `{"context_refresh":"auto"}`, status: 204})
	take(step{name: "is auto", method: "GET", path: refresh, status: 200, has: []string{`{"context_refresh":"auto"}`}})
	take(step{name: "neither", method: "PUT", path: refresh, body: `{"context_refresh":"often"}`, status: 400, has: []string{`"field":"context_refresh"`}})
	take(step{name: "manual again", method: "PUT", path: refresh, body: `{"context_refresh":"manual"}`, status: 204})

	alone := create(t, a, "hello")
	take(step{name: "a chat without a workspace", method: "PUT", path: "/chats/" + string(alone.ID) + "/context", status: 409})
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: []client.Input{{Type: "text", Text: "hello"}}, WorkspaceID: id})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	take(step{name: "a chat's", method: "GET", path: "/chats/" + string(c.ID), status: 200, has: []string{`"snapshot_version":`, `"dirty":false`, `"in_prompt_bytes":`},
		hasNot: []string{"secret word"}})
	take(step{name: "pin", method: "PUT", path: "/chats/" + string(c.ID) + "/context", status: 204})
	take(step{name: "stored", method: "GET", path: one, status: 200, has: []string{`"description":"Title"`}, hasNot: []string{"secret word"}})
	s, err := a.Client.WorkspaceContext(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	take(step{name: "known", method: "GET", path: one, header: map[string]string{"If-None-Match": `"` + s.FullHash + `"`}, status: 304})
}

// TestAnEditedInstructionReachesTheNextTurnOnceItIsTaken: with real files, the real watcher, and the request as the model server got it.
func TestAnEditedInstructionReachesTheNextTurnOnceItIsTaken(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Server: scripted.Options{Record: true}})
	id, dir := placed(t, a, "AGENTS.md", "Use tabs.", ".agents/skills/brew/SKILL.md", "---\nname: brew\ndescription: how to brew\n---\nBoil.")
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: []client.Input{{Type: "text", Text: "hello"}}, WorkspaceID: id})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	if got := lastSystem(t, a); !strings.Contains(got, "Use tabs.") || !strings.Contains(got, "- brew: how to brew") {
		t.Fatalf("the first request has\n%s", got)
	}
	w := watch(t, a.Client)
	put(t, dir, "AGENTS.md", "Use spaces.")
	changed := w.until(client.ChangeContext, c.ID)
	if got := changed[len(changed)-1].Chat.Context; got == nil || !got.Dirty || got.DirtySince == nil || got.SnapshotVersion != 1 {
		t.Errorf("the chat has %+v", got)
	}
	send := func() {
		t.Helper()
		if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: []client.Input{{Type: "text", Text: "hello"}}}); err != nil {
			t.Fatal(err)
		}
		a.Rests(t, c.ID)
	}
	send()
	if got := lastSystem(t, a); strings.Contains(got, "Use spaces.") {
		t.Errorf("it was taken by itself:\n%s", got)
	}
	if err := a.Client.PinChatContext(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	w.until(client.ChangeContext, c.ID)
	send()
	if got := lastSystem(t, a); !strings.Contains(got, "Use spaces.") || strings.Contains(got, "Use tabs.") {
		t.Errorf("after it was taken:\n%s", got)
	}
}

// lastSystem is the system text of the newest request of a Turn.
func lastSystem(t *testing.T, a *apitest.Appliance) string {
	t.Helper()
	all := a.Scripted.Requests("/api/chat")
	for i := len(all) - 1; i >= 0; i-- {
		var p scripted.Prompt
		if err := json.Unmarshal(all[i].Body, &p); err != nil {
			t.Fatal(err)
		}
		if len(p.Tools) > 0 {
			return p.Messages[0].Content
		}
	}
	t.Fatal("no request of a turn")
	return ""
}
