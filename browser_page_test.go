//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	// pageLimit bounds one test's use of the browser, waitLimit one thing that a page is waited for.
	pageLimit = 3 * time.Minute
	waitLimit = 30 * time.Second
)

// chromium is the one browser of all tests; each has a profile of its own in it.
var chromium = sync.OnceValues(func() (context.Context, error) {
	bin := os.Getenv("HOLDFAST_CHROMIUM")
	if bin == "" {
		bin = "/usr/bin/chromium"
	}
	profile, err := os.MkdirTemp("", "holdfast-chromium")
	if err != nil {
		return nil, err
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(bin), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.WindowSize(1440, 900))
	// The driver does not know every event of a newer browser, and says so each time.
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !strings.HasPrefix(line, "unhandled ") {
			fmt.Fprintln(os.Stderr, "chromedp:", line)
		}
	}))
	afterTests = append(afterTests, func() { cancel(); stop(); os.RemoveAll(profile) })
	if err := chromedp.Run(ctx); err != nil {
		return nil, fmt.Errorf("start %s (Debian: apt-get install chromium): %w", bin, err)
	}
	return ctx, nil
})

// page is a tab. At the end of the test it must not have complained, nor asked another host for anything.
type page struct {
	t       *testing.T
	ctx     context.Context
	profile cdp.BrowserContextID
	told    *complaints
}

// complaints are what pages say in the console, and requests to other hosts.
type complaints struct {
	mu      sync.Mutex // guards all
	lines   []string
	allowed []string
	own     map[string]bool
	seen    []string
}

// browse opens a tab in a profile of its own and signs in to the appliance by its link.
func browse(t *testing.T, a *appliance) *page {
	t.Helper()
	p := blank(t, a)
	p.do("sign in by the link", chromedp.Navigate(a.link), chromedp.WaitReady("#toasts", chromedp.ByQuery))
	if at := p.eval(`location.pathname+location.search`); at != "/" {
		t.Fatalf("the link led to %s: %s", at, p.body())
	}
	return p
}

// blank is a tab in a profile of its own, 1280 by 900 and light.
func blank(t *testing.T, a *appliance) *page {
	t.Helper()
	base, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := target.CreateBrowserContext().Do(overall(base))
	if err != nil {
		t.Fatal(err)
	}
	p := window(t, base, profile)
	p.told = &complaints{own: map[string]bool{}}
	p.told.serves(a)
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(profile).Do(overall(base)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.quiet)
	p.prepare()
	return p
}

// overall runs commands that belong to no tab.
func overall(ctx context.Context) context.Context {
	return cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
}

// window opens a tab in a window of its own, so that it is visible beside others.
func window(t *testing.T, base context.Context, profile cdp.BrowserContextID) *page {
	t.Helper()
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(overall(base))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(base, chromedp.WithTargetID(id))
	ctx, timeout := context.WithTimeout(ctx, pageLimit)
	t.Cleanup(func() { timeout(); cancel() })
	// The tab lives as long as the context of its first run.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return &page{t: t, ctx: ctx, profile: profile}
}

// prepare listens to what the tab says and gives it a size.
func (p *page) prepare() {
	p.t.Helper()
	p.told.listen(p.ctx)
	p.do("prepare a tab", network.Enable(), log.Enable(), size(1280, 900), theme(false))
}

// another opens a second window of the same profile.
func (p *page) another() *page {
	p.t.Helper()
	base, err := chromium()
	if err != nil {
		p.t.Fatal(err)
	}
	q := window(p.t, base, p.profile)
	q.told = p.told
	q.prepare()
	return q
}

func (c *complaints) serves(a *appliance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, err := url.Parse(a.url); err == nil {
		c.own[u.Host] = true
	}
}

func (c *complaints) listen(ctx context.Context) {
	chromedp.ListenTarget(ctx, func(ev any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		line := ""
		switch e := ev.(type) {
		case *cdpruntime.EventConsoleAPICalled:
			line = "console " + string(e.Type)
			for _, a := range e.Args {
				line += " " + string(a.Value) + a.Description
			}
		case *cdpruntime.EventExceptionThrown:
			line = "exception " + e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			// Whoever clicks into a field before the first frame of a page is faster than its autofocus; the page can do nothing about that.
			if strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked because a document already has a focused element") {
				return
			}
			line = "log " + e.Entry.Text + " " + e.Entry.URL
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			c.seen = append(c.seen, e.Request.Method+" "+e.Request.URL)
			if err == nil && (u.Scheme == "data" || u.Scheme == "about" || u.Scheme == "blob" || c.own[u.Host]) {
				return
			}
			line = "request to " + e.Request.URL
		case *cdppage.EventJavascriptDialogOpening:
			line = "dialog " + e.Message
		default:
			return
		}
		c.lines = append(c.lines, line)
	})
}

// allow takes complaints with this text as part of the test.
func (p *page) allow(text ...string) {
	p.told.mu.Lock()
	defer p.told.mu.Unlock()
	p.told.allowed = append(p.told.allowed, text...)
}

