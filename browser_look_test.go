//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/ollama/scripted"
)

// shown are the pages that are looked at, by name; chat is the address of one with a whole Turn of the demo.
func shown(chat string) map[string]string {
	return map[string]string{"chat": chat, "new-chat": "/?start=1", "models": "/models", "workspaces": "/workspaces", "tokens": "/tokens", "advisor": "/advisor", "turns": "/turns"}
}

// shelf is a model server with models such as people have, none of which is asked anything.
func shelf(t *testing.T) string {
	t.Helper()
	const gb = 1_000_000_000
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{
		{Name: "qwen3-coder:30b", Family: "qwen3moe", ParameterSize: "30.5B", Quantization: "Q4_K_M", Size: 18 * gb, Window: 262144, Capabilities: []string{"completion", "tools"}},
		{Name: "qwen3:8b", Family: "qwen3", ParameterSize: "8.2B", Quantization: "Q4_K_M", Size: 5 * gb, Window: 40960},
		{Name: "gemma3:12b", Family: "gemma3", ParameterSize: "12.2B", Quantization: "Q4_K_M", Size: 8 * gb, Window: 131072, Capabilities: []string{"completion", "vision"}},
		{Name: "nomic-embed-text:latest", Family: "nomic-bert", ParameterSize: "137M", Quantization: "F16", Size: gb / 4, Window: 2048, Capabilities: []string{"embedding"}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	return running.URL
}

// lookedAt is an appliance whose demo model has done a Turn in a folder.
func lookedAt(t *testing.T) (*appliance, *page, map[string]string) {
	t.Helper()
	a := serveNow(t, launch{ollama: shelf(t)})
	p := browse(t, a)
	p.press("#onboarding", "Use the demo model")
	dir := filepath.Join(t.TempDir(), "greet")
	if err := os.Rename(goFolder(t), dir); err != nil {
		t.Fatal(err)
	}
	p.addFolder(dir, true)
	at := p.start("add a --version flag and run the tests")
	p.shows("#log", "For real work choose a real model")
	p.rests()
	return a, p, shown(strings.TrimPrefix(at, a.url))
}

func TestBrowserWidths(t *testing.T) {
	t.Parallel()
	a, p, pages := lookedAt(t)
	const sideways = `document.documentElement.scrollWidth>innerWidth?document.documentElement.scrollWidth+' > '+innerWidth:''`
	for _, width := range []int64{1440, 900, 390, 360} {
		for _, dark := range []bool{false, true} {
			p.do("resize", size(width, 900), theme(dark))
			for name, path := range pages {
				p.open(a.url + path)
				if wide := p.eval(sideways); wide != "" {
					t.Errorf("%s at %d scrolls sideways: %s", name, width, wide)
				}
				if ground := p.eval(`getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/g).slice(0,3).every(n=>n<128)`); ground != fmt.Sprint(dark) {
					t.Errorf("%s, dark %v: the ground is %s", name, dark, p.eval(`getComputedStyle(document.documentElement).backgroundColor`))
				}
			}
		}
	}
	// On a phone the chats are a drawer.
	p.open(a.url + pages["chat"])
	p.until(`!document.getElementById('nav').checkVisibility()`)
	p.press("#bar", "Chats")
	p.until(`document.getElementById('nav').matches(':popover-open')`)
	p.press("#nav", "Close")
	p.until(`!document.getElementById('nav').matches(':popover-open')`)
}

func TestBrowserAxe(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(os.Getenv("HOLDFAST_AXE"))
	if err != nil {
		t.Fatalf("HOLDFAST_AXE must name axe.min.js of the npm package axe-core: %v", err)
	}
	a, p, pages := lookedAt(t)
	fresh, away := serveNow(t, launch{ollama: shelf(t)}), serveNow(t, launch{})
	none, first, lost := blank(t, fresh), browse(t, fresh), browse(t, away)
	// A theme that changes under an open page fades, so each page is opened in its own. Rows that a person opens have an output each, so that
	// landmarks are not unique then.
	look := func(p *page, name string, open func()) {
		t.Helper()
		for _, dark := range []bool{false, true} {
			p.do("theme", theme(dark))
			open()
			p.do("load axe", chromedp.Evaluate(string(source)+";true", nil))
			if found := p.eval(`axe.run(document,{resultTypes:['violations'],rules:{'landmark-unique':{enabled:false}}}).then(r=>r.violations.filter(v=>v.impact!=='minor').flatMap(v=>v.nodes.map(n=>v.id+': '+n.target.join(' ')+': '+n.failureSummary)).join('\n'))`); found != "" {
				t.Errorf("%s, dark %v:\n%s", name, dark, found)
			}
		}
	}
	for name, path := range pages {
		look(p, name, func() { p.open(a.url + path) })
	}
	look(p, "chat with all rows open", func() {
		p.open(a.url + pages["chat"])
		p.eval(`document.querySelectorAll('#log details').forEach(d=>d.open=true)`)
		p.until(`[...document.querySelectorAll('#log details[data-fetch] .body')].every(b=>b.textContent.trim()&&!b.textContent.includes('Loading'))`)
	})
	look(none, "login", func() { none.open(fresh.url + "/login") })
	look(first, "onboarding", func() { first.open(fresh.url) })
	look(lost, "onboarding without a model server", func() { lost.open(away.url) })
}

func TestBrowserKeyboard(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, 0)
	p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.eval(`document.getElementById('transcript').focus()`)
	p.key("/", "/", 191, 0)
	p.until(`document.activeElement.id==='composer-text'&&document.activeElement.value===''`)
	p.eval(`document.getElementById('transcript').focus()`)
	p.key("?", "?", 191, input.ModifierShift)
	p.until(`document.getElementById('shortcuts').open`)
	p.do("press Escape", chromedp.KeyEvent(kb.Escape))
	p.until(`!document.getElementById('shortcuts').open`)
	p.key("k", "", 75, input.ModifierCtrl)
	p.until(`document.activeElement.type==='search'`)
	// Every control is reached by Tab, in order, and shows it.
	p.eval(`document.activeElement.blur()`)
	seen := map[string]bool{}
	for range 40 {
		p.do("press Tab", chromedp.KeyEvent(kb.Tab))
		name := p.eval(`(e=>{const s=getComputedStyle(e);const l=e.closest('label');const o=getComputedStyle(e.closest('.composer,.seek')||l||e);return (e.getAttribute('aria-label')||e.textContent.trim()||e.name||e.id)+((s.outlineStyle!=='none'||s.boxShadow!=='none'||o.outlineStyle!=='none'||o.boxShadow!=='none'||e.matches('#transcript')||e===document.body)?'':' WITHOUT A RING')})(document.activeElement)`)
		if strings.HasSuffix(name, " WITHOUT A RING") {
			t.Errorf("focused but not seen: %s", name)
		}
		seen[name] = true
	}
	for _, want := range []string{"New chat", "Search chats", "Message", "Send", "Model", "More", "Copy the answer"} {
		if !seen[want] {
			t.Errorf("Tab never came to %q: %v", want, seen)
		}
	}
	p.eval(`document.activeElement.blur()`)
	p.key("n", "n", 78, 0)
	p.until(`location.pathname==='/'`)
}

// TestShotFlows writes the pictures of docs/screenshots into HOLDFAST_SHOTS; without it, into a folder that goes.
func TestShotFlows(t *testing.T) {
	dir := shotsDir(t)
	first, away := serveNow(t, launch{ollama: shelf(t)}), serveNow(t, launch{})
	found, none := browse(t, first), browse(t, away)
	demo, p, pages := lookedAt(t)
	a := demo.url
	for _, width := range []int64{1440, 390} {
		for _, dark := range []bool{false, true} {
			shot := func(p *page, name string) {
				t.Helper()
				p.capture(filepath.Join(dir, pictureName(name, width, dark)))
			}
			// A theme that changes under an open page fades, so each page is opened in its own.
			for url, tab := range map[string]*page{first.url: found, away.url: none} {
				tab.do("resize", size(width, 900), theme(dark))
				tab.open(url)
			}
			shot(found, "onboarding")
			shot(none, "onboarding-none")
			p.do("resize", size(width, 900), theme(dark))
			for name, path := range pages {
				p.open(a + path)
				if name == "chat" {
					edit := `[...document.querySelectorAll('details.row-tool')].find(d=>d.querySelector('.verb').textContent==='Edit')`
					p.eval(edit + `.querySelector('summary').click()`)
					p.until(edit + `.querySelectorAll('.ln.is-add').length>0`)
					p.do("turn the wheel", input.DispatchMouseEvent(input.MouseWheel, float64(width)/2, 400).WithDeltaX(0).WithDeltaY(-100_000))
					p.until(`document.getElementById('transcript').scrollTop===0`)
				}
				shot(p, name)
			}
		}
	}
}
