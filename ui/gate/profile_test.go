package gate

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// asked gets a path over the Unix socket.
func (p *place) asked(path, token string) (int, string) {
	p.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.socket)
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+SocketHost+path, nil)
	p.must(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(r)
	p.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	p.must(err)
	return resp.StatusCode, string(body)
}

func TestProfilesAnswerOnTheSocketToAdmins(t *testing.T) {
	p := open(t, nil)
	admin, member := p.token("owner"), p.token(chat.UserMember)
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=1"} {
		status, body := p.asked(path, admin)
		unzipped, err := gzip.NewReader(bytes.NewReader([]byte(body)))
		if status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d, %v", path, status, err)
		}
		if raw, err := io.ReadAll(unzipped); err != nil || len(raw) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(raw), err)
		}
	}
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/debug/pprof/heap", member, http.StatusForbidden},
		{"/debug/pprof/heap", "", http.StatusUnauthorized},
		{"/debug/pprof/nothing", admin, http.StatusNotFound},
		{"/debug/pprof/profile", admin, http.StatusBadRequest},
		{"/debug/pprof/profile?seconds=0", admin, http.StatusBadRequest},
		{"/debug/pprof/profile?seconds=61", admin, http.StatusBadRequest},
	} {
		if status, body := p.asked(c.path, c.token); status != c.want {
			t.Errorf("%s: %d, want %d: %.100s", c.path, status, c.want, body)
		}
	}
	if r := p.ask(http.MethodGet, "/debug/pprof/heap", "", "Authorization: Bearer "+admin); r.StatusCode != http.StatusNotFound {
		t.Errorf("over TCP: %d: %s", r.StatusCode, strings.TrimSpace(r.body))
	}
}
