//go:build browser

package main

import (
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"holdfast/engine/openai/scripted"
)

// TestBrowserModelElsewhere adds a model on a server of the OpenAI protocol, from the first page of all to its first answer.
func TestBrowserModelElsewhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(scripted.New(scripted.Options{Models: []string{"big", "small"}, Fields: `"max_model_len":16384`, Key: canary,
		Answer: scripted.InTurn(scripted.Text("Hello from the rack."))}))
	t.Cleanup(server.Close)
	a := serveNow(t, launch{})
	p := browse(t, a)
	p.shows("h1", "No model server answers yet")
	p.press("#onboarding", "Add a model of it")
	p.shows("#models-other h2", "A model on another server")
	p.fill("#other-url", server.URL)
	p.press("#models-other", "Show its models")
	p.shows("#other-error", "refused access")
	p.fill("#other-key", canary)
	p.press("#models-other", "Look again")
	p.until(`document.querySelector('#other-model')?.options?.length===2&&document.querySelector('#other-error').textContent.trim()===''`)
	p.fill("#other-name", "Rack")
	p.press("#models-other", "Use in chats")
	p.shows("#models-configs", "Rack")
	p.lacks("body", canary)
	p.until(`document.querySelector('#other-key').value===''`)
	p.click("#models-configs summary")
	p.shows("#models-configs .facts", server.URL+"/v1")
	p.click(".brand")
	p.shows("h1", "New chat")
	p.start("hello")
	p.rests()
	p.shows("#log", "Hello from the rack.")
	p.do("leave", chromedp.Navigate("about:blank"))
	a.stop()
	noCanary(t, a)
}
