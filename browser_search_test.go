//go:build browser

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A person finds a chat by what was said in it, with the keyboard alone, and the hit leads to the message.
func TestBrowserSearch(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, 0)
	first := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.do("press Ctrl K", chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	p.until(`document.activeElement.type==='search'`)
	p.do("type", chromedp.KeyEvent("scripted mod"))
	p.shows("#hits mark", "scripted")
	p.shows("#hits mark", "mod")
	p.shows("#hits .row-chat span", "this is the")
	p.until(`!document.getElementById('chats').checkVisibility()`)
	p.do("down", chromedp.KeyEvent(kb.ArrowDown))
	p.until(`document.activeElement.matches('#hits .row-chat')`)
	p.do("up", chromedp.KeyEvent(kb.ArrowUp))
	p.until(`document.activeElement.type==='search'`)
	p.do("escape", chromedp.KeyEvent(kb.Escape))
	p.until(`document.activeElement.value===''&&document.getElementById('chats').checkVisibility()`)
	p.do("type what is nowhere", chromedp.KeyEvent("platypus"))
	p.shows("#hits", "Nothing about")
	p.press("#hits", "Clear the search")
	p.lacks("#hits", "Nothing about")
	p.do("type and go", chromedp.KeyEvent("scripted"))
	p.shows("#hits mark", "scripted")
	p.do("enter", chromedp.KeyEvent(kb.Enter))
	p.until(`location.hash!==''`)
	if at := p.eval(`location.href`); !strings.HasPrefix(at, first+"#s-") {
		t.Errorf("the hit leads to %s, not into %s", at, first)
	}
	p.until(`!!document.querySelector(location.hash)`)
}

// Pins move a chat up at once; older chats come when asked for, stay through changes, and keep their place.
func TestBrowserChatList(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, 0)
	p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.click("#chat-more")
	p.press("#chat-menu", "Pin")
	p.shows("#chats h4:first-child", "Pinned")
	p.click("#chat-more")
	p.press("#chat-menu", "Unpin")
	p.lacks("#chats h4", "Pinned")
	id := p.eval(`location.pathname.split('/')[2]`)
	a.must("PATCH", "/api/v1/chats/"+id, map[string]any{"labels": map[string]string{"team": "red tide"}}, nil)
	p.shows("#bar .badge", "team=red tide")
	p.shows("#chats .label", "team=red tide")
	p.press("#bar", "team=red tide")
	p.until(`document.querySelectorAll('#hits .row-chat').length===1`)
	p.press("#nav", "New chat")
	p.until(`location.pathname==='/'`)
	for n := range 104 {
		a.must("POST", "/api/v1/chats", map[string]any{"content": []map[string]any{{"type": "text", "text": fmt.Sprint("chat number ", n)}}}, nil)
	}
	// A row that comes to rest has a line more, and what stands below it moves.
	p.until(`(all=>all.length===100&&all.every(row=>row.textContent.includes('at rest')))([...document.querySelectorAll('#chats .row-chat')])`)
	p.press("#chats", "Older chats")
	p.until(`document.querySelectorAll('#chats .row-chat').length===105&&!document.getElementById('chats-more')`)
	p.shows("#chats", "team=red tide")
	a.must("POST", "/api/v1/chats", map[string]any{"content": []map[string]any{{"type": "text", "text": "the newest"}}}, nil)
	p.shows("#chats .row-chat", "the newest")
	p.until(`document.querySelectorAll('#chats .row-chat').length===106`)
}
