package ui

import (
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// TestARefusalFindsItsPlace: what patches a page patches only elements that are there; the page's own script puts a toast where toasts stand.
func TestARefusalFindsItsPlace(t *testing.T) {
	for patches, want := range map[string]string{"": `<div id="refused" class="toast"`, "true": `<div id="toasts" class="toasts" role="status"><div id="refused" class="toast"`} {
		r := httptest.NewRequest("POST", "/workspaces/w/stop", nil)
		r.Header.Set("Accept", "text/event-stream, text/html, application/json")
		r.Header.Set("Datastar-Request", patches)
		w := httptest.NewRecorder()
		new(Site).done(w, r, &chat.Error{Kind: chat.KindWrongState, Message: "A chat is working in this workspace."})
		if body := w.Body.String(); w.Code != 200 || !strings.HasPrefix(body, want) || !strings.Contains(body, "A chat is working") {
			t.Errorf("%q: %d %.300s", patches, w.Code, body)
		}
	}
}