// requests are those so far that contain a text.
func (p *page) requests(text string) (n int) {
	p.told.mu.Lock()
	defer p.told.mu.Unlock()
	for _, s := range p.told.seen {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// quiet reports the complaints so far.
func (p *page) quiet() {
	p.t.Helper()
	p.told.mu.Lock()
	defer p.told.mu.Unlock()
lines:
	for _, line := range p.told.lines {
		for _, ok := range p.told.allowed {
			if strings.Contains(line, ok) {
				continue lines
			}
		}
		p.t.Errorf("the page complains: %s", line)
	}
	p.told.lines = nil
}

// do runs actions and fails with what the page shows.
func (p *page) do(what string, actions ...chromedp.Action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitLimit)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v\nthe page shows: %s", what, err, p.body())
	}
}

// body is the page's text, for messages of failed tests.
func (p *page) body() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	var text string
	if err := chromedp.Run(ctx, chromedp.Evaluate(`location.href+'\n'+document.body?.innerText`, &text)); err != nil {
		return err.Error()
	}
	return text
}

// eval gives the value of an expression, awaited, as text.
func (p *page) eval(js string) string {
	p.t.Helper()
	var out any
	p.do(js, chromedp.Evaluate(js, &out, func(e *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if s, ok := out.(string); ok {
		return s
	}
	b, err := json.Marshal(out)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// until waits until an expression is true; a page that is being left is asked again.
func (p *page) until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitLimit)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		var ok bool
		err := chromedp.Run(ctx, chromedp.Evaluate("!!("+js+")", &ok))
		if err == nil && ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("never true: %s: %v\nthe page shows: %s", js, err, p.body())
		}
	}
}

// shows waits until an element has a text, and lacks waits until it has not.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll(%s)].some(e=>e.textContent.includes(%s))`, js(selector), js(text)))
}

func (p *page) lacks(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`![...document.querySelectorAll(%s)].some(e=>e.textContent.includes(%s))`, js(selector), js(text)))
}

func (p *page) click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(selector, chromedp.ByQuery))
}

// press clicks the visible button or link with that text or label inside of an element.
func (p *page) press(within, label string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].flatMap(e=>[...e.querySelectorAll('button,a,summary')]).find(b=>(b.textContent.trim()===%s||b.getAttribute('aria-label')===%s)&&b.checkVisibility())`,
		js(within), js(label), js(label))
	// Where it is on the screen, when nothing lies over it: a patch may replace it at any time, so it cannot be marked.
	var at []float64
	where := `(b=>{if(!b)return[];b.scrollIntoView({block:'nearest'});const r=b.getBoundingClientRect(),x=r.x+r.width/2,y=r.y+r.height/2;return b.contains(document.elementFromPoint(x,y))?[x,y]:[]})(` + find + `)`
	eventually(p.t, waitLimit, "a button "+label+" in "+within+" that can be pressed; the page shows: "+p.body(), func() bool {
		var now []float64
		ctx, cancel := context.WithTimeout(p.ctx, waitLimit)
		defer cancel()
		// A page that is being left is asked again; what moves is waited for.
		if err := chromedp.Run(ctx, chromedp.Evaluate(where, &now)); err != nil {
			return false
		}
		still := len(now) == 2 && slices.Equal(now, at)
		at = now
		return still
	})
	p.do("press "+label, chromedp.MouseClickXY(at[0], at[1]))
}

// fill types into a field after emptying it.
func (p *page) fill(selector, text string) {
	p.t.Helper()
	p.do("fill "+selector, chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%s).value=''`, js(selector)), nil),
		chromedp.SendKeys(selector, text, chromedp.ByQuery))
}

func (p *page) open(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url), chromedp.WaitReady("#toasts", chromedp.ByQuery))
}

// send writes a message in the composer and sends it with Enter.
func (p *page) send(text string) {
	p.t.Helper()
	p.fill("#composer-text", text)
	p.enter()
}

// enter presses Enter in the composer.
func (p *page) enter() {
	p.t.Helper()
	p.do("focus the composer", chromedp.Focus("#composer-text", chromedp.ByQuery))
	p.key("Enter", "\r", 13, 0)
}

// key presses a key as a keyboard does: its character comes only if nobody took the key.
func (p *page) key(name, text string, code int64, modifiers input.Modifier) {
	p.t.Helper()
	press := func(kind input.KeyType) *input.DispatchKeyEventParams {
		return input.DispatchKeyEvent(kind).WithKey(name).WithCode(name).WithWindowsVirtualKeyCode(code).WithModifiers(modifiers)
	}
	p.do("press "+name, press(input.KeyDown).WithText(text), press(input.KeyUp))
}

// start sends the first prompt of a chat and waits for its page; it gives the chat's address.
func (p *page) start(text string) string {
	p.t.Helper()
	p.send(text)
	p.until(`location.pathname.startsWith('/chats/')&&!!document.getElementById('transcript')`)
	return p.eval(`location.href`)
}

// rests waits until nothing runs any more.
func (p *page) rests() {
	p.t.Helper()
	p.until(`!('running' in document.getElementById('actions').dataset)&&!document.querySelector('#phase b')`)
}

func size(width, height int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, height, 1, width < 600)
}

func theme(dark bool) chromedp.Action {
	name := "light"
	if dark {
		name = "dark"
	}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

func js(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
