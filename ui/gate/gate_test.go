package gate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// place is a Gate over a real store; open also serves it, on loopback and on a Unix socket.
type place struct {
	t     *testing.T
	gate  *Gate
	room  *account.Room
	store *kv.Store
	owner chat.Principal
	// log holds what was logged, ran the routes that were reached.
	log, ran *note
	// base is the URL, and socket the path, where it is served.
	base, socket string
}

// note collects text from several goroutines.
type note struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *note) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

// take gives what was noted and begins anew.
func (n *note) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.b.Reset()
	return n.b.String()
}

// generous limits let a test ask often; tests of the limits set their own.
var generous = Limits{Unauthenticated: 1_000_000}

func build(t *testing.T, addresses []net.Addr, change func(*Options), more ...Route) *place {
	t.Helper()
	p := &place{t: t, store: kvtest.Open(t), log: &note{}, ran: &note{}}
	log := slog.New(LogHandler(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	p.room = account.New(p.store, log, nil)
	owner, err := p.room.EnsureOwner(t.Context())
	p.must(err)
	p.owner = owner
	o := Options{Account: p.room, Metrics: metric.New(), Log: log, Addresses: addresses, Limits: generous}
	if change != nil {
		change(&o)
	}
	p.gate, err = New(o, append(p.table(), more...)...)
	p.must(err)
	return p
}

func open(t *testing.T, change func(*Options), more ...Route) *place {
	t.Helper()
	all, err := Listen(t.Context(), []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, []net.Addr{all[0].Addr()}, change, more...)
	p.base, p.socket = "http://"+all[0].Addr().String(), filepath.Join(t.TempDir(), "s")
	unix, err := ListenSocket(t.Context(), p.socket)
	p.must(err)
	server := p.gate.Server(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	for _, l := range append(all, unix) {
		wg.Go(func() {
			if err := server.Serve(l); err != http.ErrServerClosed {
				t.Errorf("serve: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		p.must(server.Close())
		wg.Wait()
	})
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// table has a route of each kind and policy.
func (p *place) table() []Route {
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(p.ran, r.Method, r.URL.Path, Principal(r.Context()).Name)
			fmt.Fprint(w, text)
		})
	}
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(p.ran, r.Method, r.URL.Path, Principal(r.Context()).Name)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			p.t.Errorf("flush: %v", err)
		}
		<-r.Context().Done()
		fmt.Fprintln(p.ran, "ended:", context.Cause(r.Context()))
	})
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Text string `json:"text"`
		}
		if err := ReadJSON(r, &in); err != nil {
			WriteError(w, r, err)
			return
		}
		fmt.Fprintln(p.ran, r.Method, r.URL.Path, in.Text)
	})
	return []Route{
		{Pattern: "GET /{$}", Policy: User, Handler: says("home")},
		{Pattern: "GET /chats/{id}", Policy: User, Handler: says("a chat")},
		{Pattern: "GET /chats/{id}/stream", Policy: User, Kind: Stream, Handler: stream},
		{Pattern: "POST /chats/{id}/messages", Policy: User, Handler: echo},
		{Pattern: "GET /settings", Policy: Admin, Handler: says("settings")},
		{Pattern: "GET /static/", Policy: Public, Handler: says("body{}")},
		{Pattern: "GET /api/v1/chats", Policy: User, Handler: says("{}")},
		{Pattern: "POST /api/v1/chats", Policy: User, Handler: echo},
		{Pattern: "GET /api/v1/chats/{id}/stream", Policy: User, Kind: Stream, Handler: stream},
		{Pattern: "PUT /api/v1/chats/config/advisor", Policy: Admin, Handler: echo},
		{Pattern: "DELETE /api/v1/chats/{id}", Policy: User, Handler: says("")},
	}
}

// token makes one for a new person of that role, or for the owner.
func (p *place) token(role chat.UserRole) string {
	p.t.Helper()
	who := p.owner
	if role != "owner" {
		u := &chat.User{ID: chat.UserID(newVisit(nil, "").id), Name: string(role), Role: role, CreatedAt: time.Now()}
		p.must(p.store.Update(p.t.Context(), func(tx *kv.Tx) error { return tx.PutUser(u) }))
		who = chat.Principal{UserID: u.ID, Name: u.Name, Role: u.Role}
	}
	out, err := p.room.CreateToken(p.t.Context(), who, account.CreateTokenInput{Name: "test"})
	p.must(err)
	return out.Token
}

func (p *place) code() string {
	p.t.Helper()
	out, err := p.room.CreateLogin(p.t.Context(), p.owner, account.CreateLoginInput{})
	p.must(err)
	return out.Code
}

func (p *place) session() string {
	p.t.Helper()
	entry, err := p.room.RedeemLogin(p.t.Context(), account.Visitor{}, p.code())
	p.must(err)
	return p.gate.CookieName() + "=" + entry.Cookie
}

// answer is what came back, body read.
type reply struct {
	*http.Response
	body string
}

// ask sends one request over TCP; headers are "Name: value" lines, Host included.
func (p *place) ask(method, path, body string, headers ...string) reply {
	p.t.Helper()
	return p.send(p.request(method, path, body, headers...))
}

func (p *place) request(method, path, body string, headers ...string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	p.must(err)
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			p.t.Fatalf("header %q", h)
		}
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

func (p *place) send(r *http.Request) reply {
	p.t.Helper()
	// Redirects are answers here.
	res, err := http.DefaultTransport.RoundTrip(r)
	p.must(err)
	b, err := io.ReadAll(res.Body)
	p.must(err)
	p.must(res.Body.Close())
	return reply{res, string(b)}
}

// raw sends bytes as they are and gives all that comes back until the other side closes.
func (p *place) raw(network, text string) string {
	p.t.Helper()
	address := strings.TrimPrefix(p.base, "http://")
	if network == "unix" {
		address = p.socket
	}
	c, err := new(net.Dialer).DialContext(p.t.Context(), network, address)
	p.must(err)
	_, err = io.WriteString(c, text)
	p.must(err)
	b, err := io.ReadAll(c)
	p.must(err)
	p.must(c.Close())
	return string(b)
}

// path fills a pattern's wildcards.
func path(pattern string) (method, filled string) {
	method, filled, _ = strings.Cut(pattern, " ")
	return method, strings.NewReplacer("{$}", "", "{id}", "018f0000-0000-7000-8000-000000000001").Replace(filled)
}

func noCORS(t *testing.T, r reply) {
	t.Helper()
	for name := range r.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %s: header %s", r.Request.Method, r.Request.URL.Path, name)
		}
	}
}
