package ui_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TestIntentsTakeFormsAlone: what no page sends is refused with 400 and changes nothing, and a refusal has its status for whoever is no page.
func TestIntentsTakeFormsAlone(t *testing.T) {
	p := newPages(t)
	owner := p.token(p.owner.UserID)
	at, _ := p.held([]chat.Part{{Type: chat.PartText, Text: "waits"}})
	for _, c := range []struct {
		path, media, accept, body string
		status                    int
		says                      string
	}{
		{at + "/messages", "application/json", "", `{"text":"lost","behavior":"queue","key":"k1"}`, 400, "takes the form of its page"},
		{at + "/messages", "application/json", "text/html", `{"text":"lost","behavior":"queue","key":"k2"}`, 400, "takes the form of its page"},
		{at + "/messages", "text/plain", "", "text=lost", 400, "takes the form of its page"},
		{at + "/messages", "", "", "text=lost", 400, "takes the form of its page"},
		{at + "/messages", "application/json", "", "{}", 400, ""},
		{at + "/title", "application/json", "", `{"title":"lost"}`, 400, "takes the form of its page"},
		{at + "/settings", "application/json", "", `{"plan_mode":"plan"}`, 400, "takes the form of its page"},
		{at + "/archive", "application/json", "", `{"signal":"of a page"}`, 400, "takes the form of its page"},
		{at + "/messages", "application/x-www-form-urlencoded", "", "text=", 400, ""},
		{at + "/messages", "application/x-www-form-urlencoded", "text/html", "text=", 200, "composer-error"},
		{"/models/pull", "application/x-www-form-urlencoded", "", "name=", 422, "Write the name of a model"},
		{"/models/pull", "application/x-www-form-urlencoded", "text/html", "name=", 200, "Write the name of a model"},
		{"/tokens", "application/x-www-form-urlencoded", "", "name=+", 422, "token-error"},
		{"/tokens", "application/x-www-form-urlencoded", "", "name=" + strings.Repeat("x", 300), 422, "token-error"},
		{"/tokens", "application/x-www-form-urlencoded", "text/html", "name=" + strings.Repeat("x", 300), 200, "token-error"},
		{at + "/compact", "application/json", "text/event-stream, text/html, application/json", "{}", 204, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+owner)
		if c.media != "" {
			r.Header.Set("Content-Type", c.media)
		}
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s with %s %q: %d %s, want %d", c.path, c.media, c.body, res.StatusCode, body, c.status)
		}
	}
	p.update(func(tx *kv.Tx) error {
		c, _, err := tx.Chat(chat.ID(strings.TrimPrefix(at, "/chats/")))
		if err == nil && (c.Title != "t" || c.PlanMode != "" || c.Archived || c.Queued != 1) {
			t.Errorf("what was refused was done all the same: %+v", c)
		}
		return err
	})
	if status, body := p.act(owner, at+"/messages", url.Values{"text": {"sent"}, "key": {"k"}}); status != http.StatusNoContent {
		t.Errorf("a form: %d %s", status, body)
	}
}
