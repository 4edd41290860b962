//go:build browser

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/ollama/scripted"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// toolCall is a reply with one call.
func toolCall(tool string, args map[string]any) scripted.Reply {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return scripted.Calls(scripted.Call{Name: tool, Args: raw})
}

const (
	endless = "write without end"
	pacing  = 10 * time.Millisecond
)

// chatScripts are what the paced model of these tests answers.
func chatScripts() []scripted.Script {
	return []scripted.Script{
		{User: endless, Reply: scripted.Endless("One more sentence of a text that never comes to its end. ")},
		{User: "say hello", Reply: scripted.Text("Hello, this is the scripted model.")},
		{User: "first in the queue", Results: scripted.Any, Reply: scripted.Text("The first one is answered.")},
		{User: "second in the queue", Results: scripted.Any, Reply: scripted.Text("The second one is answered.")},
		{User: "rewritten", Results: scripted.Any, Reply: scripted.Text("The rewritten one is answered.")},
		{User: "run it", Reply: toolCall("execute", map[string]any{"command": "echo ran >> ran.txt && echo done"})},
		{User: "run it", Results: 1, Reply: scripted.Text("I have seen the result.")},
		{User: "missing once", Times: 1, Reply: scripted.Reply{Status: 404, Error: "model 'paced:latest' not found"}},
		{User: "missing once", Reply: scripted.Text("Now it is there.")},
		{User: "tell long", Reply: scripted.Reply{Frames: scripted.Words(strings.Repeat("A paragraph that is neither short nor long. ", 8) + "\n\n- one\n- two\n\n```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```\n\nAnd the **end**.")}},
	}
}

// chatting is an appliance with the paced model, and a signed-in page on its new chat.
func chatting(t *testing.T, pace time.Duration) (*appliance, *page) {
	t.Helper()
	a := serveNow(t, launch{ollama: paced(t, pace, chatScripts()...)})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	return a, p
}

func TestBrowserQueue(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, pacing)
	p.start(endless)
	p.shows("#log .is-draft", "never comes to its end")
	p.send("first in the queue")
	p.shows("#queue li", "first in the queue")
	p.shows("#queue li", "next")
	p.send("second in the queue")
	p.shows("#queue li:nth-child(2)", "second in the queue")
	p.send("to be removed")
	p.shows("#queue li:nth-child(3)", "to be removed")
	p.press("#queue li:nth-child(3)", "Move up")
	p.shows("#queue li:nth-child(2)", "to be removed")
	// By hand: the last one is dropped on the first.
	p.eval(`(()=>{const [first,,last]=document.querySelectorAll('#queue li'),data=new DataTransfer();for(const [el,name] of [[last,'dragstart'],[first,'dragover'],[first,'drop'],[last,'dragend']])el.dispatchEvent(new DragEvent(name,{bubbles:true,cancelable:true,dataTransfer:data}))})()`)
	p.shows("#queue li:nth-child(1)", "second in the queue")
	p.press("#queue li:nth-child(2)", "Move up")
	p.shows("#queue li:nth-child(1)", "first in the queue")
	p.press("#queue li:nth-child(3)", "Remove")
	p.lacks("#queue", "to be removed")
	// In its row it is written anew; another tab moves it meanwhile, and nothing of it is lost.
	p.press("#queue li:nth-child(1)", "Edit")
	p.until(`document.activeElement.matches('#queue-edit textarea')&&document.activeElement.value==='first in the queue'`)
	p.fill("#queue-edit textarea", "rewritten")
	q := p.another()
	q.open(p.eval(`location.href`))
	q.press("#queue li:nth-child(2)", "Move up")
	p.until(`document.querySelector('#queue li:nth-child(2) #queue-edit')&&document.activeElement.matches('#queue-edit textarea')&&document.activeElement.value==='rewritten'`)
	p.key("Enter", "\r", 13, 0)
	p.until(`!document.getElementById('queue-edit')`)
	p.shows("#queue li:nth-child(2)", "rewritten")
	q.shows("#queue li:nth-child(2)", "rewritten")
	q.lacks("#queue", "first in the queue")
	if text := p.eval(`document.getElementById('composer-text').value`); text != "" {
		t.Errorf("the composer holds %q", text)
	}
	// What is taken while it is written anew leaves its text in the composer.
	q.press("#queue li:nth-child(1)", "Edit")
	q.until(`document.activeElement.matches('#queue-edit textarea')`)
	q.fill("#queue-edit textarea", "my other words")
	// Sending the last one now interrupts what runs; the other follows by itself.
	p.press("#queue li:nth-child(2)", "Send now")
	p.shows("#log", "The rewritten one is answered.")
	p.shows("#log", "The second one is answered.")
	p.rests()
	text := p.log()
	if strings.Index(text, "The rewritten one") > strings.Index(text, "The second one") {
		t.Errorf("the order is wrong:\n%s", text)
	}
	if p.eval(`document.getElementById('queue').hidden`) != "true" {
		t.Error("the queue is not empty")
	}
	// Both pages were open all the while, and say again what can be written.
	p.until(`document.getElementById('composer-text').placeholder==='Describe the next change'`)
	q.until(`document.getElementById('composer-text').placeholder==='Describe the next change'`)
	q.until(`document.getElementById('composer-text').value==='my other words'`)
	q.shows("#toasts", "taken meanwhile")
}

