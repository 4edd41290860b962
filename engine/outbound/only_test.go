package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/engine/outbound"
)

// TestOnly: what is named is reached, by the name and port that was named; a redirect leads nowhere else.
func TestOnly(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	no := errors.New("not allowed")
	var asked []string
	refused := func(address string) error {
		asked = append(asked, address)
		return no
	}
	get := func(c *http.Client, at string) (int, error) {
		defer c.CloseIdleConnections()
		resp, err := c.Get(at)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if status, err := get(outbound.Only([]string{host}, refused), server.URL); err != nil || status != http.StatusFound || calls != 1 {
		t.Errorf("%d, %v, %d calls", status, err, calls)
	}
	_, port, _ := strings.Cut(host, ":")
	for _, hosts := range [][]string{nil, {"127.0.0.1:1"}, {"localhost:" + port}} {
		if _, err := get(outbound.Only(hosts, refused), server.URL); !errors.Is(err, no) {
			t.Errorf("%v: %v", hosts, err)
		}
	}
	if calls != 1 || len(asked) != 3 || asked[0] != host {
		t.Errorf("%d calls, asked %v", calls, asked)
	}
}
