//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"holdfast/engine/ollama/gguf"
	"holdfast/engine/ollama/scripted"
)

func TestBrowserSidebar(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	first := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.open(a.url + "/?start=1")
	second := p.start("tell long")
	p.shows("#log", "And the end.")
	p.rests()
	p.until(`document.querySelectorAll('#chats .row-chat').length===2`)
	// Search as one types, over titles and messages.
	p.fill(".sidebar input[type=search]", "scripted model")
	p.shows("#hits", "say hello")
	p.until(`document.querySelectorAll('#hits .row-chat').length===1`)
	p.fill(".sidebar input[type=search]", "nothing like this")
	p.shows("#hits", "Nothing about")
	p.press("#hits", "Clear the search")
	p.until(`document.getElementById('hits').textContent.trim()===''`)
	// J and K go from chat to chat.
	p.eval(`document.getElementById('transcript').focus()`)
	p.key("j", "j", 74, 0)
	p.until(`document.readyState==='complete'&&location.href===` + js(first))
	p.key("k", "k", 75, 0)
	p.until(`document.readyState==='complete'&&location.href===` + js(second))
	p.click("#chat-more")
	p.press("#chat-menu", "Rename…")
	p.fill("#title-text", "Another name")
	p.press("#title-dialog", "Rename")
	p.shows("#bar h1", "Another name")
	p.shows("#chats .is-here", "Another name")
	p.click("#chat-more")
	p.press("#chat-menu", "Archive")
	p.shows("#rest", "Archived")
	p.until(`document.querySelectorAll('#chats .row-chat').length===1`)
	p.click("#chat-more")
	p.press("#chat-menu", "Bring back")
	p.shows("#chats", "Another name")
	p.until(`document.getElementById('rest').textContent.trim()===''`)
	p.click("#chat-more")
	p.press("#chat-menu", "Archive")
	p.shows("#rest", "Archived")
	p.click("#chat-more")
	p.press("#chat-menu", "Delete…")
	p.shows("#confirm[open]", "Delete this chat?")
	p.press("#confirm", "Delete the chat")
	p.until(`location.pathname==='/'`)
	p.lacks("#chats", "Another name")
	p.allow("404")
	if status, _ := a.raw("GET", "/api/v1/chats/"+filepath.Base(second), nil); status != 404 {
		t.Errorf("the deleted chat answers with %d", status)
	}
}

func TestBrowserModels(t *testing.T) {
	t.Parallel()
	handler := scripted.New(scripted.Options{Models: []scripted.Model{{Name: "here:latest", Size: 1 << 30}},
		Pullable: []scripted.Pullable{
			{Model: scripted.Model{Name: "far:latest"}, Layers: []int64{400 << 20}, Chunks: 60, Pace: 50 * time.Millisecond},
			{Model: scripted.Model{Name: "broken:latest"}, Layers: []int64{1 << 20}, Chunks: 1, Fail: "the registry has no more of it"},
		}})
	running, err := scripted.Listen("127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/models")
	p.shows("#models-list", "here:latest")
	p.shows("#models-configs", "here")
	p.shows("#models-server", "answers")
	p.fill("#models-pull", "far")
	p.press("main", "Pull")
	p.shows("#pulls", "far")
	p.until(`(w=>w>0&&w<100)(parseInt(document.querySelector('#pulls rect')?.getAttribute('width')))`)
	p.shows("#pulls", "MB")
	p.press("#pulls", "Cancel")
	p.shows("#pulls", "What was fetched is kept")
	p.press("#pulls", "Resume")
	p.until(`document.getElementById('pulls').hidden||!document.getElementById('pulls').textContent.trim()`)
	p.shows("#models-list", "far:latest")
	p.fill("#models-pull", "broken")
	p.press("main", "Pull")
	p.shows("#pulls", "the registry has no more of it")
	p.fill("#models-pull", "unknown")
	p.press("main", "Pull")
	p.shows("#pulls", "unknown")
	p.until(`document.querySelectorAll('#pulls .danger').length===2`)
	// A file from disk.
	file, err := gguf.File([]gguf.Script{{Key: "hi", Text: "Hello."}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "own.gguf")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	p.fill("#models-name", "own")
	p.do("choose a file", chromedp.SetUploadFiles("#models-file", []string{path}, chromedp.ByQuery))
	p.press("main", "Import")
	p.shows("#models-list", "own:latest")
	// Another tab hears of what is changed here.
	q := p.another()
	q.open(a.url + "/models")
	q.shows("#models-list", "own:latest")
	p.eval(`[...document.querySelectorAll('#models-list tr')].find(r=>r.textContent.includes('own:latest')).querySelector('[aria-label^=Delete]').click()`)
	p.press("#confirm", "Delete the model")
	p.lacks("#models-list", "own:latest")
	q.lacks("#models-list", "own:latest")
	p.fill("#server-url", nobody)
	p.press("#models-server", "Try")
	p.shows("#models-server", "set where Holdfast is started")
}

func TestBrowserWorkspaces(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	p.open(a.url + "/workspaces")
	p.shows("#workspaces", "No workspaces yet")
	p.allow("422")
	p.fill("#directory", "/no/such/folder")
	p.press("#folder", "Add the folder")
	p.until(`document.getElementById('folder-error').textContent.trim().length>10`)
	if kept := p.eval(`document.getElementById('directory').value`); kept != "/no/such/folder" {
		t.Errorf("the form forgot what was typed: %q", kept)
	}
	dir := t.TempDir()
	p.fill("#directory", dir)
	p.fill("#folder-name", "Mine")
	p.press("#folder", "Add the folder")
	p.shows("#workspaces", "Mine")
	p.until(`/each one asks first|run in the sandbox/.test(document.querySelector('#workspaces').textContent)`)
	p.shot("sandbox")
	p.click("#workspaces [name=trusted]")
	p.shows("#confirm", "Commands here have your own rights, this appliance’s data included.")
	p.press("#confirm", "Trust this workspace")
	p.shows("#workspaces", "run without asking")
	p.open(a.url + "/workspaces")
	p.shows("#workspaces", "run without asking")
	p.press("#workspaces", "Remove")
	p.press("#confirm", "Remove the workspace")
	p.shows("#workspaces", "No workspaces yet")
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder itself: %v", err)
	}
}

