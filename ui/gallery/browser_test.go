//go:build browser

package gallery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"holdfast/ui/static"
)

// browser starts Chromium for the test. HOLDFAST_CHROMIUM names another one than Debian's.
func browser(t *testing.T) context.Context {
	t.Helper()
	bin := os.Getenv("HOLDFAST_CHROMIUM")
	if bin == "" {
		bin = "/usr/bin/chromium"
	}
	profile, err := os.MkdirTemp("", "holdfast-chromium")
	if err != nil {
		t.Fatal(err)
	}
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(bin), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", false)}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, timeout := context.WithTimeout(ctx, 6*time.Minute)
	t.Cleanup(func() {
		timeout()
		cancel()
		stop()
		// A process of the browser may still write while it ends: what it leaves is the system's temporary directory's to keep.
		os.RemoveAll(profile)
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start %s (Debian: apt-get install chromium): %v", bin, err)
	}
	return ctx
}

// site serves the gallery with its assets. Posted intents are answered with 204, what a page asks for beyond it is noted.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	assets, err := static.New("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := assets.Missing(); len(missing) > 0 {
		t.Fatalf("%v not built in: run make generate", missing)
	}
	h, err := New(assets)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /gallery/", h)
	mux.Handle("GET "+static.Prefix, assets)
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/older") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<div id="older" class="older"></div>`)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// console collects whatever a page complains about.
type console struct {
	mu    sync.Mutex
	lines []string
}

func watch(ctx context.Context) *console {
	c := &console{}
	chromedp.ListenTarget(ctx, func(ev any) {
		line := ""
		switch e := ev.(type) {
		case *cdpruntime.EventConsoleAPICalled:
			line = string(e.Type)
			for _, a := range e.Args {
				line += " " + string(a.Value) + a.Description
			}
		case *cdpruntime.EventExceptionThrown:
			line = e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			line = e.Entry.Text + " " + e.Entry.URL
		default:
			return
		}
		// A form that shows a change keeps the page, but not from somebody who never touched it.
		if strings.HasPrefix(line, "Blocked attempt to show a 'beforeunload'") {
			return
		}
		c.mu.Lock()
		c.lines = append(c.lines, line)
		c.mu.Unlock()
	})
	return c
}

func (c *console) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.lines
	c.lines = nil
	return out
}

func open(url string, width, height int64, dark bool) chromedp.Action {
	theme := "light"
	if dark {
		theme = "dark"
	}
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(width, height, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.Navigate(url),
		chromedp.WaitReady("#toasts"),
	}
}

var pageNames = []string{"", "page/chat", "page/chat#s-3", "page/chat-rest", "page/chat-damaged", "page/chat-empty", "page/chat-first", "page/login", "page/login-refused", "page/login-link", "page/login-password", "page/users", "page/user", "page/user-disabled", "page/account", "page/no-model", "page/onboarding",
	"page/onboarding-none", "page/models", "page/workspaces", "page/workspaces-keep", "page/templates", "page/templates-none", "page/templates-other", "page/context", "page/context-none", "page/context-away", "page/context-text", "page/tokens", "page/audit", "page/audit-none", "page/agents", "page/agents-renewed", "page/mcp", "page/mcp-none", "page/mcp-other", "page/agents-none", "page/agents-closed", "page/usage", "page/usage-year", "page/usage-day", "page/usage-none", "page/error"}

