//go:build browser

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"holdfast/engine/ollama/scripted"
)

// seeing is a model server with a model that sees and one that does not.
func seeing(t *testing.T) (*scripted.Server, string) {
	t.Helper()
	scripts := []scripted.Script{{User: "stall", Times: 2, Reply: scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}}}
	server := scripted.New(scripted.Options{Record: true, Models: []scripted.Model{
		{Name: "eyes:latest", Scripts: scripts, Capabilities: []string{"completion", "tools", "vision"}}, {Name: "blind:latest", Scripts: scripts, Capabilities: []string{"completion", "tools"}}}})
	running, err := scripted.Listen("127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	return server, running.URL
}

func writePicture(t *testing.T, path string) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 120, 80))
	for y := range 80 {
		for x := range 120 {
			m.Set(x, y, color.RGBA{uint8(2 * x), uint8(3 * y), 120, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// choose gives files to the next choice of files that the page opens.
func (p *page) choose(press string, files ...string) {
	p.t.Helper()
	chosen := make(chan error, 1)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	chromedp.ListenTarget(ctx, func(ev any) {
		if e, ok := ev.(*cdppage.EventFileChooserOpened); ok {
			go func() {
				c := chromedp.FromContext(p.ctx)
				chosen <- dom.SetFileInputFiles(files).WithBackendNodeID(e.BackendNodeID).Do(cdp.WithExecutor(p.ctx, c.Target))
			}()
		}
	})
	p.do("watch for the choice of files", cdppage.SetInterceptFileChooserDialog(true))
	p.press("#composer", press)
	select {
	case err := <-chosen:
		if err != nil {
			p.t.Fatal(err)
		}
	case <-ctx.Done():
		p.t.Fatal("no choice of files was opened")
	}
}

// give hands a file to the page as a drop or a paste does.
func (p *page) give(event, target, name, media, text string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(()=>{const d=new DataTransfer(),el=document.querySelector(%s)
if(%s)d.items.add(new File([%s],%s,{type:%s}));else d.setData('text/plain',%s)
const e=%s==='paste'?new ClipboardEvent('paste',{clipboardData:d,bubbles:true,cancelable:true}):new DragEvent(%s,{dataTransfer:d,bubbles:true,cancelable:true})
return el.dispatchEvent(e)})()`, js(target), js(name), js(text), js(name), js(media), js(text), js(event), js(event)))
}

// shot keeps a picture of the page for who wants to look.
func (p *page) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("HOLDFAST_SHOTS")
	if dir == "" {
		return
	}
	var b []byte
	p.do("take a picture", chromedp.CaptureScreenshot(&b))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestBrowserNamesFiles(t *testing.T) {
	t.Parallel()
	server, at := seeing(t)
	a := serveNow(t, launch{ollama: at})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	dir := t.TempDir()
	for name, body := range map[string]string{"feed/fetch.go": "package feed\n\nfunc Fetch() {}\n", "fetch_test.go": "package feed\n", "big.log": strings.Repeat("x", 200<<10)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.addFolder(dir, false)
	p.fill("#composer-text", "Explain @fetch")
	p.until(`document.querySelectorAll('#paths [role=option]').length===2&&document.getElementById('paths').matches(':popover-open')`)
	p.shot("files-names")
	p.key("ArrowDown", "", 40, 0)
	p.until(`document.querySelector('#paths [aria-selected=true]').dataset.path==='feed/fetch.go'&&document.getElementById('composer-text').getAttribute('aria-activedescendant')==='path-1'`)
	p.key("Enter", "\r", 13, 0)
	p.until(`document.getElementById('composer-text').value==='Explain feed/fetch.go '&&document.querySelector('#files input[name=ref]').value==='feed/fetch.go'`)
	p.until(`!document.getElementById('paths').matches(':popover-open')`)
	p.enter()
	p.until(`location.pathname.startsWith('/chats/')&&!!document.getElementById('transcript')`)
	p.rests()
	if sent := string(server.Requests("/api/chat")[0].Body); !strings.Contains(sent, `File feed/fetch.go:\n`+"```"+`\npackage feed`) {
		t.Errorf("the model got %.400s", sent)
	}
	p.click("#log .ref-open > summary")
	p.shows("#log .ref-open[open] .lines", "func Fetch() {}")
	p.shot("files-named")
	// Esc closes the list and interrupts nothing; what is too large is refused with the message kept.
	p.fill("#composer-text", "And @big")
	p.shows("#paths", "big.log")
	p.key("Escape", "", 27, 0)
	p.until(`!document.getElementById('paths').matches(':popover-open')`)
	p.lacks("#toasts", "Press Esc once more")
	p.fill("#composer-text", "And @big")
	p.shows("#paths", "big.log")
	p.key("Tab", "\t", 9, 0)
	p.enter()
	p.shows("#composer-error", "larger than 128 KiB")
	p.press("#files", "Remove big.log")
	p.enter()
	p.until(`document.querySelectorAll('#log .is-ask').length===2`)
	p.rests()
}

// TestBrowserNamedFilesComeBack: what a queued message names is in the composer again when it was taken while somebody wrote it anew, and when an edit
// drops the queue.
func TestBrowserNamedFilesComeBack(t *testing.T) {
	t.Parallel()
	_, at := seeing(t)
	a := serveNow(t, launch{ollama: at})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	dir := t.TempDir()
	for _, name := range []string{"pier.go", "tide.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package pier\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.addFolder(dir, false)
	p.start("stall")
	p.shows("#log .is-draft", "I begin")
	queue := func(name string) {
		t.Helper()
		p.fill("#composer-text", "About @"+name)
		p.until(`document.querySelector('#paths [aria-selected=true]')?.dataset.path===` + js(name))
		p.key("Tab", "\t", 9, 0)
		p.until(`document.querySelector('#files input[name=ref]')?.value===` + js(name))
		p.enter()
		p.shows("#queue li", "About "+name)
		p.until(`!document.querySelector('#files input')`)
	}
	queue("pier.go")
	q := p.another()
	q.open(p.eval(`location.href`))
	q.press("#queue li", "Edit")
	q.until(`document.activeElement.matches('#queue-edit textarea')`)
	q.fill("#queue-edit textarea", "my other words")
	p.press("#queue li", "Send now")
	q.until(`document.getElementById('composer-text').value==='my other words'&&document.querySelector('#files input[name=ref]')?.value==='pier.go'`)
	p.rests()
	q.press("#files", "Remove pier.go")
	// An edit of what runs takes the queue back.
	p.send("stall")
	p.shows("#log .is-draft", "I begin")
	queue("tide.go")
	p.press("#log .is-ask:nth-last-of-type(2)", "Edit this message")
	p.fill("#log .is-edit textarea", "go on")
	p.press("#log .is-edit", "Send")
	p.until(`document.getElementById('composer-text').value.trim()==='About tide.go'&&document.querySelector('#files input[name=ref]')?.value==='tide.go'`)
	p.rests()
}

func TestBrowserFiles(t *testing.T) {
	t.Parallel()
	server, at := seeing(t)
	a := serveNow(t, launch{ollama: at})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	dir := t.TempDir()
	picture, notes := filepath.Join(dir, "gauge photo.png"), filepath.Join(dir, "grün.txt")
	writePicture(t, picture)
	if err := os.WriteFile(notes, []byte("the gauge reads 2.41"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.eval(`(s=>{s.value=[...s.options].find(o=>o.text.includes('blind')).value;s.dispatchEvent(new Event('change',{bubbles:true}))})(document.getElementById('pick-model_config_id'))`)
	p.choose("Attach files", picture, notes)
	p.until(`document.querySelectorAll('#files input').length===2&&document.querySelector('#files img').naturalWidth===120`)
	p.shows("#blind", "cannot see images")
	p.shows("#files-said", "is attached")
	p.fill("#composer-text", "What does it show?")
	p.shot("files-new")
	p.open(a.url + "/?start=1")
	p.until(`document.querySelectorAll('#files input').length===2&&document.getElementById('composer-text').value==='What does it show?'`)
	p.eval(`(s=>{s.value=[...s.options].find(o=>o.text.includes('eyes')).value;s.dispatchEvent(new Event('change',{bubbles:true}))})(document.getElementById('pick-model_config_id'))`)
	p.until(`document.getElementById('blind').hidden`)
	p.enter()
	p.until(`location.pathname.startsWith('/chats/')&&!!document.getElementById('transcript')`)
	p.rests()
	p.until(`document.querySelector('#log .thumb img').naturalWidth===120`)
	p.shows("#log .ref", "grün.txt")
	sent := string(server.Requests("/api/chat")[0].Body)
	if !strings.Contains(sent, `"images":["iVBOR`) || !strings.Contains(sent, "the gauge reads 2.41") {
		t.Errorf("the model got %.400s", sent)
	}
	p.until(`!document.querySelector('#files input')&&document.getElementById('files').hidden`)
	// Dropped, pasted, and text that is too long to be read in the field.
	p.give("dragover", "#transcript", "a.csv", "text/csv", "a,b")
	p.until(`document.getElementById('composer').classList.contains('is-drop')`)
	p.shot("files-drop")
	p.give("drop", "#transcript", "a.csv", "text/csv", "a,b")
	p.until(`!document.getElementById('composer').classList.contains('is-drop')&&!!document.querySelector('#files input')`)
	p.give("paste", "#composer-text", "shot.png", "image/png", "not a picture at all")
	p.give("paste", "#composer-text", "", "", strings.Repeat("a long line of a log\n", 600))
	p.until(`document.querySelectorAll('#files input').length===3`)
	p.give("paste", "#composer-text", "", "", "short words")
	p.shows("#files", "pasted.txt")
	p.press("#files", "Remove shot.png")
	p.until(`document.querySelectorAll('#files input').length===2&&document.activeElement.closest('#files')`)
	p.give("drop", "#transcript", "huge.bin", "application/octet-stream", strings.Repeat("x", 10<<20+1))
	p.shows("#files [data-refused]", "larger than 10 MiB")
	p.shot("files-refused")
	p.enter()
	p.shows("#composer-error", "Remove the file that was not attached")
	p.press("#files", "Remove huge.bin")
	p.enter()
	p.until(`document.querySelectorAll('#log .is-ask').length===2`)
	p.rests()
	p.shows("#log .is-ask:nth-of-type(n+2)", "pasted.txt")
	// A message of files alone waits in the queue; words that are written to it there go with its files.
	p.send("stall")
	p.until(`'running' in document.getElementById('actions').dataset`)
	p.shows("#log .is-draft", "I begin")
	p.give("drop", "#transcript", "q.txt", "text/plain", "queued")
	p.until(`document.querySelectorAll('#files input').length===1`)
	p.enter()
	p.shows("#queue li", "q.txt")
	p.press("#queue", "Edit")
	p.until(`document.activeElement.matches('#queue-edit textarea')&&document.activeElement.value===''`)
	p.fill("#queue-edit textarea", "look at it")
	p.shot("files-chat")
	if os.Getenv("HOLDFAST_SHOTS") != "" {
		p.do("narrow and dark", size(390, 844), theme(true))
		p.shot("files-chat-390-dark")
	}
	p.key("Enter", "\r", 13, 0)
	p.until(`!document.getElementById('queue-edit')`)
	p.shows("#queue li", "look at it")
	p.shows("#queue li", "q.txt")
}
