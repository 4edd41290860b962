//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"holdfast/engine/ollama/scripted"
)

// permitScripts let the model run tests, run them again, and then something more.
func permitScripts() []scripted.Script {
	run := func(user, line string) []scripted.Script {
		return []scripted.Script{{User: user, Reply: toolCall("execute", map[string]any{"command": line})},
			{User: user, Results: 1, Reply: scripted.Text("I have seen what came of it.")}}
	}
	out := append(run("test it", "go version"), run("test once more", "go version")...)
	out = append(out, run("test and remove", "go version && rm -r x")...)
	return append(out, scripted.Script{User: "add a hook", Reply: toolCall("write_file", map[string]any{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\nexec go vet ./...\n"})},
		scripted.Script{User: "add a hook", Results: 1, Reply: scripted.Text("The hook is there.")})
}

// TestBrowserPermissions: what is allowed for a chat runs unasked in it, another line asks, the rule stands in the chat's settings, and a
// protected path offers nothing but once.
func TestBrowserPermissions(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{ollama: paced(t, pacing, permitScripts()...)})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	dir := t.TempDir()
	p.addFolder(dir, false)
	p.start("test it")
	p.shows(".card-ask .cmd", "go version")
	p.shows(".card-ask", "allow execute go version")
	p.until(`document.getElementById('composer-text').placeholder==='Add to the queue'`)
	p.both("permit-ask")
	p.press(".card-ask", "Allow in this chat")
	p.shows("#log", "I have seen what came of it.")
	p.rests()
	p.send("test once more")
	p.until(`document.querySelectorAll('#log .row-tool .out').length >= 2 && !document.querySelector('.card-ask')`)
	p.rests()
	p.send("test and remove")
	p.shows(".card-ask .cmd", "go version && rm -r x")
	p.shows(".card-ask", "allow execute rm -r x")
	p.fill(".card-ask input[name=reason]", "not before the release")
	p.press(".card-ask", "Deny")
	p.shows("#log .row-tool .out", "denied")
	p.rests()
	p.send("add a hook")
	p.shows(".card-ask", ".git/hooks/pre-commit")
	p.shows(".card-ask .code", "exec go vet")
	p.lacks(".card-ask", "Allow in this chat")
	p.both("permit-hook")
	p.press(".card-ask", "Allow once")
	p.shows("#log", "The hook is there.")
	p.rests()
	if text, err := os.ReadFile(filepath.Join(dir, ".git", "hooks", "pre-commit")); err != nil || string(text) != "#!/bin/sh\nexec go vet ./...\n" {
		t.Errorf("%q, %v", text, err)
	}
	p.open(p.eval(`location.href`) + "/rules")
	p.until(`document.querySelector('.rule-row:nth-child(1) [name=text]').value === 'go version'`)
	p.editsRules()
}

// both takes pictures, wide and narrow, light and dark, for who wants to look; nothing may be cut off sideways.
func (p *page) both(name string) {
	p.t.Helper()
	for _, width := range []int64{1280, 390} {
		for _, dark := range []bool{false, true} {
			p.do("resize", size(width, 900), theme(dark))
			p.until(`document.documentElement.scrollWidth <= innerWidth`)
			p.shot(fmt.Sprintf("%s-%d-%t", name, width, dark))
		}
	}
	p.do("wide", size(1440, 900), theme(false))
}

// editsRules adds, moves, tries, refuses, saves and removes rules on a page of them.
func (p *page) editsRules() {
	p.both("permit-rules")
	p.press("#rules", "Add a rule")
	p.until(`document.querySelectorAll('.rule-row').length === 2`)
	p.until(`!document.querySelector('.savebar').hidden`)
	p.do("choose deny", chromedp.SetValue(".rule-row:nth-child(2) [name=effect]", "deny", chromedp.ByQuery))
	p.fill(".rule-row:nth-child(2) [name=text]", "rm *")
	p.press("#rules", "Move rule 2 up")
	p.until(`document.querySelector('.rule-row:nth-child(1) [name=text]').value === 'rm *' && document.querySelector('.rule-row:nth-child(1) [name=effect]').value === 'deny'`)
	p.fill("input[name=try_text]", "ls && sudo rm x")
	p.press("#rules", "Try")
	p.shows("#rules-tried", "It is denied")
	p.shows("#rules-tried", "deny execute rm *")
	p.both("permit-tried")
	p.fill(".rule-row:nth-child(2) [name=text]", "go version; ls")
	p.press("#rules", "Save")
	p.shows(".rule-row:nth-child(2) .error", "quotes, pipes and lists")
	p.both("permit-refused")
	p.fill(".rule-row:nth-child(2) [name=text]", "go version *")
	p.press("#rules", "Save")
	p.shows("#rules", "Saved.")
	p.until(`document.querySelector('.savebar').hidden`)
	p.open(p.eval(`location.href`))
	p.until(`document.querySelector('.rule-row:nth-child(2) [name=text]').value === 'go version *'`)
	p.press("#rules", "Delete rule 1")
	p.until(`document.querySelectorAll('.rule-row').length === 1`)
	p.press("#rules", "Discard")
	p.until(`document.querySelectorAll('.rule-row').length === 2`)
}
