//go:build browser

package main

import (
	"testing"

	"holdfast/ui/api/client"
)

// What finishes in one chat is told in a tab that shows something else; the words lead there.
func TestBrowserNotices(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	p.open(a.url + "/usage")
	p.until(`document.querySelector('.app')!==null`)
	// The worker of this browser listens before anything is told.
	p.until(`performance.now()>1500`)
	var c client.Chat
	a.must("POST", "/api/v1/chats", client.ChatCreate{Content: client.Text("say hello"), Title: "Greeting"}, &c)
	p.shows("#toasts", "Greeting")
	p.shows("#toasts", "Hello, this is the scripted model.")
	p.click("#toasts .toast a")
	p.until(`location.pathname==='/chats/` + string(c.ID) + `'`)
	p.shows("#log", "Hello, this is the scripted model.")
}
