//go:build browser

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBrowserForkExportImport: a chat goes on from an earlier answer in a copy, and comes back from its own file.
func TestBrowserForkExportImport(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.send("tell long")
	p.shows("#log", "And the end.")
	p.rests()
	p.do("the first answer", chromedp.ScrollIntoView("#log .meta", chromedp.ByQuery))
	p.press("#log .is-step .meta", "Fork the chat here")
	p.until(`location.href!==` + js(at) + `&&!!document.getElementById('transcript')`)
	p.shows("h1", "say hello (fork)")
	p.shows("#bar a", "fork of say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.lacks("#log", "And the end.")
	p.send("rewritten")
	p.shows("#log", "The rewritten one is answered.")
	p.rests()
	file := p.eval(`fetch(document.querySelector('#chat-menu a[href*="format=json"]').href).then(r=>r.text())`)
	if !json.Valid([]byte(file)) || !strings.Contains(file, "rewritten") {
		t.Fatalf("the export is %s", file)
	}
	if text := p.eval(`fetch(document.querySelector('#chat-menu a[href*="format=markdown"]').href).then(r=>r.text())`); !strings.Contains(text, "## You") {
		t.Errorf("the export to read is %s", text)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"whole.json": file, "cut.json": file[:len(file)/2]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.open(a.url + "/archive")
	p.allow("400")
	p.do("choose a broken file", chromedp.SetUploadFiles("#import-file", []string{filepath.Join(dir, "cut.json")}, chromedp.ByQuery))
	p.press("#import-chat", "Import the chat")
	p.shows("#import-error", "The request is not valid.")
	p.do("choose the file", chromedp.SetUploadFiles("#import-file", []string{filepath.Join(dir, "whole.json")}, chromedp.ByQuery))
	p.press("#import-chat", "Import the chat")
	p.until(`location.pathname.startsWith('/chats/')&&!!document.getElementById('transcript')`)
	p.shows("#log", "The rewritten one is answered.")
	p.send("say hello")
	p.until(`document.querySelectorAll('#log .is-ask').length===3`)
	p.rests()
}
