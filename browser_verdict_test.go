//go:build browser

package main

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// TestBrowserVerdicts: a finished task gets its check mark and a question does not; a judge that talks nonsense, is gone from the server or does
// not answer leaves the chat waiting, and the last of them no longer than its 15 seconds.
func TestBrowserVerdicts(t *testing.T) {
	t.Parallel()
	var verdict atomic.Pointer[scripted.Reply]
	judge := func(p *scripted.Prompt) scripted.Reply {
		if p.Small() == "status" {
			return *verdict.Load()
		}
		return scripted.Text(`{"title":"A chat for verdicts"}`)
	}
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{
		{Name: "worker:latest", Size: 2 << 20, Answer: func(p *scripted.Prompt) scripted.Reply { return scripted.Text("I did what you asked: " + p.User()) }},
		{Name: "judge:latest", Answer: judge}}}))
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
	for _, m := range models.Models {
		if m.Model == "judge:latest" {
			a.must("PUT", "/api/v1/chats/config/classifier", map[string]any{"candidates": []string{m.ID}}, nil)
		}
	}
	look := func(name string, reply scripted.Reply, done bool) {
		t.Helper()
		verdict.Store(&reply)
		p.open(a.url + "/?start=1")
		p.start("work on " + name)
		p.shows("#log", "I did what you asked: work on "+name)
		p.rests()
		mark := p.eval(`!!document.querySelector('#bar .badge.is-ok')`)
		if done && mark != "true" || !done && mark != "false" {
			t.Errorf("%s: the mark is %s", name, mark)
		}
		p.shot("verdict-" + name)
	}
	look("complete", scripted.Text(`{"status":"complete"}`), true)
	p.shows("#chats .is-here", "done")
	look("question", scripted.Text(`{"status":"question"}`), false)
	p.lacks("#chats .is-here", "done")
	look("nonsense", scripted.Text("I think that the weather is nice."), false)
	// It waits for rest no longer than the page's tests do, and the judge never answers.
	look("silence", scripted.Reply{Stall: true}, false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, running.URL+"/api/delete", bytes.NewReader([]byte(`{"model":"judge:latest"}`)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	look("gone", scripted.Text(`{"status":"complete"}`), false)
}
