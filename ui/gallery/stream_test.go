//go:build browser

package gallery

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"holdfast/ui/static"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// live is a chat page with a stream that the test feeds: each frame is one write of whole events.
type live struct {
	srv    *httptest.Server
	frames chan string
	posts  chan string
	older  chan string
}

func event(t *testing.T, selector, mode string, list ...templ.Component) string {
	t.Helper()
	var body bytes.Buffer
	for _, c := range list {
		if err := c.Render(context.Background(), &body); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	out.WriteString("event: datastar-patch-elements\n")
	if selector != "" {
		fmt.Fprintf(&out, "data: selector %s\n", selector)
	}
	if mode != "" {
		fmt.Fprintf(&out, "data: mode %s\n", mode)
	}
	for line := range strings.SplitSeq(body.String(), "\n") {
		out.WriteString("data: elements " + line + "\n")
	}
	return out.String() + "\n"
}

func newLive(t *testing.T, page func(view.Page) view.ChatPage) *live {
	t.Helper()
	assets, err := static.New("")
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(assets)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{frames: make(chan string), posts: make(chan string, 16), older: make(chan string, 16)}
	mux := http.NewServeMux()
	mux.Handle("GET "+static.Prefix, assets)
	mux.Handle("GET /gallery/", h)
	mux.HandleFunc("GET /chats/1", func(w http.ResponseWriter, r *http.Request) {
		p := h.page("Live")
		p.Stream = "/chats/1/stream"
		h.write(w, r, view.ChatDocument(page(p)))
	})
	mux.HandleFunc("GET /chats/1/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		rc := http.NewResponseController(w)
		for {
			select {
			case <-r.Context().Done():
				return
			case f := <-l.frames:
				if _, err := w.Write([]byte(f)); err != nil {
					return
				}
				if err := rc.Flush(); err != nil {
					return
				}
			}
		}
	})
	mux.HandleFunc("POST /chats/1/older", func(w http.ResponseWriter, r *http.Request) {
		l.older <- "older before " + r.FormValue("before")
		h.write(w, r, view.OlderEntries("1", []view.Entry{{Ask: &view.Ask{ID: -2, Text: "Far above", Time: "1:00"}}, {Step: &view.Step{N: -1, Parts: []view.Part{prose(strings.Repeat("Old text. ", 400))}}}}, false))
	})
	mux.HandleFunc("GET /chats/1/queue/31/edit", func(w http.ResponseWriter, r *http.Request) {
		h.write(w, r, view.QueueEditor(view.QueueEdit{ID: 31, ChatID: "1", Text: "Then bump the version and write the changelog entry"}))
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		err := r.ParseForm()
		line := r.URL.Path
		for _, k := range []string{"text", "behavior", "decision"} {
			if v := r.PostFormValue(k); v != "" {
				line += " " + k + "=" + v
			}
		}
		if err != nil || (len(r.PostForm) > 0 && r.PostFormValue("key") == "" && r.PostFormValue("model_config_id") == "") {
			line += " without a key"
		}
		l.posts <- line
		if strings.Contains(line, "refuse") {
			h.write(w, r, view.FormError("composer-error", "Message queue is full."))
			return
		}
		if strings.Contains(line, "too late") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	l.srv = httptest.NewServer(mux)
	// The page holds its stream until the browser ends, which is later.
	t.Cleanup(func() { l.srv.CloseClientConnections(); l.srv.Close() })
	return l
}

// send gives one frame to the page; it waits until the stream took it.
func (l *live) send(events ...string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		select {
		case l.frames <- strings.Join(events, ""):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (l *live) posted(t *testing.T, want string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		select {
		case got := <-l.posts:
			if got != want {
				t.Errorf("posted %q, want %q", got, want)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", want, ctx.Err())
		}
	})
}

func resting(p view.Page) view.ChatPage {
	c := chatPage(p)
	c.Chat.Older = false
	c.Chat.Entries = c.Chat.Entries[:3]
	c.Chat.Dock.Running, c.Chat.Dock.Phase, c.Chat.Dock.Queue = false, view.Phase{}, nil
	return c
}

// TestStream streams a whole Turn of 2,000 tokens through Datastar and commits it: nothing above moves, what the reader selected and opened
// stays, and the page ends as if it had been rendered anew.
func TestStream(t *testing.T) {
	ctx := browser(t)
	l := newLive(t, resting)
	lines := watch(ctx)
	answerText := strings.Repeat(answer+"\n\n", 6)
	think := view.DraftPart{Reasoning: true, Text: "Two callers.\n\nOne deadline.", Took: "2.0 s"}
	draft := view.Draft{Step: 9, ChatID: "1", Generation: 1}
	var cursor view.DraftCursor
	cursor.Shown(draft)
	actions := []chromedp.Action{open(l.srv.URL+"/chats/1", 1440, 900, false),
		chromedp.Evaluate(`window.shifts=0;window.add=l=>{for(const e of l)if(!e.hadRecentInput)shifts+=e.value};window.shifting=new PerformanceObserver(l=>add(l.getEntries()));shifting.observe({type:'layout-shift',buffered:false});true`, nil),
		l.send(event(t, "#log", "append", view.AskItem(view.Ask{ID: 8, ChatID: "1", Text: "Go on", Time: "15:00"}), view.StepItem(view.DraftStep(draft)))),
		chromedp.WaitReady("#s-9", chromedp.ByQuery)}
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
	runes := []rune(answerText)
	for at := 0; at < len(runes); {
		at = min(len(runes), at+60)
		draft.Parts = []view.DraftPart{think, {Text: string(runes[:at])}}
		var events []string
		for _, p := range cursor.Next(draft) {
			events = append(events, event(t, p.Selector, p.Mode, p.HTML))
		}
		if err := chromedp.Run(ctx, l.send(events...)); err != nil {
			t.Fatal(err)
		}
		if at == 600 {
			// Opening moves what is below, by the reader's own hand; it is not counted.
			open := chromedp.Evaluate(`document.querySelector('#r-9-0').open=true;getSelection().selectAllChildren(document.querySelector('#b-9-1-0 p'));new Promise(done=>requestAnimationFrame(()=>requestAnimationFrame(()=>requestAnimationFrame(()=>{shifting.takeRecords();shifts=0;done(true)}))))`, nil, awaits)
			if err := chromedp.Run(ctx, chromedp.WaitReady("#b-9-1-1", chromedp.ByQuery), open); err != nil {
				t.Fatal(err)
			}
		}
	}
	final := view.DraftStep(draft)
	final.Draft, final.Parts[1].Prose = false, text.Prose(answerText)
	final.Meta = &view.Meta{Facts: []string{"qwen3-coder:30b"}}
	var shifts float64
	var selected, end, html string
	var opened, bottom bool
	if err := chromedp.Run(ctx,
		l.send(event(t, "#s-9", "outer", view.StepItem(final), view.StepItem(view.DraftStep(view.Draft{Step: 10})))),
		chromedp.WaitReady("#s-10", chromedp.ByQuery),
		chromedp.Evaluate(`new Promise(done=>requestAnimationFrame(()=>requestAnimationFrame(()=>{add(shifting.takeRecords());done(shifts)})))`, &shifts, awaits),
		chromedp.Evaluate(`getSelection().toString()`, &selected),
		chromedp.Evaluate(`document.querySelector('#r-9-0').open`, &opened),
		chromedp.Evaluate(`document.querySelector('#s-9 .meta').textContent.trim()`, &end),
		chromedp.Evaluate(`[...document.querySelectorAll('#s-9 .blk')].map(b=>b.innerHTML).join('\n')`, &html),
		chromedp.Evaluate(`(b=>b.scrollHeight-b.scrollTop-b.clientHeight<2)(document.querySelector('#transcript'))`, &bottom)); err != nil {
		t.Fatal(err)
	}
	if shifts > 0.001 {
		t.Errorf("layout shift score %.4f over the Turn", shifts)
	}
	if !strings.HasPrefix(selected, "The fetcher now retries") {
		t.Errorf("the selection is %q", selected)
	}
	if !opened {
		t.Error("the reasoning that the reader opened was closed")
	}
	if !bottom {
		t.Error("the page did not follow the text")
	}
	if end == "" || strings.Count(html, `class="code"`) != 6 || !strings.Contains(html, `class="k"`) {
		t.Errorf("the committed Step is not whole: %q, %d blocks of code", end, strings.Count(html, `class="code"`))
	}
	for _, line := range lines.take() {
		t.Error("console: " + line)
	}
}

// TestIntents does what a person does in a chat and looks at what is posted.
func TestIntents(t *testing.T) {
	ctx := browser(t)
	l := newLive(t, chatPage)
	lines := watch(ctx)
	var text, focus, pill string
	steps := []chromedp.Action{
		open(l.srv.URL+"/chats/1", 1440, 900, false),
		// keys
		chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown',{key:'/',bubbles:true,cancelable:true}))`, nil), chromedp.Evaluate(`document.activeElement.id`, &focus),
		chromedp.SendKeys("#composer-text", "first line", chromedp.ByQuery),
		chromedp.Evaluate(key("Enter", "shiftKey:true"), nil),
		chromedp.Evaluate(key("Enter", ""), nil), l.posted(t, "/chats/1/messages text=first line behavior=queue"),
		chromedp.Poll(`document.querySelector('#composer-text').value===''`, nil),
		chromedp.SendKeys("#composer-text", "now", chromedp.ByQuery),
		chromedp.Evaluate(key("Enter", "ctrlKey:true"), nil), l.posted(t, "/chats/1/messages text=now behavior=interrupt"),
		chromedp.Poll(`document.querySelector('#composer-text').value===''`, nil),
		// refused: the text stays, the reason is shown
		chromedp.SendKeys("#composer-text", "refuse this", chromedp.ByQuery),
		chromedp.Evaluate(key("Enter", ""), nil), l.posted(t, "/chats/1/messages text=refuse this behavior=queue"),
		chromedp.Poll(`document.querySelector('#composer-error').textContent.includes('queue is full')`, nil),
		chromedp.Evaluate(`document.querySelector('#composer-text').value`, &text),
		// the draft is kept per chat
		chromedp.Reload(), chromedp.WaitReady("#composer-text", chromedp.ByQuery),
		chromedp.Poll(`document.querySelector('#composer-text').value==='refuse this'`, nil),
		// approval, queue, stop
		chromedp.Evaluate(`document.querySelector('#transcript button[name=decision][value=deny]').click()`, nil), l.posted(t, "/gallery/approve decision=deny"),
		chromedp.Evaluate(`document.querySelector('#q-31 [aria-label=Remove]').click()`, nil), l.posted(t, "/chats/1/queue/31/delete"),
		chromedp.Evaluate(`document.querySelector('#q-31 [aria-label="Send now"]').click()`, nil), l.posted(t, "/chats/1/queue/31/promote"),
		chromedp.Evaluate(`document.activeElement.blur()`, nil),
		chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("\x1b"), l.posted(t, "/chats/1/interrupt"),
		chromedp.Evaluate(`(s=>{s.value='b';s.dispatchEvent(new Event('change',{bubbles:true}))})(document.querySelector('#pick-model_config_id'))`, nil), l.posted(t, "/chats/1/settings"),
		// a row's body comes when it is opened
		chromedp.Evaluate(`document.querySelector('#d-3-0').open=true`, nil), chromedp.Poll(`document.querySelector('#kb-3-0 .lines')!==null`, nil),
		// away from the start of the document: scroll up, older messages come, the place stays
		input.DispatchMouseEvent(input.MouseWheel, 700, 400).WithDeltaX(0).WithDeltaY(-1200),
		chromedp.Poll(`!document.querySelector('#transcript').classList.contains('is-following')`, nil),
		chromedp.Poll(`document.querySelector('#m--2')!==null`, nil),
		// away from the end: a pill, not a jump
		l.send(event(t, "#log", "append", view.MarkItem(view.Mark{ID: 77, Text: "new"}))),
		chromedp.Poll(`!document.querySelector('#below').classList.contains('is-off')`, nil),
		chromedp.Evaluate(`document.querySelector('#below').textContent.trim()`, &pill),
		chromedp.Poll(`Math.abs(document.querySelector('#transcript').getBoundingClientRect().bottom-12-document.querySelector('#below').getBoundingClientRect().bottom)<2`, nil),
		chromedp.Evaluate(`document.querySelector('#below').click()`, nil),
		chromedp.Poll(`document.querySelector('#below').classList.contains('is-off')`, nil),
		// theme is remembered, the shortcuts open
		chromedp.Evaluate(`document.querySelector('[data-act=theme]').click()`, nil), chromedp.Reload(),
		chromedp.Poll(`document.documentElement.dataset.theme==='dark'`, nil),
		chromedp.KeyEvent("?"), chromedp.Poll(`document.querySelector('#shortcuts').open`, nil),
	}
	for i, s := range steps {
		if err := chromedp.Run(ctx, s); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if focus != "composer-text" || text != "refuse this" || pill != "New below" {
		t.Errorf("focus %q, text %q, pill %q", focus, text, pill)
	}
	for _, line := range lines.take() {
		t.Error("console: " + line)
	}
}

// TestQueueIntents writes a queued message anew in its row.
func TestQueueIntents(t *testing.T) {
	ctx := browser(t)
	l := newLive(t, chatPage)
	lines := watch(ctx)
	steps := []chromedp.Action{
		open(l.srv.URL+"/chats/1", 1440, 900, false),
		// Esc leaves it, other frames leave it alone, Enter saves, Ctrl Enter also sends it now
		chromedp.Evaluate(queueEdit, nil), chromedp.Poll(queueField+`?.value.endsWith('write the changelog entry')&&document.activeElement===`+queueField, nil),
		chromedp.KeyEvent("\x1b"), chromedp.Poll(`!document.querySelector('#queue-edit')&&document.activeElement.matches('#q-31 [aria-label=Edit]')`, nil),
		chromedp.Evaluate(queueEdit, nil), chromedp.Poll(`document.activeElement===`+queueField, nil),
		chromedp.KeyEvent("!"), l.send(event(t, "", "", view.QueueList(waits(30, 31)))),
		chromedp.Poll(`document.querySelector('#q-30')&&document.activeElement===`+queueField+`&&`+queueField+`.value.endsWith('entry!')&&document.querySelector('#queue-edit').closest('li').id==='q-31'`, nil),
		chromedp.Evaluate(queueField+`.value='rewritten'`, nil), chromedp.Evaluate(queueEnter, nil), l.posted(t, "/chats/1/queue/31/edit text=rewritten"),
		chromedp.Poll(`!document.querySelector('#queue-edit')`, nil),
		chromedp.Evaluate(queueEdit, nil), chromedp.Poll(`document.activeElement===`+queueField, nil),
		chromedp.Evaluate(queueField+`.value='hurry'`, nil), chromedp.Evaluate(queueField+`.dispatchEvent(new KeyboardEvent('keydown',{key:'Enter',ctrlKey:true,bubbles:true,cancelable:true}))`, nil),
		l.posted(t, "/chats/1/queue/31/edit text=hurry"), l.posted(t, "/chats/1/queue/31/promote"),
		chromedp.Poll(`!document.querySelector('#queue-edit')`, nil),
		// what was taken meanwhile leaves its text in the composer: the answer says so, or the queue does
		chromedp.Evaluate(queueEdit, nil), chromedp.Poll(`document.activeElement===`+queueField, nil),
		chromedp.Evaluate(queueField+`.value='too late'`, nil), chromedp.Evaluate(queueEnter, nil), l.posted(t, "/chats/1/queue/31/edit text=too late"),
		chromedp.Poll(`document.querySelector('#composer-text').value.endsWith('too late')&&!document.querySelector('#queue-edit')&&document.querySelector('#toasts').textContent.includes('taken meanwhile')`, nil),
		chromedp.Evaluate(queueEdit, nil), chromedp.Poll(`document.activeElement===`+queueField, nil),
		chromedp.Evaluate(queueField+`.value='gone by itself'`, nil), l.send(event(t, "", "", view.QueueList(waits(30)))),
		chromedp.Poll(`document.querySelector('#composer-text').value.endsWith('gone by itself')&&!document.querySelector('#queue-edit')&&document.activeElement.id==='composer-text'`, nil),
	}
	for i, s := range steps {
		if err := chromedp.Run(ctx, s); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	for _, line := range lines.take() {
		if strings.HasSuffix(line, "/queue/31/edit") && strings.Contains(line, "404") {
			continue // the one that was too late
		}
		t.Error("console: " + line)
	}
}

const (
	queueEdit  = `document.querySelector('#q-31 [aria-label=Edit]').click()`
	queueField = `document.querySelector('#queue-edit textarea')`
	queueEnter = queueField + `.dispatchEvent(new KeyboardEvent('keydown',{key:'Enter',bubbles:true,cancelable:true}))`
)

// waits is a dock with these in its queue.
func waits(ids ...int64) view.Dock {
	d := view.Dock{ChatID: "1", Running: true}
	for _, id := range ids {
		d.Queue = append(d.Queue, view.Queued{ID: id, Text: "one of those that wait"})
	}
	return d
}

func key(name, more string) string {
	return `document.querySelector('#composer-text').dispatchEvent(new KeyboardEvent('keydown',{key:'` + name + `',bubbles:true,cancelable:true,` + more + `}))`
}
