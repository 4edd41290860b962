//go:build browser

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

func TestBrowserReconnects(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	// A broken connection is the point here.
	p.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "network error", "Failed to fetch")
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.fill("#composer-text", "half a thought")
	before, loads := p.log(), p.requests("GET "+at)
	a.kill()
	p.until(`!document.getElementById('away').classList.contains('is-off')`)
	b := serveNow(t, launch{data: a.data, listen: strings.TrimPrefix(a.url, "http://"), ollama: a.ollama})
	p.until(`document.getElementById('away').classList.contains('is-off')`)
	if after := p.log(); after != before {
		t.Errorf("after the restart the page shows something else:\n%s\n---\n%s", before, after)
	}
	if text := p.eval(`document.getElementById('composer-text').value`); text != "half a thought" {
		t.Errorf("the composer lost its text: %q", text)
	}
	if b.url != a.url || p.requests("GET "+at) < loads {
		t.Fatal("not the same address")
	}
	p.enter()
	p.shows("#log .is-ask", "half a thought")
	p.rests()
}

func TestBrowserKilledWhileStreaming(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	p.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "network error", "Failed to fetch")
	at := p.start(endless)
	p.until(`document.querySelector('#log .is-draft .prose')?.textContent.length>600`)
	a.kill()
	p.until(`!document.getElementById('away').classList.contains('is-off')`)
	serveNow(t, launch{data: a.data, listen: strings.TrimPrefix(a.url, "http://"), ollama: a.ollama})
	p.until(`document.getElementById('away').classList.contains('is-off')`)
	// The partial is kept and marked, and the Turn goes on in a Step of its own.
	p.shows("#log .step-note", "")
	p.shows("#log .is-step", "never comes to its end")
	p.until(`document.querySelectorAll('#log .is-step .prose').length>1`)
	p.click("#stop")
	p.shows("#rest", "You interrupted this turn")
	p.rests()
	before := p.log()
	p.open(at)
	if after := p.log(); after != before {
		t.Errorf("a new document shows something else:\n%s\n---\n%s", before, after)
	}
}

func TestBrowserHiddenTab(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, pacing)
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	// A second tab in the same window hides the first.
	var other target.ID
	p.do("open a tab beside it", chromedp.ActionFunc(func(context.Context) (err error) {
		base, err := chromium()
		if err != nil {
			return err
		}
		other, err = target.CreateTarget(at).WithBrowserContextID(p.profile).Do(overall(base))
		return err
	}))
	base, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(base, chromedp.WithTargetID(other))
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	q := &page{t: t, ctx: ctx, profile: p.profile, told: p.told}
	q.prepare()
	q.do("show the second tab", target.ActivateTarget(other))
	p.until(`document.visibilityState==='hidden'`)
	q.send("first in the queue")
	q.shows("#log", "The first one is answered.")
	q.rests()
	if text := p.log(); strings.Contains(text, "The first one is answered.") {
		t.Error("a hidden tab goes on reading its stream")
	}
	before := p.requests("/stream")
	p.do("show the first tab", target.ActivateTarget(chromedp.FromContext(p.ctx).Target.TargetID))
	p.until(`document.visibilityState==='visible'`)
	p.shows("#log", "The first one is answered.")
	eventually(t, waitLimit, "both tabs show the same", func() bool { return p.log() == q.log() })
	if now := p.requests("/stream"); now != before+1 {
		t.Errorf("%d requests for streams before the first tab was shown again, %d after", before, now)
	}
}

