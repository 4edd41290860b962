//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdfast/engine/ollama/scripted"
)

// maker is a model that makes the workspace of its chat from the first template it finds, and looks at a file in it. "wait" lets it run a
// command that ends when the file go is in the folder.
func maker(p *scripted.Prompt) scripted.Reply {
	if p.Small() != "" {
		return scripted.Text("A chat")
	}
	results := p.Results()
	switch {
	case p.User() == "wait" && len(results) == 0:
		return toolCall("execute", map[string]any{"command": "until [ -e go ]; do sleep 0.1; done", "timeout": "2m"})
	case p.User() == "wait":
		return scripted.Text("It is there.")
	case len(results) == 0:
		return toolCall("list_templates", map[string]any{})
	case len(results) == 1:
		_, rest, _ := strings.Cut(results[0].Content, `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return toolCall("create_workspace", map[string]any{"template_id": id, "name": "moon", "branch": "fix/login"})
	case len(results) == 2:
		return toolCall("read_file", map[string]any{"path": "ready.txt"})
	}
	return scripted.Text("The workspace is there.")
}

func making(t *testing.T) (*appliance, *page) {
	t.Helper()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "maker:latest", Window: 32768, Answer: maker}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	return a, browse(t, a)
}

// gate is a setup that waits until the test lets it on; fails says that it then fails.
func gateSetup(dir string) string {
	return "echo step one; until [ -e " + dir + "/go ]; do sleep 0.1; done; echo step two; [ ! -e " + dir + "/fail ] || exit 3; echo made > ready.txt"
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserTemplates: a template is written, refused, corrected, changed and deleted; a model makes its chat's workspace from it while
// its setup is followed in the chat and on the page of workspaces, fails, and is tried again; a worktree with changes asks before it goes.
func TestBrowserTemplates(t *testing.T) {
	t.Parallel()
	a, p := making(t)
	source, gate, made := repository(t), t.TempDir(), t.TempDir()
	writeTemplate(p, a, source, made, gateSetup(gate))

	chat := makeByModel(t, p, a, gate)

	// Retry, from the chat.
	if err := os.Remove(filepath.Join(gate, "fail")); err != nil {
		t.Fatal(err)
	}
	p.open(chat)
	p.shows("#space", "moon is not set up")
	p.press("#space", "Retry")
	p.until(`document.getElementById('space').textContent.trim()===''`)
	p.open(a.url + "/workspaces")
	p.shows("#workspaces", "running")
	p.shows("#workspaces", "from the template Tide tables, branch holdfast/fix/login")
	p.picture("workspaces")

	// The time of idle ones.
	p.fill("#idle-ttl", "soon")
	p.press("#idle", "Save")
	p.shows("#idle-error", "such as 30m")
	p.fill("#idle-ttl", "40d")
	p.press("#idle", "Save")
	p.shows("#idle-error", "30 days")
	p.fill("#idle-ttl", "2h")
	p.press("#idle", "Save")
	p.shows("#idle", "Saved.")
	p.shows("#workspaces", "stops in 1 h")

	// A worktree with changes.
	dir := filepath.Join(made, "moon")
	if _, err := os.Stat(filepath.Join(dir, "ready.txt")); err != nil {
		t.Fatal(err)
	}
	p.press("#workspaces", "Remove")
	p.press("#confirm", "Remove the workspace")
	p.shows("#keep-files[open]", "has changes that stand nowhere else")
	p.picture("worktree-dirty")
	p.press("#keep-files", "Cancel")
	p.until(`!document.getElementById('keep-files').open`)
	p.shows("#workspaces", "moon")
	p.press("#workspaces", "Remove")
	p.press("#confirm", "Remove the workspace")
	p.press("#keep-files[open]", "Keep the files")
	p.shows("#workspaces", "No workspaces yet")
	if _, err := os.Stat(filepath.Join(dir, "ready.txt")); err != nil {
		t.Errorf("the files were not kept: %v", err)
	}

	p.open(a.url + "/templates")
	p.eval(`document.querySelector('#templates details').open=true`)

	// Its rules, one a line; what cannot be read stays in the field.
	p.eval(`document.querySelectorAll('#templates form details').forEach(d=>d.open=true)`)
	p.fill("#templates [name=permissions]", "deny execute rm *\nperhaps write_file docs/**")
	p.press("#templates .savebar", "Save")
	p.shows("#templates", "Line 2 must begin with allow, ask or deny.")
	p.both("template-rules-wrong")
	p.fill("#templates [name=permissions]", "deny execute rm *\nallow write_file docs/**")
	p.press("#templates .savebar", "Save")
	p.shows("#templates summary", "2 rules")
	p.shows("#templates", "Saved.")
	p.both("template-rules")
	p.press("#templates", "Delete the template")
	p.press("#confirm", "Delete the template")
	p.shows("#templates", "No templates yet")
}

// writeTemplate writes the template of the test by hand.
func writeTemplate(p *page, a *appliance, source, made, setup string) {
	p.t.Helper()
	p.open(a.url + "/templates")
	p.shows("#templates", "No templates yet")
	p.eval(`document.querySelectorAll('#template-new details').forEach(d=>d.open=true)`)
	p.fill("#template-new [name=name]", "Tide tables")
	p.until(`!document.querySelector('#template-new .savebar').hidden`)
	p.until(`getComputedStyle(document.querySelector('#template-new .field:has([name=directory])')).display==='none'`)
	p.choice("#template-new [name=kind]", "worktree")
	p.fill("#template-new [name=source]", "src")
	p.fill("#template-new [name=directory]", made)
	p.fill("#template-new [name=setup]", setup)
	p.fill("#template-new [name=setup_timeout_ms]", "3h")
	p.click("#template-new [name=allow_agents]")
	p.press("#template-new", "Make the template")
	p.shows("#template-new .is-bad", "absolute path")
	p.until(`document.querySelectorAll('#template-new .is-bad').length===2`)
	p.picture("template-refused")
	if kept := p.eval(`document.querySelector('#template-new [name=setup]').value`); kept != setup {
		p.t.Errorf("the form forgot what was typed: %q", kept)
	}
	p.fill("#template-new [name=source]", source)
	p.fill("#template-new [name=setup_timeout_ms]", "5m")
	p.press("#template-new", "Make the template")
	p.shows("#templates", "Tide tables")
	p.until(`document.querySelector('#template-new [name=name]').value===''&&document.querySelector('#template-new .savebar').hidden`)

	// Changed, with the setup of the test trusted so that nobody is asked.
	p.eval(`document.querySelector('#templates details').open=true`)
	p.eval(`document.querySelectorAll('#templates form details').forEach(d=>d.open=true)`)
	p.fill("#templates [name=description]", "The tables of the harbour")
	p.choice("#templates [name=policy]", "trusted")
	p.choice("#templates [name=sandbox]", "off")
	p.until(`document.querySelector('#templates [data-count]').textContent==='3 changes not saved'`)
	p.press("#templates", "Save")
	p.shows("#templates", "Saved.")
	p.until(`document.querySelector('#templates .savebar').hidden`)
	p.picture("templates")
}

// makeByModel lets the model make the workspace; its setup fails.
func makeByModel(t *testing.T, p *page, a *appliance, gate string) (chat string) {
	t.Helper()
	p.open(a.url + "/?start=1")
	chat = p.start("make it")
	p.shows("#log .is-tail", "step one")
	p.shows("#log", "being set up")
	p.picture("making")
	other := p.another()
	other.open(a.url + "/workspaces")
	other.shows("#workspaces", "being set up")
	other.shows("#workspaces .is-more", "step one")
	put(t, filepath.Join(gate, "fail"))
	put(t, filepath.Join(gate, "go"))
	other.shows("#workspaces .is-more", "exit code 3")
	other.shows("#workspaces", "not set up")
	other.picture("workspaces-failed")
	p.rests()
	p.shows("#log", "setup failed")
	p.picture("made-failed")
	return chat
}

// TestBrowserTwoChatsOneFolder: while two chats work in one folder, the pages of both say so.
func TestBrowserTwoChatsOneFolder(t *testing.T) {
	t.Parallel()
	a, p := making(t)
	dir := t.TempDir()
	p.open(a.url + "/?start=1")
	p.addFolder(dir, true)
	p.start("wait")
	p.until(`document.getElementById('space').textContent.trim()===''`)
	other := p.another()
	other.open(a.url + "/?start=1")
	other.choice("[name=workspace_id]", p.eval(`document.querySelector('[name=workspace_id]').value`))
	other.start("wait")
	other.shows("#space", "Another chat is working in the same folder")
	p.shows("#space", "Another chat is working in the same folder")
	p.picture("shared-folder")
	put(t, filepath.Join(dir, "go"))
	p.rests()
	other.rests()
	p.until(`document.getElementById('space').textContent.trim()===''`)
	other.until(`document.getElementById('space').textContent.trim()===''`)
}

// choice chooses in a select as a person does.
func (p *page) choice(selector, value string) {
	p.t.Helper()
	p.do("choose "+value, chromedp.SetValue(selector, value, chromedp.ByQuery))
	p.eval(`(()=>{const e=document.querySelector(` + js(selector) + `);e.dispatchEvent(new Event('input',{bubbles:true}));e.dispatchEvent(new Event('change',{bubbles:true}))})()`)
}
