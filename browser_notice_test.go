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

// The page of notices: two tabs show what is told as it comes, agree about what was read and about the switches; a notice leads to its chat, and looking at
// a chat reads what was told of it.
func TestBrowserNotifications(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	p.open(a.url + "/notifications")
	p.shows("#told", "Nothing yet")
	p.shows("#reached-list", "Nobody is told while no page is open")
	q := p.another()
	q.open(a.url + "/notifications")
	q.shows("#told", "Nothing yet")
	chats := map[string]client.Chat{}
	for _, title := range []string{"First", "Second", "Third"} {
		var c client.Chat
		a.must("POST", "/api/v1/chats", client.ChatCreate{Content: client.Text("say hello"), Title: title}, &c)
		chats[title] = c
		p.shows("#told", title)
		q.shows("#told", title)
	}
	p.shows("#told h2", "3 unread")
	p.shows("#told", "Hello, this is the scripted model.")
	p.shot("notifications")
	// One by itself.
	p.click(`#told [aria-label="Mark “Second” as read"]`)
	p.shows("#told h2", "2 unread")
	q.shows("#told h2", "2 unread")
	q.until(`document.querySelectorAll('#told .is-unread').length===2`)
	// It leads to its chat, which reads it.
	p.click(`#told a[href="/chats/` + string(chats["First"].ID) + `"]`)
	p.shows("#log", "Hello, this is the scripted model.")
	q.shows("#told h2", "1 unread")
	p.open(a.url + "/notifications")
	p.press("#told", "Mark all as read")
	p.until(`document.querySelectorAll('#told .is-unread').length===0&&document.querySelectorAll('#told li').length===3`)
	q.until(`!document.querySelector('#told .is-unread')&&!document.querySelector('#told h2 .badge')`)
	// The switches.
	p.click("#told-kinds [name=finished]")
	q.until(`!document.querySelector('#told-kinds [name=finished]').checked&&document.querySelector('#told-kinds [name=failed]').checked`)
	q.click("#told-kinds [name=failed]")
	p.until(`!document.querySelector('#told-kinds [name=failed]').checked&&!document.querySelector('#told-kinds [name=finished]').checked`)
	var set client.NotificationSettings
	a.must("GET", "/api/v1/notifications/settings", nil, &set)
	if set.Finished || set.Failed || !set.ActionRequired {
		t.Errorf("the switches left %+v", set)
	}
	p.click("#told-kinds [name=finished]")
	q.until(`document.querySelector('#told-kinds [name=finished]').checked`)
	// What is typed in one tab is not swept away by what happens in another.
	p.fill("#hook-url", "http://half.typed")
	q.fill("#hook-url", "http://nas.home:8080/in")
	q.press("#reached", "Add the webhook")
	q.shows("#reached", "The webhook was added")
	p.shows("#reached-list", "nas.home")
	if typed := p.eval(`document.getElementById('hook-url').value`); typed != "http://half.typed" {
		t.Errorf("the other tab's form has %q", typed)
	}
}
