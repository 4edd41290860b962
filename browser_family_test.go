//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"holdfast/engine/ollama/scripted"
)

var oneQuestion = map[string]any{"questions": []map[string]any{{"header": "Age", "question": "How long is a reading good enough to show?",
	"options": []map[string]any{{"label": "6 hours", "description": "One tide"}, {"label": "1 day"}}}}}

var twoQuestions = map[string]any{"questions": append(oneQuestion["questions"].([]map[string]any), map[string]any{"question": "Which pages show it?",
	"multiple": true, "options": []map[string]any{{"label": "Station"}, {"label": "Overview"}, {"label": "Feed"}}})}

func familyScripts() []scripted.Script {
	return append(chatScripts(),
		scripted.Script{User: "ask one", Reply: toolCall("ask_user_question", oneQuestion)},
		scripted.Script{User: "ask two", Reply: toolCall("ask_user_question", twoQuestions)},
		scripted.Script{User: "6 hours", Reply: scripted.Text("Six hours it is.")},
		scripted.Script{User: "three tides", Reply: scripted.Text("Three tides it is.")},
		scripted.Script{User: "How long is a reading good enough to show? 1 day\nWhich pages show it? Station, Feed", Reply: scripted.Text("One day, on two pages.")},
		scripted.Script{User: "delegate", Reply: toolCall("spawn_agent", map[string]any{"prompt": "run it", "title": "Run the thing"})},
		scripted.Script{User: "delegate", Results: 1, Reply: scripted.Text("Somebody else does it now.")},
		scripted.Script{User: "delegate and wait", Reply: toolCall("spawn_agent", map[string]any{"prompt": "run it", "title": "Run it here"})},
		scripted.Script{User: "delegate and wait", Results: 1, Reply: scripted.Endless("I watch it. ")})
}

// familial is an appliance whose model asks and delegates, with a folder that is not trusted.
func familial(t *testing.T) (a *appliance, p *page, dir string) {
	t.Helper()
	a = serveNow(t, launch{ollama: paced(t, pacing, familyScripts()...)})
	p = browse(t, a)
	p.open(a.url + "/?start=1")
	dir = t.TempDir()
	p.addFolder(dir, false)
	return a, p, dir
}

// TestBrowserQuestions: one press, one's own words by the keyboard, and several questions at once.
func TestBrowserQuestions(t *testing.T) {
	t.Parallel()
	a, p, _ := familial(t)
	p.start("ask one")
	p.shows(".card-ask", "How long is a reading good enough to show?")
	p.shows("#phase", "answer the question above")
	p.shows("#chats .row-chat.is-here", "Asks a question")
	p.shot("question")
	// The card is still there on a page that is opened later.
	p.open(p.eval(`location.href`))
	p.do("press 6 hours", chromedp.Click(".card-ask .choice", chromedp.ByQuery))
	p.shows("#log", "Six hours it is.")
	p.rests()
	p.until(`!document.querySelector('.card-ask')`)

	p.open(a.url + "/?start=1")
	p.start("ask one")
	p.fill(".card-ask [name=other0]", "three tides")
	p.key("Enter", "\r", 13, 0)
	p.shows("#log", "Three tides it is.")
	p.rests()

	p.open(a.url + "/?start=1")
	p.start("ask two")
	p.shows(".card-ask", "Which pages show it?")
	p.press(".card-ask", "Answer")
	p.shows("#toasts", "answer to each question")
	p.do("choose", chromedp.Click(".card-ask [name=q0][value='1']", chromedp.ByQuery), chromedp.Click(".card-ask [name=q1][value='0']", chromedp.ByQuery),
		chromedp.Click(".card-ask [name=q1][value='2']", chromedp.ByQuery))
	p.shot("questions")
	p.press(".card-ask", "Answer")
	p.shows("#log", "One day, on two pages.")
	p.rests()
}

// TestBrowserSubAgents: a sub-agent's question is answered on the page of the chat that started it.
func TestBrowserSubAgents(t *testing.T) {
	t.Parallel()
	_, p, dir := familial(t)
	p.start("delegate")
	p.shows("#log", "Somebody else does it now.")
	p.shows("#agents .card-ask", "Sub-agent “Run the thing” asks to run a command")
	p.shows("#chats .is-sub", "Run the thing")
	p.shot("agents")
	p.press("#agents .card-ask", "Allow once")
	p.until(`!document.querySelector('#agents .card-ask')&&!document.querySelector('#agents .row-tool')`)
	if text, err := os.ReadFile(filepath.Join(dir, "ran.txt")); err != nil || string(text) != "ran\n" {
		t.Errorf("%q, %v", text, err)
	}
	p.do("open the sub-agent", chromedp.Click("#chats .is-sub", chromedp.ByQuery))
	p.shows("#log", "I have seen the result.")
	p.shows("#bar", "Sub-agent of")
	p.shows("#chats .is-sub.is-here", "Run the thing")
	p.shot("agent")
}