// measure finds in the page what look.md forbids.
const measure = `(() => {
  const out = []
  const name = el => el.tagName.toLowerCase() + (el.id ? '#' + el.id : '') + (typeof el.className === 'string' && el.className ? '.' + el.className.trim().split(/\s+/).join('.') : '')
  if (document.documentElement.scrollWidth > innerWidth) out.push('the page scrolls sideways: ' + document.documentElement.scrollWidth + ' > ' + innerWidth)
  const scrolls = el => { const s = getComputedStyle(el); return s.overflowX !== 'visible' }
  const hidden = el => !el.checkVisibility({ contentVisibilityAuto: false, opacityProperty: false, visibilityProperty: true })
  for (const el of document.body.querySelectorAll('*')) {
    if (hidden(el) || el.closest('svg, .vh, [popover]:not(:popover-open):not(.sidebar):not(.inspector), dialog:not([open])')) continue
    const r = el.getBoundingClientRect()
    if (!r.width || !r.height) continue
    let box = el.parentElement
    while (box && !scrolls(box)) box = box.parentElement
    const outer = box ? box.getBoundingClientRect() : { left: 0, right: innerWidth }
    const scrollable = box && /auto|scroll|hidden|clip/.test(getComputedStyle(box).overflowX) && (box.matches('.lines, pre, .tables, .tabs, .term') || getComputedStyle(box).textOverflow === 'ellipsis' || box.matches('textarea, select, .path > span'))
    if (!scrollable && (r.right > outer.right + 1 || r.left < outer.left - 1)) out.push(name(el) + ' passes its scroll box ' + (box ? name(box) : 'page') + ': ' + Math.round(r.left) + '..' + Math.round(r.right) + ' of ' + Math.round(outer.left) + '..' + Math.round(outer.right))
    if (el.matches('button, a.btn, a.nav-link, a.row-chat, summary, input:not([type=hidden]), select, textarea')) {
      const label = el.closest('label')
      const t = label ? label.getBoundingClientRect() : r
      if (t.height < 23.9 || t.width < 23.9) out.push(name(el) + ' is too small: ' + Math.round(t.width) + ' x ' + Math.round(t.height))
      const named = el.getAttribute('aria-label') || el.textContent.trim() || el.getAttribute('title') || label || (el.id && document.querySelector('label[for="' + el.id + '"]'))
      if (!named) out.push(name(el) + ' has no name')
    }
  }
  const ids = {}
  for (const el of document.querySelectorAll('[id]')) { if (ids[el.id]) out.push('id twice: ' + el.id); ids[el.id] = true }
  for (const el of document.querySelectorAll('[aria-labelledby],[aria-describedby],[aria-controls]')) for (const a of ['aria-labelledby', 'aria-describedby', 'aria-controls'])
    for (const id of (el.getAttribute(a) || '').split(' ').filter(Boolean)) if (!document.getElementById(id)) out.push(name(el) + ' ' + a + ' names nothing: ' + id)
  for (const el of document.querySelectorAll('use')) if (!document.querySelector(el.getAttribute('href'))) out.push('no icon ' + el.getAttribute('href'))
  for (const el of document.querySelectorAll('[style]')) if (!el.matches('[data-show]')) out.push(name(el) + ' has a style attribute')
  return JSON.stringify([...new Set(out)])
})()`

func TestLayout(t *testing.T) {
	ctx := browser(t)
	srv := site(t)
	lines := watch(ctx)
	for _, width := range []int64{1440, 1280, 900, 720, 390, 360} {
		for _, name := range pageNames {
			t.Run(fmt.Sprintf("%d/%s", width, name), func(t *testing.T) {
				var found string
				if err := chromedp.Run(ctx, open(srv.URL+"/gallery/"+name, width, 900, false), chromedp.Evaluate(measure, &found)); err != nil {
					t.Fatal(err)
				}
				var problems []string
				if err := json.Unmarshal([]byte(found), &problems); err != nil {
					t.Fatal(err)
				}
				for _, p := range problems {
					t.Error(p)
				}
				for _, l := range lines.take() {
					t.Error("console: " + l)
				}
			})
		}
	}
}

// TestShots writes pictures into HOLDFAST_SHOTS, for the eye; without it it only proves that both themes paint.
func TestShots(t *testing.T) {
	ctx := browser(t)
	srv := site(t)
	dir := os.Getenv("HOLDFAST_SHOTS")
	widths, names := []int64{1440, 390}, pageNames
	if dir == "" {
		// Nobody looks at them: a few show that they can be taken.
		dir, names = t.TempDir(), pageNames[1:3]
	}
	only := os.Getenv("HOLDFAST_SHOT_ONLY")
	for _, name := range names {
		if only != "" && !strings.Contains(","+only+",", ","+name+",") {
			continue
		}
		for _, width := range widths {
			for _, dark := range []bool{false, true} {
				file := fmt.Sprintf("%s-%d-%s.png", strings.NewReplacer("#", "-", "/", "-").Replace(strings.TrimPrefix("states"+strings.TrimPrefix(name, "page"), "states/")), width, map[bool]string{true: "dark", false: "light"}[dark])
				if err := chromedp.Run(ctx, open(srv.URL+"/gallery/"+name, width, 900, dark), shot(filepath.Join(dir, file), name == "", width)); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
		}
	}
}

// shot takes the window, or the whole gallery in pieces that can be looked at.
func shot(file string, whole bool, width int64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if err := emulation.SetScrollbarsHidden(true).Do(ctx); err != nil {
			return err
		}
		height := int64(900)
		if whole {
			if err := chromedp.Evaluate(`document.querySelector('.page > div').scrollHeight + 60`, &height).Do(ctx); err != nil {
				return err
			}
			if err := emulation.SetDeviceMetricsOverride(width, height, 1, width < 600).Do(ctx); err != nil {
				return err
			}
		}
		const piece = 2200
		for y := int64(0); y < height; y += piece {
			name := file
			if whole {
				name = strings.TrimSuffix(file, ".png") + fmt.Sprintf("-%d.png", y/piece)
			}
			png, err := page.CaptureScreenshot().WithClip(&page.Viewport{Y: float64(y), Width: float64(width), Height: float64(min(piece, height-y)), Scale: 1}).Do(ctx)
			if err != nil {
				return err
			}
			if len(png) < 3000 {
				return fmt.Errorf("%d bytes: an empty picture", len(png))
			}
			if err := os.WriteFile(name, png, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
}

func awaits(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return p.WithAwaitPromise(true) }
