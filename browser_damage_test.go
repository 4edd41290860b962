//go:build browser

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrowserDamagedChat: a chat of which a part was overwritten on the disk shows what can be read and where something is missing, takes nothing any
// more, and leads to a copy that goes on.
func TestBrowserDamagedChat(t *testing.T) {
	t.Parallel()
	a, p := chatting(t, pacing)
	p.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "network error", "Failed to fetch", "500")
	at := p.start("say hello")
	p.shows("#log", "Hello, this is the scripted model.")
	p.rests()
	p.send("rewritten")
	p.shows("#log", "The rewritten one is answered.")
	p.rests()
	p.send("first in the queue")
	p.shows("#log", "The first one is answered.")
	p.rests()
	if code := a.stop(); code != 0 {
		t.Fatalf("it stopped with %d", code)
	}
	name := filepath.Join(a.data, "holdfast.db")
	db, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(db, []byte("The rewritten one is answered.")) {
		t.Fatalf("the store does not hold the reply: %v", err)
	}
	if err := os.WriteFile(name, bytes.ReplaceAll(db, []byte("The rewritten one is answered."), []byte("The rewritten one is ########.")), 0o600); err != nil {
		t.Fatal(err)
	}
	serveNow(t, launch{data: a.data, listen: strings.TrimPrefix(a.url, "http://"), ollama: a.ollama})
	// The page that was open all the while is told, and so is one that is opened now.
	for range 2 {
		p.shows("#rest", "A part of this chat cannot be read")
		p.until(`document.querySelectorAll('#log .is-gap').length===1`)
		p.until(`document.querySelector('#log .is-gap').previousElementSibling?.matches('.is-ask')&&document.querySelector('#log .is-gap').nextElementSibling?.textContent.includes('first in the queue')`)
		p.lacks("#log", "########")
		p.until(`document.getElementById('composer-text').disabled&&document.getElementById('send').disabled&&document.getElementById('composer-text').placeholder.includes('cannot be read')`)
		p.until(`!document.querySelector('#composer [data-act=attach]')&&!document.querySelector('#log [data-act=edit]')`)
		p.until(`document.querySelectorAll('#log .meta form').length===1`)
		p.open(at)
	}
	p.shows(".row-chat.is-here", "A part of it cannot be read")
	p.shows(".row-chat.is-here .vh", "damaged")
	p.both("damaged")
	p.press("#rest", "Fork before the damage")
	p.until(`!location.href.startsWith(` + js(at) + `)&&!!document.getElementById('transcript')`)
	p.shows("#log", "Hello, this is the scripted model.")
	p.shows("#log .is-ask:nth-of-type(3)", "rewritten")
	p.lacks("#log", "first in the queue")
	p.send("rewritten")
	p.shows("#log", "The rewritten one is answered.")
	p.rests()
}
