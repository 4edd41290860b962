//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/ollama/scripted"
)

const (
	asksForName = "let greet take a name, and keep what it prints without one"
	nameQuoted  = "Should the name be a flag or an argument, given that scripts call greet without either?"
	nameAdvice  = "**Take it as an argument, and leave the call without one as it is.** Scripts that call `greet` go on unchanged, and nobody has to learn a flag.\n\n" +
		"- Keep `greeting()` and add `greetingFor(name)`, so that the test of today proves that nothing changed.\n" +
		"- Refuse more than one argument with a sentence and exit 2; ignoring the rest hides a typing error.\n" +
		"- Do not trim or change the name: what was typed is what is printed.\n\n" +
		"Trade-off: a second option later needs flags after all. That can be added without breaking this.\n\n" +
		"What would prove me wrong: a script that already passes an argument which is ignored today. Look for one before the change."
	weighs    = "The program is small. Before I change how it is called I ask for a second opinion."
	followsIt = "I follow that: an argument, and the call without one stays. First I look whether anything calls it with one."
	namesDone = "`greet` takes a name now: `greet Ada` prints *hello, Ada*, and `greet` alone prints what it always did. The test passes and both calls were run."
)

// held are what keeps the story at a place until pictures were taken; nil lets it run.
type held struct{ consulting, writing, goingOn chan struct{} }

