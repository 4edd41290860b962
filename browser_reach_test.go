//go:build browser

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBrowserReach: a webhook of the local network waits for an admin's click, then works; the page says whom this machine called.
func TestBrowserReach(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- r.Header.Get("Holdfast-Signature") + " " + string(body)
	}))
	defer hook.Close()
	a, p := chatting(t, 0)
	p.open(a.url + "/system")
	p.press("main", "Whom this machine called")
	p.shows("#outbound", "This machine has called nobody")
	p.shot("outbound-empty")
	p.open(a.url + "/notifications")
	p.shows("#reached", "Nobody is told while no page is open")
	// What this browser can is found out by the page itself; one of the parts is shown.
	p.until(`[...document.querySelectorAll('[data-push]')].filter(el=>!el.hidden).length===1`)
	p.fill("#hook-url", "ftp://nowhere")
	p.eval(`document.getElementById('hook-url').form.noValidate=true`)
	p.press("#reached", "Add the webhook")
	p.shows("#hook-error", "An address that begins with")
	p.fill("#hook-url", hook.URL+"/in")
	p.fill("#hook-name", "Lamp")
	p.press("#reached", "Add the webhook")
	p.shows("#reached", "The webhook was added")
	p.shows("#reached", "It is this machine or stands in its network")
	p.shot("notifications")
	p.open(a.url + "/system/outbound")
	p.shows("#outbound", "local address")
	p.press("#outbound", "Allow as local")
	p.shows("#outbound", "127.0.0.1:"+hook.URL[strings.LastIndex(hook.URL, ":")+1:])
	p.until(`document.querySelectorAll('#outbound form button').length>0&&!document.querySelector('#outbound').textContent.includes('Allow as local')`)
	p.shot("outbound")
	p.open(a.url + "/notifications")
	p.press("#reached tr", "Try")
	p.shows("#reached", "sent now")
	if said := <-got; !strings.HasPrefix(said, "t=") || !strings.Contains(said, `"kind":"test"`) {
		t.Errorf("the webhook got %s", said)
	}
	p.press("#reached tr", "Remove")
	p.lacks("#reached", "Lamp")
	p.open(a.url + "/system/outbound")
	p.click(`#outbound input[value=deny]`)
	p.press("#outbound .savebar", "Save")
	p.until(`document.querySelector('#outbound input[value=deny]').checked&&document.querySelector('#outbound .savebar').hidden`)
	p.open(a.url + "/notifications")
	p.shows("#reached", "The appliance is offline")
}