func TestBrowserStop(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, pacing)
	p.start(endless)
	p.shows("#log .is-draft", "never comes to its end")
	p.click("#stop")
	p.shows("#rest", "You interrupted this turn")
	p.rests()
	p.shows("#log .is-step", "never comes to its end")
	kept := p.log()
	p.press("#rest", "Continue")
	p.shows("#phase", "interrupts")
	p.until(`document.getElementById('log').textContent.length>` + p.eval(`document.getElementById('log').textContent.length`) + `+50`)
	p.do("press Esc", chromedp.KeyEvent(kb.Escape))
	p.shows("#toasts", "Press Esc once more")
	p.do("press Esc again", chromedp.KeyEvent(kb.Escape))
	p.lacks("#toasts", "Press Esc once more")
	p.shows("#rest", "You interrupted this turn")
	p.rests()
	if now := p.log(); !strings.HasPrefix(now, kept[:len(kept)/2]) {
		t.Errorf("what was written before is gone:\n%s\n---\n%s", kept, now)
	}
	// Ctrl Enter stops what runs and sends at once.
	p.press("#rest", "Continue")
	p.shows("#phase", "interrupts")
	p.fill("#composer-text", "say hello")
	p.eval(`document.getElementById('composer-text').dispatchEvent(new KeyboardEvent('keydown',{key:'Enter',ctrlKey:true,bubbles:true,cancelable:true}))`)
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
}

func TestBrowserApproval(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	dir := t.TempDir()
	p.addFolder(dir, false)
	p.start("run it")
	p.shows(".card-ask", "The model asks to run a command")
	p.shows(".card-ask .cmd", "echo ran >> ran.txt")
	p.shows("#phase", "Waits for you")
	if _, err := os.Stat(filepath.Join(dir, "ran.txt")); !os.IsNotExist(err) {
		t.Fatalf("the command ran before anybody allowed it: %v", err)
	}
	// The card is still there on a page that is opened later.
	p.open(p.eval(`location.href`))
	p.press(".card-ask", "Allow once")
	p.shows("#log", "I have seen the result.")
	p.rests()
	if text, err := os.ReadFile(filepath.Join(dir, "ran.txt")); err != nil || string(text) != "ran\n" {
		t.Errorf("%q, %v", text, err)
	}
	p.until(`!document.querySelector('.card-ask')`)
	p.open(a.url + "/?start=1")
	p.start("run it")
	p.press(".card-ask", "Deny")
	p.shows("#log", "I have seen the result.")
	p.rests()
	p.shows("#log .row-tool .out", "denied")
	if text, err := os.ReadFile(filepath.Join(dir, "ran.txt")); err != nil || string(text) != "ran\n" {
		t.Errorf("a denied command ran: %q, %v", text, err)
	}
}

func TestBrowserErrors(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, pacing)
	p.start("missing once")
	p.shows("#rest .callout h4", "paced:latest is not on the model server")
	p.shows("#rest .callout p", "Pull or import it on the Models page")
	p.shows("#rest .callout", "model_missing")
	p.press("#rest", "Retry")
	p.shows("#log", "Now it is there.")
	p.rests()
	p.until(`document.getElementById('rest').textContent.trim()===''`)
}

func TestBrowserModelServerAway(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	handler := scripted.New(scripted.Options{Models: []scripted.Model{{Name: "paced:latest", Pace: pacing, Scripts: chatScripts()}}})
	running, err := scripted.Listen(address, handler)
	if err != nil {
		t.Fatal(err)
	}
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.until(`document.querySelector('#pick-model_config_id')`)
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	p.start("say hello")
	p.shows("#phase", "Trying again in")
	p.shows("#phase", "The model server at "+address+" does not answer.")
	p.until(`/\d+ s/.test(document.querySelector('#phase [data-until]')?.textContent)`)
	p.shows("#server", "Model server does not answer")
	if running, err = scripted.Listen(address, handler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
}

func TestBrowserTabs(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, 20*time.Millisecond)
	at := p.start("tell long")
	q := p.another()
	q.open(at)
	// On a busy machine the reply may be whole before the second tab has opened; then both are compared at rest alone.
	q.shows("#log", "neither short nor long")
	// While the text comes, what one tab shows is the begin of what the other shows; the unfinished end may be formatted later.
	const prose, unfinished = `document.querySelector('#log .is-step .prose')?.textContent.replace(/\s+/g,' ')??''`, 40
	for p.eval(`'running' in document.getElementById('actions').dataset`) == "true" {
		shorter, longer := p.eval(prose), q.eval(prose)
		if len(shorter) > len(longer) {
			shorter, longer = longer, shorter
		}
		if n := len(shorter) - unfinished; n > 0 && !strings.HasPrefix(longer, shorter[:n]) {
			t.Fatalf("the tabs differ:\n%s\n---\n%s", shorter, longer)
		}
	}
	for _, tab := range []*page{p, q} {
		tab.shows("#log", "And the end.")
		tab.rests()
	}
	eventually(t, waitLimit, "both tabs show the same", func() bool { return p.log() == q.log() })
	q.send("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	q.rests()
	eventually(t, waitLimit, "both tabs show the same", func() bool { return p.log() == q.log() })
	first := p.log()
	p.open(at)
	if again := p.log(); again != first {
		t.Errorf("a new document shows something else:\n%s\n---\n%s", first, again)
	}
}
