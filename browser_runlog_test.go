//go:build browser

package main

import (
	"testing"

	"holdfast/engine/ollama/scripted"
)

// TestBrowserRunLog: the right column shows what each turn spent its time on, while it is looked at also that of a turn that comes.
func TestBrowserRunLog(t *testing.T) {
	t.Parallel()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "paced:latest", Pace: pacing, Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) == 0 && p.Small() == "" && p.User() == "hello there" {
			return toolCall("list_files", map[string]any{})
		}
		return scripted.Text("re: hello")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.addFolder(t.TempDir(), true)
	p.start("hello there")
	p.shows("#log", "re: hello")
	p.rests()
	p.click("#tab-runlog")
	p.shows("#runlog-list", "finished")
	p.until(`document.querySelectorAll('#runlog-list .spans svg rect').length>=4`)
	p.shows("#runlog-list .spans", "Commit, finish turn")
	p.shows("#runlog-list .spans", "Request, POST /chats")
	p.picture("runlog")
	// On a telephone the panel is a sheet, in which nothing is wider than it.
	p.do("a telephone in the dark", size(360, 780), theme(true))
	p.eval(`document.getElementById('insp').showPopover()`)
	p.until(`document.getElementById('insp').matches(':popover-open')`)
	for _, open := range []string{"false", "true"} {
		p.eval(`document.querySelectorAll('#runlog-list details').forEach(d=>d.open=` + open + `)`)
		if wide := p.eval(`[...document.querySelectorAll('#insp, #runlog-list, #runlog-list *')].filter(e=>e.checkVisibility()&&e.getBoundingClientRect().right>innerWidth+1).map(e=>e.tagName+'.'+e.className).join(' ')`); wide != "" {
			t.Errorf("past the edge: %s", wide)
		}
		p.shot("runlog-360-" + open)
	}
	p.eval(`document.getElementById('insp').hidePopover()`)
	p.do("a desk again", size(1440, 900), theme(false))
	p.send("thanks")
	p.until(`document.querySelectorAll('#runlog-list details').length>=2`)
	p.until(`[...document.querySelectorAll('#runlog-list details summary')].filter(s=>s.textContent.includes('finished')).length>=2`)
	p.press("#runlog-list", "All model calls")
	p.shows("main", "Model calls")
}
