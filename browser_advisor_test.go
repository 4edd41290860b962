//go:build browser

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestBrowserAdvisorSettings: the bar comes with the first change, a wrong number is named beside its field, a choice of a model says what it costs.
func TestBrowserAdvisorSettings(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{ollama: shelf(t)})
	p := browse(t, a)
	p.open(a.url + "/advisor")
	const bar = `document.querySelector('#advisor .savebar')`
	p.until(bar + `.hidden`)
	p.shows("#advisor-cost", "Nothing has to be loaded")
	p.click("#advisor [name=enabled]")
	p.until(`!` + bar + `.hidden`)
	p.shows("#advisor .savebar", "1 change not saved")
	p.fill("#advisor-uses", "-2")
	p.shows("#advisor .savebar", "2 changes not saved")
	p.press("#advisor", "Save")
	p.shows("#advisor-uses-error", "A number from 0 to 1200")
	p.shows("#advisor .savebar", "not saved")
	if got := p.eval(`document.querySelector('#advisor-uses').value`); got != `"-2"` && got != "-2" {
		t.Errorf("the form holds %s", got)
	}
	p.picture("advisor-refused")
	p.fill("#advisor-uses", "3")
	p.eval(`(s=>{s.selectedIndex=[...s.options].findIndex(o=>o.text.includes('qwen3:8b'));s.dispatchEvent(new Event('change',{bubbles:true}))})(document.querySelector('#advisor-model'))`)
	p.until(`/measured|memory|Fits|known/.test(document.getElementById('advisor-cost').textContent)`)
	p.press("#advisor", "Save")
	p.shows("#advisor", "Saved.")
	p.until(bar + `.hidden`)
	var cfg struct {
		Enabled bool `json:"enabled"`
		Uses    int  `json:"max_uses_per_run"`
	}
	a.must("GET", "/api/v1/chats/config/advisor", nil, &cfg)
	if !cfg.Enabled || cfg.Uses != 3 {
		t.Errorf("stored is %+v", cfg)
	}
	p.open(a.url + "/advisor")
	p.until(bar + `.hidden && document.querySelector('#advisor-uses').value==='3' && document.querySelector('#advisor [name=enabled]').checked`)
	p.click("#classifier [name=enabled]")
	p.shows("#classifier .savebar", "1 change not saved")
	p.press("#classifier", "Discard")
	p.until(`document.querySelector('#classifier .savebar').hidden && document.querySelector('#classifier [name=enabled]').checked`)
	p.click("#summaries [name=enabled]")
	p.press("#summaries", "Save")
	p.shows("#summaries", "Saved.")
	var sums struct {
		Enabled bool `json:"enabled"`
	}
	a.must("GET", "/api/v1/chats/config/turn-summaries", nil, &sums)
	if sums.Enabled {
		t.Error("turn summaries are still on")
	}
	p.eval(`(s=>{s.selectedIndex=[...s.options].findIndex(o=>o.text.includes('qwen3:8b'));s.dispatchEvent(new Event('change',{bubbles:true}))})(document.querySelector('#compaction-model'))`)
	p.until(`/measured|memory|Fits|known/.test(document.getElementById('compaction-cost').textContent)`)
	p.press("#compaction", "Save")
	p.shows("#compaction", "Saved.")
	var compaction struct {
		Model string `json:"model_config_id"`
	}
	a.must("GET", "/api/v1/chats/config/compaction", nil, &compaction)
	p.until(`document.querySelector('#compaction-model').value==='` + compaction.Model + `' && document.querySelector('#compaction-model').selectedIndex>0`)
	p.picture("advisor")
	p.eval(`document.querySelector('#compaction').scrollIntoView({block:'start'})`)
	p.picture("compaction")
}

// picture keeps what the page shows, where pictures are wanted.
func (p *page) picture(name string) {
	dir := os.Getenv("HOLDFAST_PICTURES")
	if dir == "" {
		return
	}
	for _, width := range []int64{1440, 390} {
		for _, dark := range []bool{false, true} {
			p.do("resize", size(width, 900), theme(dark))
			p.do("wait for the theme", chromedp.Sleep(400_000_000))
			file := filepath.Join(dir, name+"-"+map[bool]string{true: "dark", false: "light"}[dark]+"-"+map[int64]string{1440: "wide", 390: "narrow"}[width]+".png")
			p.do("take "+file, chromedp.ActionFunc(func(ctx context.Context) error {
				png, err := cdppage.CaptureScreenshot().Do(ctx)
				if err != nil {
					return err
				}
				return os.WriteFile(file, png, 0o600)
			}))
		}
	}
	p.do("resize", size(1440, 900), theme(false))
}

// TestBrowserAdvisorNote: the demo consults the advisor before its change; the note has question, advice and facts, and the chat is marked as done.
func TestBrowserAdvisorNote(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{ollama: shelf(t)})
	p := browse(t, a)
	p.press("#onboarding", "Use the demo model")
	p.addFolder(goFolder(t), true)
	a.must("PUT", "/api/v1/chats/config/advisor", map[string]any{"enabled": true, "max_uses_per_run": 3}, nil)
	p.start("add a --version flag and run the tests")
	p.shows(".note-advisor.is-run", "consulting")
	p.shows("#log", "For real work choose a real model")
	p.rests()
	p.shows(".note-advisor:not(.is-run) .ask", "What should I watch for?")
	p.shows(".note-advisor .prose", "Make the smallest change")
	p.shows(".note-advisor .meta", "2 of 3 uses left")
	p.shows("#bar .badge", "Done")
	p.shows("#chats", "done")
	p.picture("note")
	p.eval(`document.querySelector('.note-advisor').scrollIntoView({block:'center'})`)
	p.picture("note-near")
	p.open(p.eval(`location.href`))
	p.shows(".note-advisor .meta", "2 of 3 uses left")
	// The settings count the Turn, and the time that is the median of one.
	p.open(a.url + "/advisor")
	p.shows(".figures", "of 1 turn")
	p.until(`/^Time, median\s*\d/.test([...document.querySelectorAll('.figures > div')].find(d=>d.textContent.includes('median')).textContent.trim())`)
	p.picture("advisor-used")
}