func TestBrowserTokens(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	p.open(a.url + "/tokens")
	p.fill("#token-name", "editor")
	p.click("[name=read_only]")
	p.press("main", "Create the token")
	p.shows("#token-fresh", "not shown again")
	p.shows("#tokens", "editor")
	p.shows("#tokens", "read")
	token := strings.TrimSpace(p.eval(`document.querySelector('#token-fresh pre').textContent`))
	owner := a.token
	a.token = token
	if got, body := a.raw("GET", "/api/v1/chats", nil); got != 200 {
		t.Errorf("reading with the new token: %d %s", got, body)
	}
	if got, body := a.raw("POST", "/api/v1/chats", map[string]any{"content": []any{map[string]string{"type": "text", "text": "hi"}}}); got != 403 {
		t.Errorf("writing with a token that may only read: %d %s", got, body)
	}
	p.open(a.url + "/tokens")
	p.lacks("body", token)
	p.eval(`[...document.querySelectorAll('#tokens tr')].find(r=>r.textContent.includes('editor')).querySelector('button').click()`)
	p.press("#confirm", "Revoke the token")
	p.lacks("#tokens", "editor")
	if got, _ := a.raw("GET", "/api/v1/chats", nil); got != 401 {
		t.Errorf("the revoked token: %d", got)
	}
	a.token = owner
	p.press(".sidebar", "Sign out")
	p.shows("h1", "Sign in")
	p.open(a.url + "/models")
	if at := p.eval(`location.pathname`); at != "/login" {
		t.Errorf("signed out, /models leads to %s", at)
	}
	p.allow("401")
	p.fill("#code", "rubbish")
	p.press("form:has(#code)", "Sign in with it")
	p.until(`document.getElementById('login-error').textContent.trim().length>10`)
}

// TestBrowserTurnsSettings: what is refused is named beside its field; what is stored is there again.
func TestBrowserTurnsSettings(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{ollama: shelf(t)})
	p := browse(t, a)
	p.open(a.url + "/turns")
	p.fill("#deadline-number", "0.5")
	p.press("#behaviour", "Save")
	p.shows("#deadline-error", "from 1 to 604800, or 0")
	p.picture("turns-refused")
	p.fill("#deadline-number", "90")
	p.press("#behaviour", "Save")
	p.shows("#behaviour", "Saved.")
	p.fill("#planning-text", "Name the risks.")
	p.press("#planning", "Save")
	p.shows("#planning", "Saved.")
	p.open(a.url + "/turns")
	p.until(`document.getElementById('planning-text').value==='Name the risks.'&&document.getElementById('deadline-number').value==='90'`)
	var behaviour struct {
		MS int64 `json:"requires_action_deadline_ms"`
	}
	a.must("GET", "/api/v1/chats/config/behaviour", nil, &behaviour)
	if behaviour.MS != 90_000 {
		t.Errorf("stored is %+v", behaviour)
	}
}