// TestBrowserStopsASubAgent: one is stopped from the page of its chat, which goes on; one that is stopped with its chat says so.
func TestBrowserStopsASubAgent(t *testing.T) {
	t.Parallel()
	a, p, dir := familial(t)
	at := p.start("delegate")
	p.shows("#agents .card-ask", "Sub-agent “Run the thing” asks to run a command")
	p.shot("agent-stop")
	p.do("narrow and dark", size(390, 844), theme(true))
	p.shot("agent-stop-narrow")
	p.do("wide", size(1440, 900), theme(false))
	p.press("#agents", "Stop “Run the thing”")
	p.until(`!document.querySelector('#agents .row-tool')`)
	p.do("open the sub-agent", chromedp.Click("#chats .is-sub", chromedp.ByQuery))
	p.shows("#rest", "You interrupted this turn")
	if _, err := os.Stat(filepath.Join(dir, "ran.txt")); !os.IsNotExist(err) {
		t.Errorf("the command ran: %v", err)
	}
	p.open(at)
	p.send("delegate and wait")
	p.shows("#agents .row-tool", "Run it here")
	p.click("#stop")
	p.shows("#rest", "You interrupted this turn")
	p.until(`!document.querySelector('#agents .row-tool')`)
	var family struct {
		Children []struct {
			ID string `json:"id"`
		} `json:"children"`
	}
	a.must("GET", "/api/v1"+strings.TrimPrefix(at, a.url), nil, &family)
	p.open(a.url + "/chats/" + family.Children[len(family.Children)-1].ID)
	p.shows("#rest", "Stopped with its parent")
	p.shot("agent-stopped")
}

// planning answers in plan mode with a plan for the file that the prompt names, and outside of it by saying so.
func planning(p *scripted.Prompt) scripted.Reply {
	_, rest, _ := strings.Cut(p.Messages[0].Content, "<plan-file-path>\n")
	path, _, found := strings.Cut(rest, "\n")
	switch {
	case p.Small() != "" || !found:
		return scripted.Text("I work on it: " + p.User())
	case len(p.Results()) == 0:
		return toolCall("write_file", map[string]any{"path": path, "content": "# Retry the feed\n\n1. `feed/fetch.go`: retry with backoff.\n2. A test that does not sleep.\n"})
	}
	return toolCall("propose_plan", map[string]any{"path": path})
}

// TestBrowserPlan: a chat that begins in plan mode shows its plan; the go-ahead leaves plan mode, and the toggle turns it on again.
func TestBrowserPlan(t *testing.T) {
	t.Parallel()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "paced:latest", Pace: pacing, Answer: planning}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/?start=1")
	p.addFolder(t.TempDir(), true)
	p.do("plan", chromedp.SetValue("#pick-plan_mode", "plan", chromedp.ByQuery))
	p.start("make it retry")
	p.shows(".card-ask .plan", "Retry the feed")
	p.shows("#chats .row-chat.is-here", "Shows a plan")
	p.until(`document.querySelector('#plan-mode').getAttribute('aria-pressed')==='true'`)
	p.shot("plan")
	p.do("narrow and dark", size(390, 844), theme(true))
	p.shot("plan-narrow")
	p.do("wide", size(1440, 900), theme(false))
	p.press(".card-ask", "Change it…")
	p.until(`document.activeElement.id==='composer-text'&&document.activeElement.placeholder.startsWith('Say what the plan')`)
	p.press(".card-ask", "Implement the plan")
	p.shows("#log", "I work on it: The plan is approved. Implement it.")
	p.rests()
	p.until(`!document.querySelector('.card-ask')&&document.querySelector('#plan-mode').getAttribute('aria-pressed')==='false'`)
	p.click("#plan-mode")
	p.until(`document.querySelector('#plan-mode').getAttribute('aria-pressed')==='true'`)
	p.send("and now the page")
	p.shows(".card-ask .plan", "Retry the feed")
	p.press(".card-ask", "Leave plan mode")
	p.until(`!document.querySelector('.card-ask')&&document.querySelector('#plan-mode').getAttribute('aria-pressed')==='false'`)
	p.rests()
}
