//go:build browser

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// refusing is a model that does with its advisor what it should not, then what it may, until the limit; as the advisor it fails on the second question.
func refusing(p *scripted.Prompt) scripted.Reply {
	last := p.Messages[len(p.Messages)-1].Content
	ask := func(questions ...string) scripted.Reply {
		var calls []scripted.Call
		for _, q := range questions {
			raw, err := json.Marshal(map[string]string{"question": q})
			if err != nil {
				panic(err)
			}
			calls = append(calls, scripted.Call{Name: "advisor", Args: raw})
		}
		return scripted.Calls(calls...)
	}
	switch {
	case strings.Contains(p.Messages[0].Content, "You advise another agent"):
		if strings.Contains(last, "Which second?") {
			return scripted.Reply{Status: 404, Error: `model "wise" not found`}
		}
		return scripted.Text("**Take the small step.** It is easy to take back.")
	case strings.HasPrefix(last, "This is a check by the appliance"):
		return map[string]scripted.Reply{"nonsense": scripted.Text("perhaps, who knows"), "gone": {Status: 500, Error: "the runner was terminated"}, "ask at the end": scripted.Text("question")}[p.User()]
	case p.Small() != "":
		return scripted.Text(`{"title":"Two words","summary":"It is done."}`)
	case p.User() == "look around":
		return scripted.Text("There is one file.")
	case p.User() == "send somebody":
		switch all := p.Results(); len(all) {
		case 0:
			return toolCall("spawn_agent", map[string]any{"prompt": "look around", "title": "Looks around"})
		case 1:
			var made struct {
				ID string `json:"chat_id"`
			}
			if err := json.Unmarshal([]byte(all[0].Content), &made); err != nil {
				return scripted.Text(err.Error())
			}
			return toolCall("wait_agent", map[string]any{"chat_id": made.ID})
		}
		return scripted.Text("They saw one file.")
	case p.User() != "consult":
		return scripted.Text("I did " + p.User() + ".")
	}
	switch len(p.Results()) {
	case 0:
		return ask("Which first?", "Which second?")
	case 2:
		return ask("Which first?")
	case 3:
		return ask("Which second?")
	case 4:
		return ask("Which third?")
	case 5:
		return toolCall("list_files", map[string]any{"path": "."})
	case 6:
		return ask("Which fourth?")
	}
	return scripted.Text("I went on alone.")
}

// firstAsked is the first request about what was asked, byte for byte.
func firstAsked(t *testing.T, server *scripted.Server, asked string) string {
	t.Helper()
	for _, q := range server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			t.Fatal(err)
		}
		if p.User() == asked {
			return string(q.Body)
		}
	}
	t.Errorf("%q never reached the model", asked)
	return ""
}

// TestBrowserAdvisorRefusals: two consultations in one step, one that fails, and one too many stand on the page as what they are; the model server gets the
// advisor's definition and guidance in a root chat of a site that has it on, and in no other request.
func TestBrowserAdvisorRefusals(t *testing.T) {
	t.Parallel()
	server := scripted.New(scripted.Options{Record: true, Models: []scripted.Model{{Name: "qwen3-coder:30b-a3b-instruct", Window: 131072, Size: 1 << 30, Answer: refusing}}})
	running, err := scripted.Listen("127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.addFolder(goFolder(t), true)
	p.start("without")
	p.shows("#log", "I did without.")
	p.rests()
	a.must("PUT", "/api/v1/chats/config/advisor", map[string]any{"enabled": true, "max_uses_per_run": 2}, nil)
	p.send("consult")
	p.shows("#log", "I went on alone.")
	p.rests()
	p.until(`document.querySelectorAll('.note-advisor').length===6`)
	notes := func(n int, want string) {
		t.Helper()
		if got := p.eval(`document.querySelectorAll('.note-advisor')[` + string(rune('0'+n)) + `].textContent.replace(/\s+/g,' ')`); !strings.Contains(got, want) {
			t.Errorf("note %d says %s", n, got)
		}
	}
	notes(2, "1 of 2 uses left")
	notes(4, "0 of 2 uses left")
	p.picture("refusals")
	for i := range 6 {
		p.eval(`document.querySelectorAll('.note-advisor')[` + string(rune('0'+i)) + `].scrollIntoView({block:'start'})`)
		p.picture("refusal-" + string(rune('0'+i)))
	}
	p.send("send somebody")
	p.shows("#log", "They saw one file.")
	p.rests()
	p.picture("family")
	for asked, want := range map[string]bool{"without": false, "consult": true, "send somebody": true, "look around": false} {
		body := firstAsked(t, server, asked)
		for _, mark := range []string{"Ask a stronger advisor", "advisor-guidance"} {
			if strings.Contains(body, mark) != want {
				t.Errorf("%q: %s is there: %v", asked, mark, !want)
			}
		}
	}
	p.send("nonsense")
	p.shows("#log", "I did nonsense.")
	p.rests()
	p.lacks("#bar", "Done")
	p.send("gone")
	p.shows("#log", "I did gone.")
	p.rests()
	p.lacks("#bar", "Done")
	// The model's name stays readable beside the chip of plan mode.
	p.click("#plan-mode")
	p.until(`document.getElementById('plan-mode').getAttribute('aria-pressed')==='true'`)
	p.picture("plan-chip")
	for width, least := range map[int64]string{1280: "120", 1440: "120", 900: "120", 390: "90", 360: "64"} {
		p.do("resize", size(width, 900))
		p.until(`document.getElementById('pick-model_config_id').getBoundingClientRect().width>` + least + `&&(f=>f.scrollWidth<=f.clientWidth)(document.querySelector('.composer footer'))`)
	}
}