func holds() held {
	return held{make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

// naming is a model that is asked for a change and consults before it; the advisor's part of it is advising.
func naming(h held) func(*scripted.Prompt) scripted.Reply {
	return func(p *scripted.Prompt) scripted.Reply {
		last := p.Messages[len(p.Messages)-1].Content
		switch format := string(p.Format); {
		case strings.Contains(format, `"title"`):
			return scripted.Text(`{"title":"Greet somebody by name"}`)
		case strings.Contains(format, `"summary"`):
			return scripted.Text(`{"summary":"greet takes a name; without one nothing changed."}`)
		case strings.Contains(format, `"status"`):
			return scripted.Text(`{"status":"complete"}`)
		case strings.HasPrefix(last, "This is a check by the appliance"):
			return scripted.Text("complete")
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			frames := scripted.Words(nameAdvice)
			frames[0].Hold, frames[len(frames)/2].Hold = h.consulting, h.writing
			return scripted.Reply{Frames: append(scripted.Thoughts("Who calls it today, and how?"), frames...)}
		}
		return namingStep(len(p.Results()), h)
	}
}

func namingStep(results int, h held) scripted.Reply {
	say := func(thought, text, tool string, args map[string]any) scripted.Reply {
		return scripted.Reply{Frames: append(append(scripted.Thoughts(thought), scripted.Words(text)...), toolCall(tool, args).Frames...)}
	}
	switch results {
	case 0:
		return say("I need to see how it prints.", "First I look at the program.", "read_file", map[string]any{"path": "main.go"})
	case 1:
		return say("An argument or a flag: others call this.", weighs, "advisor", map[string]any{"question": nameQuoted})
	case 2:
		r := say("Calls with an argument?", followsIt, "search_files", map[string]any{"pattern": "os.Args", "kind": "content"})
		for i := range r.Frames {
			if strings.Contains(r.Frames[i].Text, "First") {
				r.Frames[i].Hold = h.goingOn
			}
		}
		return r
	case 3:
		return say("Nothing does.", "Nothing passes an argument. Now the change.", "edit_files", map[string]any{"files": []any{map[string]any{"path": "main.go", "edits": []any{
			map[string]any{"search": "import \"fmt\"", "replace": "import (\n\t\"fmt\"\n\t\"os\"\n)"},
			map[string]any{"search": "\tfmt.Println(greeting())\n", "replace": "\tif len(os.Args) == 2 {\n\t\tfmt.Println(greetingFor(os.Args[1]))\n\t\treturn\n\t}\n\tfmt.Println(greeting())\n"},
			map[string]any{"search": "func greeting() string { return \"hello\" }\n", "replace": "func greeting() string { return \"hello\" }\n\nfunc greetingFor(name string) string { return greeting() + \", \" + name }\n"},
		}}}})
	case 4:
		return say("Both calls, and the test.", "", "execute", map[string]any{"command": "go test ./... && go run . && go run . Ada", "timeout": "2m"})
	}
	return scripted.Text(namesDone)
}

// advised is an appliance with a chat model, a larger one that advises, and a page on a new chat in a trusted folder.
func advised(t *testing.T, h held, pace time.Duration) (*appliance, *page) {
	t.Helper()
	const gb = 1_000_000_000
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{
		{Name: "qwen3:8b", Family: "qwen3", ParameterSize: "8.2B", Quantization: "Q4_K_M", Size: gb / 4, Window: 40960, Pace: pace, Answer: naming(h)},
		{Name: "gpt-oss:120b", Family: "gptoss", ParameterSize: "117B", Quantization: "MXFP4", Size: gb / 2, Window: 131072, Pace: pace, Answer: naming(h)},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.until(`document.querySelector('#pick-model_config_id')`)
	var models struct {
		Models []struct{ ID, Model string } `json:"models"`
	}
	a.must("GET", "/api/v1/models", nil, &models)
	id := map[string]string{}
	for _, m := range models.Models {
		id[m.Model] = m.ID
	}
	a.must("PATCH", "/api/v1/models/"+id["qwen3:8b"], map[string]any{"is_default": true}, nil)
	a.must("PUT", "/api/v1/chats/config/advisor", map[string]any{"enabled": true, "max_uses_per_run": 3, "model_config_id": id["gpt-oss:120b"]}, nil)
	p.open(a.url + "/?start=1")
	dir := filepath.Join(t.TempDir(), "greet")
	if err := os.Rename(goFolder(t), dir); err != nil {
		t.Fatal(err)
	}
	p.addFolder(dir, true)
	return a, p
}

// TestShotAdvice drives the whole way of a second opinion and takes pictures of each step: asked, being written, given, and followed.
func TestShotAdvice(t *testing.T) {
	dir, h := shotsDir(t), holds()
	_, p := advised(t, h, time.Millisecond)
	at := p.start(asksForName)
	step := func(name, from string, shows func()) {
		t.Helper()
		for _, width := range []int64{1440, 390} {
			for _, dark := range []bool{false, true} {
				p.do("resize", size(width, 900), theme(dark))
				p.open(at)
				shows()
				p.eval(`document.querySelector(` + js(from) + `).scrollIntoView({block:'end'})`)
				p.capture(filepath.Join(dir, pictureName(name, width, dark)))
			}
		}
	}
	step("advice-1-asked", ".note-advisor", func() {
		p.shows(".note-advisor.is-run .ask", nameQuoted)
		p.shows(".note-advisor.is-run .meta", "gpt-oss:120b")
		p.shows(".note-advisor.is-run .meta", "2 of 3 uses left")
		if text := p.eval(`document.querySelector('.note-advisor .prose').textContent.trim()`); text != "" {
			t.Errorf("advice before there is any: %s", text)
		}
	})
	close(h.consulting)
	step("advice-2-written", ".note-advisor", func() {
		p.shows(".note-advisor.is-run .prose", "Take it as an argument, and leave the call without one as it is.")
		p.lacks(".note-advisor .prose", "What would prove me wrong")
	})
	close(h.writing)
	step("advice-3-given", "#log>:last-child", func() {
		p.shows(".note-advisor:not(.is-run) .prose", "Look for one before the change.")
		p.shows(".note-advisor .meta", "gpt-oss:120b")
		p.shows(".note-advisor .meta", "2 of 3 uses left")
		p.shows("#log", "and the call without one stays.")
	})
	close(h.goingOn)
	p.shows("#log", "The test passes and both calls were run.")
	p.rests()
	step("advice-4-followed", "#log>:last-child", func() {
		p.shows("#log", "The test passes and both calls were run.")
		p.shows(".note-advisor .meta", "2 of 3 uses left")
		p.shows("#bar .badge", "Done")
	})
}

// TestShotRecordings writes two short recordings: a consultation from the prompt to the end, and its card folded and opened among others.
func TestShotRecordings(t *testing.T) {
	dir := shotsDir(t)
	_, p := advised(t, held{}, 25*time.Millisecond)
	p.do("resize", size(960, 720))
	p.fill("#composer-text", asksForName)
	r := p.record()
	p.enter()
	p.shows("#log", "The test passes and both calls were run.")
	p.rests()
	p.shows("#bar .badge", "Done")
	r.end(filepath.Join(dir, "advice.gif"))

	p.eval(`document.querySelector('.note-advisor').scrollIntoView({block:'start'})`)
	p.until(`document.querySelector('.note-advisor').getBoundingClientRect().top<120`)
	r = p.record()
	open := func(selector string, want bool) {
		t.Helper()
		p.pointAt(selector + ">summary")
		p.click(selector + ">summary")
		p.until(fmt.Sprintf(`document.querySelector(%s).open===%v`, js(selector), want))
		p.pause(time.Second)
	}
	p.pause(time.Second)
	open(".note-advisor", false)
	edit := ".row-tool:has([title='main.go']):has(.adds)"
	open(edit, true)
	p.until(`document.querySelector(` + js(edit+" .ln.is-add") + `)`)
	// What the reader opens is not new.
	if off := p.eval(`document.getElementById('below').classList.contains('is-off')`); off != "true" {
		t.Error("opening a row says that something new came")
	}
	open(edit, false)
	open(".note-advisor", true)
	r.end(filepath.Join(dir, "advice-fold.gif"))
}
