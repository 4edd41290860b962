package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network, so that it can stand in a bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close is called once: the server sees to that.
func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestBodiesHaveTheirTime: 30 s for a body, 30 s for each chunk of an unbounded one, and no limit for what the handler does later.
func TestBodiesHaveTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		path, want string
		pause      time.Duration
		chunks     int
	}{
		"in time":          {"/api/v1/take", "read 3, <nil>; worked, <nil>", 9 * time.Second, 3},
		"too slow":         {"/api/v1/take", "i/o timeout", 11 * time.Second, 3},
		"unbounded":        {"/api/v1/import", "read 20, <nil>; worked, <nil>", 29 * time.Second, 20},
		"unbounded stalls": {"/api/v1/import", "i/o timeout", 31 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := make(chan string, 1)
				take := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					b, err := io.ReadAll(r.Body)
					if err != nil {
						said <- err.Error()
						return
					}
					select {
					case <-time.After(time.Hour):
					case <-r.Context().Done():
					}
					said <- fmt.Sprintf("read %d, %v; worked, %v", len(b), err, context.Cause(r.Context()))
				})
				p := build(t, nil2addr(), nil, Route{Pattern: "POST /api/v1/take", Policy: User, Handler: take},
					Route{Pattern: "POST /api/v1/import", Policy: User, Handler: take, MaxBody: UnboundedBody})
				token := p.token("owner")
				listener := make(pipes)
				server := p.gate.Server(context.WithoutCancel(t.Context()))
				served := make(chan error)
				go func() { served <- server.Serve(listener) }()
				here, there := net.Pipe()
				listener <- there
				go func() {
					// What is answered has to be read, or the server waits.
					_, err := io.Copy(io.Discard, bufio.NewReader(here))
					if err != nil && !strings.Contains(err.Error(), "closed") {
						t.Errorf("read: %v", err)
					}
				}()
				_, err := fmt.Fprintf(here, "POST %s HTTP/1.1\r\nHost: localhost:8420\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
					c.path, token, c.chunks)
				p.must(err)
				for range c.chunks {
					pass(c.pause)
					if _, err := io.WriteString(here, "x"); err != nil {
						break
					}
				}
				if got := <-said; !strings.Contains(got, c.want) {
					t.Errorf("%s, want %s", got, c.want)
				}
				p.must(here.Close())
				p.must(server.Close())
				if err := <-served; err != http.ErrServerClosed {
					t.Error(err)
				}
			})
		})
	}
}
