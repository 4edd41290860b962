//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/ollama/scripted"
)

// goFolder is a small program, as a person's folder would be.
func goFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module greet\n\ngo 1.26\n",
		"main.go":      "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(greeting())\n}\n\nfunc greeting() string { return \"hello\" }\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestGreeting(t *testing.T) {\n\tif greeting() != \"hello\" {\n\t\tt.Error(greeting())\n\t}\n}\n",
		"README.md":    "# greet\n\nSays hello.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// addFolder adds a folder on the page of a new chat. In one that is not trusted commands ask, whatever this machine could confine.
func (p *page) addFolder(dir string, trusted bool) {
	p.t.Helper()
	p.until(`document.querySelector('#directory')`)
	if p.eval(`document.querySelector('#directory').checkVisibility()`) != "true" {
		p.press("main", "Add a folder")
	}
	p.fill("#directory", dir)
	if trusted {
		p.click("#folder input[name=trusted]")
	}
	p.press("#folder", "Add the folder")
	p.until(`location.search.includes('workspace_id=')&&document.querySelector('#pick-workspace_id')?.selectedOptions[0].textContent===` + js(filepath.Base(dir)))
	if !trusted {
		p.eval(`fetch('/workspaces/'+new URLSearchParams(location.search).get('workspace_id')+'/sandbox',{method:'POST',` +
			`headers:{'Content-Type':'application/x-www-form-urlencoded'},body:'sandbox=off'}).then(r=>{window.asks=r.ok})&&'sent'`)
		p.until(`window.asks`)
	}
}

func TestBrowserDemo(t *testing.T) {
	t.Parallel()
	a, dir := serveNow(t, launch{}), goFolder(t)
	p := browse(t, a)
	p.shows("h1", "No model server answers yet")
	p.shows(".callout", strings.TrimPrefix(nobody, "http://"))
	p.press("#onboarding", "Use the demo model")
	p.shows("h1", "New chat")
	p.shows(".callout", "This is the demo model")
	p.addFolder(dir, true)
	p.start("add a --version flag and run the tests")
	p.shows("#log .row-tool .verb", "Edit")
	p.shows("#log .is-step", "scripted")
	p.rests()
	text, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil || !strings.Contains(string(text), "version") {
		t.Fatalf("the file was not edited: %v\n%s", err, text)
	}
	p.shows("#changes", "main.go")
	p.shows("#bar h1", "Demo")
	diff := `[...document.querySelectorAll('details.row-tool')].find(d=>d.querySelector('.verb').textContent==='Edit')`
	p.eval(diff + `.querySelector('summary').click()`)
	p.until(diff + `.querySelectorAll('.ln.is-add').length>0`)
	p.until(`document.querySelectorAll('.is-draft').length===1`)
	before := p.log()
	for _, want := range []string{"List", "Read", "Edit", "Run", "add a --version flag and run the tests"} {
		if !strings.Contains(before, want) {
			t.Errorf("%q is not in the transcript:\n%s", want, before)
		}
	}
	p.open(a.url + p.eval(`location.pathname`))
	if after := p.log(); after != before {
		t.Errorf("after a reload the transcript is another:\n%s\n---\n%s", before, after)
	}
}

// log is the transcript without what is only in an opened row, line by line.
func (p *page) log() string {
	p.t.Helper()
	return p.eval(`(l=>{const c=l.cloneNode(true);c.querySelectorAll('.row-tool .body,[data-since]').forEach(e=>e.remove());
return [...c.children].map(e=>e.id+' '+e.textContent.replace(/\s+/g,' ').trim()).join('\n')})(document.getElementById('log'))`)
}

func TestBrowserOnboardingGoesOn(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	a := serveNow(t, launch{ollama: "http://" + address})
	p := browse(t, a)
	p.shows("h1", "No model server answers yet")
	models := scripted.New(scripted.Options{Models: []scripted.Model{
		{Name: "small:latest", Size: 1 << 30, Scripts: []scripted.Script{{User: "hi", Reply: scripted.Text("Hello from small.")}}},
		{Name: "talker:latest", Size: 2 << 30, Capabilities: []string{"completion"}},
		{Name: "vectors:latest", Capabilities: []string{"embedding"}},
	}})
	running, err := scripted.Listen(address, models)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	p.shows("h1", "Choose a model")
	for _, name := range []string{"small:latest", "talker:latest", "vectors:latest"} {
		p.shows(".table", name)
	}
	if p.eval(`document.querySelector('input[value="vectors:latest"]').disabled`) != "true" {
		t.Error("a model for embeddings can be chosen for chats")
	}
	if p.eval(`document.querySelector('input[name=model]:checked').value`) != "small:latest" {
		t.Error("the model that calls tools is not suggested")
	}
	p.press("#onboarding", "Use this model")
	p.shows("h1", "New chat")
	p.start("hi")
	p.shows("#log", "Hello from small.")
	p.rests()
}

// paced is a scripted server with one model that writes at a pace, on TCP.
func paced(t *testing.T, pace time.Duration, scripts ...scripted.Script) string {
	t.Helper()
	// The chats keep the titles of their first words.
	scripts = append(scripts, scripted.Script{Contains: "This is a request by the appliance", Results: scripted.Any})
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "paced:latest", Pace: pace, Scripts: scripts}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	return running.URL
}

func TestBrowserAnotherModelServer(t *testing.T) {
	t.Parallel()
	serve := func(model string) string {
		running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: model}}}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { running.Close() })
		return running.URL
	}
	// Without a fixed address, pages may change it.
	a := serveNow(t, launch{args: []string{"--ollama", ""}})
	p := browse(t, a)
	p.open(a.url + "/models")
	for _, model := range []string{"first:latest", "second:latest"} {
		p.fill("#server-url", nobody)
		p.press("#models-server", "Try")
		p.shows("#server-error", "does not answer")
		p.fill("#server-url", serve(model))
		p.press("#models-server", "Try")
		p.shows("#models-list", model)
		p.shows("#models-server", "answers")
		if problem := p.eval(`document.querySelector('#server-error').textContent.trim()`); problem != "" {
			t.Errorf("still says %q", problem)
		}
	}
}
