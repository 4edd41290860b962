package link

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAuthorityKeepsItsPin: over restarts and renewals Agents meet the same key; what others could read is refused.
func TestAuthorityKeepsItsPin(t *testing.T) {
	dir := filepath.Join(realDir(t), "tls")
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := a.Pin()
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := b.leaf.Leaf.NotAfter
	b.now = func() time.Time { return time.Now().Add(61 * 24 * time.Hour) }
	if again, err := b.Pin(); err != nil || again != pin || !b.leaf.Leaf.NotAfter.After(first) {
		t.Errorf("%s, then %s, %v; until %s, then %s", pin, again, err, first, b.leaf.Leaf.NotAfter)
	}
	if err := b.leaf.Leaf.CheckSignatureFrom(a.ca); err != nil {
		t.Errorf("the authority is another: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tls.NewListener(l, a.TLS())) }()
	target := &url.URL{Scheme: "https", Host: l.Addr().String()}
	c := Dialling{URL: target, Pins: []PeerKey{pin}}.client(Times{}.filled())
	resp, err := c.client.Get(target.String())
	if err != nil || c.met() != pin {
		t.Fatalf("met %s, %v", c.met(), err)
	}
	if err := errors.Join(resp.Body.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	<-ended
	if err := os.Chmod(filepath.Join(dir, "agents.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir); !errors.Is(err, ErrRefused) {
		t.Errorf("a key that others read: %v", err)
	}
}