// longChat puts a chat of n Messages into a store that nobody uses at the moment, and gives its address.
func longChat(t *testing.T, data string, like chat.ID, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := kv.Open(ctx, data, kv.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < n; from += 500 {
		if err := s.Update(ctx, func(tx *kv.Tx) error {
			c, _, err := tx.Chat(like)
			if err != nil {
				return err
			}
			for i := from; i < min(from+500, n); i += 2 {
				c.StepSeq++
				at := time.Now()
				for _, m := range []chat.Message{
					{Role: chat.RoleUser, Content: []chat.Part{{Type: chat.PartText, Text: fmt.Sprintf("Question %d of a long chat?", i/2)}}},
					{Role: chat.RoleAssistant, Step: c.StepSeq, FinishReason: "stop", Content: []chat.Part{{Type: chat.PartText,
						Text: fmt.Sprintf("Answer %d. %s\n\n- a point\n- another\n\n```go\nfmt.Println(%d)\n```\n", i/2, strings.Repeat("Words that fill the answer. ", 12), i)}}},
				} {
					m.ChatID, m.CreatedAt, m.ContentVersion = c.ID, at, 1
					e, err := kv.EncodeMessage(&m)
					if err != nil {
						return err
					}
					if _, err := tx.AppendMessage(c, e); err != nil {
						return err
					}
				}
			}
			return tx.PutChat(c)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBrowserLongChat(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	p.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "network error", "Failed to fetch")
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.do("leave", chromedp.Navigate("about:blank"))
	if code := a.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	longChat(t, a.data, chat.ID(filepath.Base(at)), 1998)
	serveNow(t, launch{data: a.data, listen: strings.TrimPrefix(a.url, "http://"), ollama: a.ollama})
	p.open(at)
	p.shows("#log", "Answer 998.")
	if n := p.eval(`document.querySelectorAll('#log>.turn:not(.is-draft)').length`); n != "100" {
		t.Errorf("the document holds %s messages", n)
	}
	p.until(`(b=>b.scrollTop>0&&b.scrollHeight-b.scrollTop-b.clientHeight<2)(document.getElementById('transcript'))`)
	// Older ones come when the reader is near the top, and what was being read stays where it was.
	const first = `document.querySelector('#log>.turn').id`
	was := p.eval(first)
	p.do("turn the wheel", input.DispatchMouseEvent(input.MouseWheel, 600, 400).WithDeltaX(0).WithDeltaY(-200000))
	p.until(first + `!==` + js(was))
	p.until(`document.querySelectorAll('#log>.turn').length>=200`)
	top := fmt.Sprintf(`Math.round(document.getElementById(%s).getBoundingClientRect().top-document.getElementById('transcript').getBoundingClientRect().top)`, js(was))
	if moved := p.eval(`(n=>n>-300&&n<300?'':n+' px')(` + top + `)`); moved != "" {
		t.Errorf("the page jumped by %s when older messages came", moved)
	}
	if twice := p.eval(`(l=>l.length-new Set(l).size)([...document.querySelectorAll('#log [id]')].map(e=>e.id))`); twice != "0" {
		t.Errorf("%s ids stand twice", twice)
	}
	p.send("first in the queue")
	p.shows("#log", "The first one is answered.")
	// A hit is far above what a page holds, on the chat's own page and from another one.
	for _, from := range []string{at, a.url + "/?start=1"} {
		p.open(from)
		p.fill("#nav input[type=search]", "417")
		p.shows("#hits mark", "417")
		p.key("Enter", "\r", 13, 0)
		p.until(`location.hash!==''`)
		p.until(`(e=>e&&e.textContent.includes('417')&&(r=>r.top>=0&&r.top<innerHeight)(e.getBoundingClientRect()))(document.querySelector(location.hash))`)
	}
}

// essay is Markdown of about 2,000 tokens with all that moves: paragraphs, lists, code, a table, headings.
func essay() string {
	var b strings.Builder
	for n := range 12 {
		fmt.Fprintf(&b, "## Part %d\n\n%s\n\n", n, strings.Repeat("This sentence stands in a paragraph of some length. ", 7))
		fmt.Fprintf(&b, "1. first\n2. second with `code`\n   - nested\n\n```go\nfunc part%d() error {\n\tif err := run(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n```\n\n", n)
		b.WriteString("| Name | Meaning |\n|---|---|\n| one | two |\n\n> quoted\n\n")
	}
	return b.String() + "The end of it."
}

func TestBrowserNothingShifts(t *testing.T) {
	t.Parallel()
	model := scripted.Script{User: "write an essay", Reply: scripted.Reply{Frames: append(scripted.Thoughts("I think about it for a while, and then some more."), scripted.Words(essay())...)}}
	a := serveNow(t, launch{ollama: paced(t, 4*time.Millisecond, model)})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.start("write an essay")
	// What shifts without a node of the document is a marker or a caret of the text.
	p.eval(`(()=>{window.shifts=[];const phase=r=>{const p=document.getElementById('phase').getBoundingClientRect();return r.top>=p.top&&r.bottom<=p.bottom};const prose=({node:n,currentRect:r})=>n?(n.closest?n:n.parentElement)?.closest('#log .prose'):r.top<document.getElementById('phase').getBoundingClientRect().top;new PerformanceObserver(l=>{for(const e of l.getEntries())if(!e.hadRecentInput)
window.shifts.push({value:e.value,text:e.sources.some(prose),phase:e.sources.every(s=>phase(s.currentRect)),where:e.sources.map(s=>(s.node?.id||s.node?.className||s.node?.nodeName)+' '+JSON.stringify(s.previousRect)+' '+JSON.stringify(s.currentRect)).join(', ')})}).observe({type:'layout-shift',buffered:true})})()`)
	p.shows("#log", "The end of it.")
	p.rests()
	if shifts := p.eval(`window.shifts.filter(s=>s.text).map(s=>s.value+' '+s.where).join('\n')`); shifts != "" {
		t.Errorf("what is read shifted:\n%s", shifts)
	}
	// Words that change in a head of reasoning, the line of the phase and the sidebar may move what stands behind them.
	if sum := p.eval(`window.shifts.filter(s=>!s.phase).reduce((n,s)=>n+s.value,0).toFixed(3)`); sum != "0.000" {
		t.Errorf("outside of the line of the phase the page shifted by %s:\n%s", sum, p.eval(`window.shifts.map(s=>s.value+' '+s.where).join('\n')`))
	}
	if sum := p.eval(`window.shifts.reduce((n,s)=>n+s.value,0).toFixed(2)`); sum != "0.00" {
		t.Errorf("the page shifted by %s:\n%s", sum, p.eval(`window.shifts.map(s=>s.value+' '+s.where).join('\n')`))
	}
	if n := p.eval(`document.querySelectorAll('#log .prose pre').length`); n != "12" {
		t.Errorf("%s blocks of code", n)
	}
}
