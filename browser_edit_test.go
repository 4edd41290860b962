//go:build browser

package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserEdit: a message is written anew in its place, also while the model works; all tabs follow, and no text is lost.
func TestBrowserEdit(t *testing.T) {
	t.Parallel()
	_, p := chatting(t, pacing)
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.send("tell long")
	p.shows("#log", "And the end.")
	p.rests()
	q := p.another()
	q.open(at)
	q.shows("#log", "And the end.")
	// Esc takes the editor away, and the message is as it was.
	p.do("the last message by a key", chromedp.Focus("#composer-text", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowUp))
	p.until(`document.activeElement.matches('.is-edit textarea')&&document.activeElement.value==='tell long'`)
	p.do("cancel", chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector('.is-edit')&&document.activeElement.matches('[data-act=edit]')`)
	p.lacks("#toasts", "Press Esc")
	// The other tab edits a message below the one that is edited here; its text goes to the composer.
	p.press("#log", "Edit this message")
	p.until(`document.activeElement.matches('.is-edit textarea')&&document.activeElement.value==='say hello'`)
	p.fill(".is-edit textarea", endless)
	q.do("the last message by a key", chromedp.Focus("#composer-text", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowUp))
	q.until(`document.activeElement.matches('.is-edit textarea')`)
	q.fill(".is-edit textarea", "my other words")
	p.do("send it", chromedp.Focus(".is-edit textarea", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	p.shows("#log .is-draft", "never comes to its end")
	p.lacks("#log", "And the end.")
	q.shows("#log .is-draft", "never comes to its end")
	q.lacks("#log", "And the end.")
	q.until(`document.getElementById('composer-text').value==='my other words'`)
	q.shows("#toasts", "changed elsewhere")
	if n := q.eval(`document.querySelectorAll('#log .is-ask').length`); n != "1" {
		t.Errorf("%s messages are left", n)
	}
	// In mid-stream, with something in the queue.
	p.send("waits in the queue")
	p.shows("#queue li", "waits in the queue")
	p.press("#log", "Edit this message")
	p.until(`document.activeElement.matches('.is-edit textarea')`)
	p.fill(".is-edit textarea", "say hello")
	p.press(".is-edit", "Send")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.until(`document.getElementById('composer-text').value==='waits in the queue'`)
	p.lacks("#log", "never comes to its end")
	q.lacks("#log", "never comes to its end")
}
