//go:build browser

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// contextFolder is a folder with instructions, hidden words in them, and skills, one of which is broken.
func contextFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "tidewatch")
	for name, text := range map[string]string{"AGENTS.md": "# How we build\n\nUse tabs.<!-- nobody sees this -->\n", "render/AGENTS.md": "# Golden files\n",
		".agents/skills/release-notes/SKILL.md": "---\nname: release-notes\ndescription: Write the notes of a release\n---\nFrom the commits.\n",
		".agents/skills/Make_Coffee/SKILL.md":   "---\nname: Make_Coffee\n---\n"} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// systems are the system texts of the Turns' requests, as the model server got them.
func systems(t *testing.T, server *scripted.Server) []string {
	t.Helper()
	var out []string
	for _, q := range server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			t.Fatal(err)
		}
		if len(p.Tools) > 0 {
			out = append(out, p.Messages[0].Content)
		}
	}
	return out
}

// TestBrowserContext: an edited AGENTS.md marks the open page; one press takes it, and the next request has the new words.
func TestBrowserContext(t *testing.T) {
	t.Parallel()
	server := scripted.New(scripted.Options{Record: true, Models: []scripted.Model{{Name: "paper:latest", Window: 32768, Capabilities: []string{"completion", "tools"}}}})
	running, err := scripted.Listen("127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	dir := contextFolder(t)
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.addFolder(dir, true)
	p.start("hello")
	p.rests()
	if got := systems(t, server)[0]; !strings.Contains(got, "Use tabs.") || strings.Contains(got, "nobody sees this") || !strings.Contains(got, "- release-notes: Write the notes") {
		t.Fatalf("the first request has\n%s", got)
	}
	p.press(".inspector", "Context3")
	p.shows("#context", "render/AGENTS.md")
	p.shows("#context", "Not sent: 1 hidden comment")
	p.shows("#context", "invalid")
	p.lacks("#bar", "Context changed")
	p.picture("context")

	writeFile(t, filepath.Join(dir, "AGENTS.md"), "# How we build\n\nUse spaces.\n")
	p.shows("#context-mark", "Context changed")
	p.shows("#context .callout", "Changed: AGENTS.md.")
	p.picture("context-changed")
	p.press("#bar", "Context changed: take it")
	p.lacks("#context-mark", "Context changed")
	p.send("go on")
	p.until(`document.querySelectorAll('#log .msg-user').length===2`)
	p.rests()
	all := systems(t, server)
	if got := all[len(all)-1]; !strings.Contains(got, "Use spaces.") || strings.Contains(got, "Use tabs.") {
		t.Errorf("the request after it was taken has\n%s", got)
	}

	// The skills of the workspace complete what begins with a slash.
	p.fill("#composer-text", "/rel")
	p.shows("#paths [role=option]", "release-notes")
	p.picture("context-skills")
	p.enter()
	p.until(`document.querySelector('#composer-text').value==='/release-notes '`)
}

// TestBrowserContextPage: a source is added, refused and removed; the content of a file is shown only when asked for, as it is.
func TestBrowserContextPage(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{ollama: shelf(t)})
	dir := contextFolder(t)
	var made struct{ ID string }
	a.must("POST", "/api/v1/workspaces", map[string]any{"directory": dir}, &made)
	p := browse(t, a)
	p.open(a.url + "/workspaces")
	p.press("#workspaces", "Context")
	p.shows("h1", "Context of tidewatch")
	p.press("#context", "Look again")
	p.shows("#context .table", "How we build")
	p.fill("#context-source", "/etc")
	p.press("#context", "Add")
	p.shows("#toasts", "/etc")
	p.fill("#context-source", filepath.Join(dir, "render"))
	p.press("#context", "Add")
	p.shows("#context .ledger", "render")
	p.until(`document.querySelector('#context-source').value===''`)
	p.picture("context-page")
	p.press("#context .ledger", "Remove "+filepath.Join(dir, "render"))
	p.until(`!document.querySelector('#context .ledger')`)
	p.press("#context .table", "AGENTS.md")
	p.shows(".term", "<!-- nobody sees this -->")
}
