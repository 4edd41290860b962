package gate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// nil2addr stands for a bound address where nothing is bound.
func nil2addr() []net.Addr { return []net.Addr{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420}} }

// pass lets time pass on the clock of the test's bubble.
func pass(d time.Duration) { <-time.After(d) }

func (p *place) local(method, path string, headers ...string) *httptest.ResponseRecorder {
	return p.from("127.0.0.1:5000", method, path, headers...)
}

// from asks the Gate without a connection, from any address.
func (p *place) from(remote, method, path string, headers ...string) *httptest.ResponseRecorder {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8420", remote
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	p.gate.ServeHTTP(w, r)
	return w
}

func TestUnauthenticatedRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := build(t, nil2addr(), func(o *Options) { o.Limits = Limits{} })
		token := "Authorization: Bearer " + p.token("owner")
		passed := func(remote, path string, n int, headers ...string) (ok int) {
			for range n {
				if r := p.from(remote, "GET", path, headers...); r.Code != 429 {
					ok++
				} else if r.Header().Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q", r.Header().Get("Retry-After"))
				}
			}
			return ok
		}
		const here = "127.0.0.1:5000"
		if n := passed(here, "/api/v1/chats", 30); n != 20 {
			t.Errorf("%d passed at once, want 20", n)
		}
		if n := passed("127.0.0.1:6000", "/static/x", 5); n != 0 {
			t.Errorf("another port of the same source: %d passed", n)
		}
		if n := passed("192.0.2.7:1", "/login", 30); n != 20 {
			t.Errorf("another source: %d passed", n)
		}
		if n := passed("[2001:db8::1]:1", "/login", 15) + passed("[2001:db8::2]:1", "/login", 15); n != 20 {
			t.Errorf("one IPv6 network: %d passed", n)
		}
		if n := passed(here, "/api/v1/chats", 100, token) + passed(here, "/static/x", 100, token); n != 200 {
			t.Errorf("signed in: %d of 200 passed", n)
		}
		if n := passed(here, "/healthz", 100) + passed(here, "/readyz", 100); n != 200 {
			t.Errorf("health: %d of 200 passed", n)
		}
		if n := passed(here, "/", 5, "Authorization: Bearer wrong"); n != 0 {
			t.Errorf("a wrong token helps: %d passed", n)
		}
		pass(250 * time.Millisecond)
		if n := passed(here, "/login", 30); n != 5 {
			t.Errorf("%d passed after a quarter of a second, want 5", n)
		}
	})
}

func TestSourcesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(Limits{}.orDefaults(), time.Now)
		for i := range 3 * maxSources {
			s.take(fmt.Sprint(i))
			if i%100 == 0 {
				pass(time.Second)
			}
		}
		if len(s.by) > maxSources {
			t.Errorf("%d sources are kept", len(s.by))
		}
	})
}

func TestOpenRequestsAndStreamsAreLimited(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-hold
	})
	p := open(t, func(o *Options) {
		o.Limits = generous
		o.Limits.UserRequests, o.Limits.UserStreams, o.Limits.Streams = 2, 2, 3
	}, Route{Pattern: "GET /api/v1/slow", Policy: User, Handler: slow},
		Route{Pattern: "GET /api/v1/slow/stream", Policy: User, Kind: Stream, Handler: slow})
	owner, member := "Authorization: Bearer "+p.token("owner"), "Authorization: Bearer "+p.token(chat.UserMember)
	done := make(chan int)
	begin := func(path, token string) {
		go func() { done <- p.ask("GET", path, "", token).StatusCode }()
		<-entered
	}
	refused := func(path, token string) {
		t.Helper()
		if r := p.ask("GET", path, "", token); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	begin("/api/v1/slow", owner)
	begin("/api/v1/slow", owner)
	refused("/api/v1/slow", owner)
	begin("/api/v1/slow", member)
	begin("/api/v1/slow/stream", owner)
	begin("/api/v1/slow/stream", owner)
	refused("/api/v1/slow/stream", owner)
	begin("/api/v1/slow/stream", member)
	// The member has one stream of two, but there are three in all.
	refused("/api/v1/slow/stream", member)
	close(hold)
	for range 6 {
		if status := <-done; status != 200 {
			t.Errorf("a held request: %d", status)
		}
	}
	p.gate.slots.mu.Lock()
	defer p.gate.slots.mu.Unlock()
	if s := p.gate.slots; len(s.requests)+len(s.streams)+s.all != 0 {
		t.Errorf("slots are still taken: %v %v %d", s.requests, s.streams, s.all)
	}
}

func TestStreamsEndWithTheirCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(*place, chat.Principal) error{
			"revoked": func(p *place, who chat.Principal) error {
				_, err := p.room.RevokeSession(t.Context(), p.owner, account.RevokeSessionInput{ID: who.SessionID})
				return err
			},
			"signed out": func(p *place, who chat.Principal) error { return p.room.SignOut(t.Context(), who) },
			"idle": func(*place, chat.Principal) error {
				pass(8 * 24 * time.Hour)
				return nil
			},
		} {
			p := build(t, nil2addr(), nil)
			cookie := "Cookie: " + p.session()
			ended := make(chan *httptest.ResponseRecorder)
			go func() { ended <- p.local("GET", chatPath+"/stream", cookie) }()
			synctest.Wait()
			who, err := p.room.Authenticate(t.Context(), account.Credentials{Cookies: []string{strings.SplitN(cookie, "=", 2)[1]}})
			p.must(err)
			p.must(end(p, who))
			synctest.Wait()
			select {
			case w := <-ended:
				if w.Body.String() != ": hello\n\n" || !strings.Contains(p.ran.take(), "ended: "+account.CauseCredentialEnded.Error()) {
					t.Errorf("%s: %q", name, w.Body)
				}
			default:
				t.Errorf("%s: the stream goes on", name)
				p.must(p.room.SignOut(context.WithoutCancel(t.Context()), who))
				<-ended
			}
			if w := p.local("GET", chatPath+"/stream", cookie); w.Code != http.StatusNoContent {
				t.Errorf("%s: asked again: %d", name, w.Code)
			}
			if w := p.local("GET", "/api/v1"+chatPath+"/stream", cookie); w.Code != http.StatusUnauthorized {
				t.Errorf("%s: asked again by a program: %d", name, w.Code)
			}
		}
	})
}
