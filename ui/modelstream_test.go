package ui_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestTheListsOfModelsComeByTheStream: what changes them answers with nothing, and a page that followed nothing meanwhile, as in a hidden tab, gets
// them when it follows again.
func TestTheListsOfModelsComeByTheStream(t *testing.T) {
	p := newPages(t)
	owner := p.token(p.owner.UserID)
	if code, body := p.act(owner, "/models/configs", url.Values{"model": {"m:latest"}}); code != http.StatusNoContent || body != "" {
		t.Fatalf("%d %.200s", code, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/models/stream?lists=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+owner)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `id="models-configs"`) {
			return
		}
	}
	t.Error("the stream ended without the lists")
}
