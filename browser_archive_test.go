//go:build browser

package main

import "testing"

// TestBrowserArchive: an archived chat can be read and not written to, until it is brought back; what is deleted is gone in every tab.
func TestBrowserArchive(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	q := p.another()
	q.open(a.url + "/archive")
	q.shows("#archive", "Nothing is archived")
	p.click("#chat-more")
	p.press("#chat-menu", "Archive")
	p.shows("#rest", "You can read it and copy from it.")
	p.until(`!document.querySelector('#composer').checkVisibility()&&!document.querySelector('#log [data-act=edit]').checkVisibility()`)
	q.shows("#archive", "say hello")
	q.lacks("#chats", "say hello")
	q.press("#archive", "Bring back")
	q.shows("#archive", "Nothing is archived")
	q.shows("#chats", "say hello")
	p.until(`document.querySelector('#composer').checkVisibility()`)
	p.send("tell long")
	p.shows("#log", "And the end.")
	p.rests()
	p.click("#chat-more")
	p.press("#chat-menu", "Archive")
	q.shows("#archive", "say hello")
	q.press("#archive", "Delete…")
	q.shows("#confirm", "removed for good")
	q.press("#confirm", "Cancel")
	q.shows("#archive", "say hello")
	q.press("#archive", "Delete…")
	q.press("#confirm", "Delete the chat")
	q.shows("#archive", "Nothing is archived")
	// The browser says so in its console.
	p.allow("404")
	p.open(at)
	p.shows("body", "There is no such chat")
}
