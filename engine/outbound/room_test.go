package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

var admin = chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a1", Role: chat.UserAdmin}

// rig is a Room whose names and whose way to public addresses are the test's: every public address leads to the server.
type rig struct {
	*Room
	store  *kv.Store
	server *httptest.Server

	mu      sync.Mutex // guards the rest
	clock   time.Time
	names   map[string][]string
	lookups []string
	dialled []string
}

func newRig(t *testing.T, mode chat.OutboundMode, h http.Handler) *rig {
	t.Helper()
	if h == nil {
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello from "+r.Host) })
	}
	r := &rig{store: kvtest.Open(t), server: httptest.NewServer(h), clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), names: map[string][]string{}}
	t.Cleanup(r.server.Close)
	var err error
	r.Room, err = New(t.Context(), Options{Store: r.store, Metric: metric.New(), Now: r.now, Lookup: r.lookup, Dial: r.dial})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetMode(t.Context(), admin, SetModeInput{Mode: mode}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(time.Millisecond)
	return r.clock
}

// lookup gives the next answer for a name; the last one stays.
func (r *rig) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups = append(r.lookups, host)
	answers := r.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		r.names[host] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range strings.Fields(answers[0]) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (r *rig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	r.dialled = append(r.dialled, address)
	r.mu.Unlock()
	if at, err := netip.ParseAddrPort(address); err == nil && !at.Addr().IsLoopback() {
		address = r.server.Listener.Addr().String()
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (r *rig) calls() (lookups, dialled []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lookups...), append([]string(nil), r.dialled...)
}

func (r *rig) name(host string, answers ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[host] = answers
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func kind(err error) chat.Kind {
	var e *chat.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

func (r *rig) report(t *testing.T) Report {
	t.Helper()
	out, err := r.Report(t.Context(), admin, ReportInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCheck34PrivateAddressesAreRefusedAtDial is check 34 of operations.md: every spelling of an address of this machine or its network is
// refused, and a public host is fetched.
func TestCheck34PrivateAddressesAreRefusedAtDial(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if to := req.URL.Query().Get("to"); to != "" {
			http.Redirect(w, req, to, http.StatusFound)
			return
		}
		io.WriteString(w, "hello from "+req.Host)
	}))
	r.name("inside.example", "10.0.0.9")
	r.name("mixed.example", "93.184.216.34 127.0.0.1")
	r.name("mapped.example", "::ffff:127.0.0.1")
	r.name("rebind.example", "93.184.216.34", "127.0.0.1")
	r.name("public.example", "93.184.216.34")
	r.name("2130706433", "127.0.0.1")
	r.name("6to4.example", "2002:7f00:1::")
	_, port, _ := net.SplitHostPort(r.server.Listener.Addr().String())
	c := r.Client(Purpose{Name: "fetch"})
	if body, err := get(t, c, "http://public.example/"); err != nil || body != "hello from public.example" {
		t.Fatalf("a public host: %q, %v", body, err)
	}
	for _, host := range []string{"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]", "[ff02::1]", "[::]", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "224.0.0.1", "0.0.0.0", "255.255.255.255", "localhost", "a.localhost", "LOCALHOST.", "inside.example",
		"mixed.example", "mapped.example", "6to4.example"} {
		_, before := r.calls()
		for _, way := range []string{"http://" + host + ":" + port + "/", "http://public.example/?to=" + url.QueryEscape("http://"+host+":"+port+"/")} {
			if body, err := get(t, c, way); kind(err) != chat.KindOutboundDenied {
				t.Errorf("%s: %q, %v", way, body, err)
			}
		}
		for _, d := range func() []string { _, d := r.calls(); return d[len(before):] }() {
			if d != "93.184.216.34:80" {
				t.Errorf("%s was dialled at %s", host, d)
			}
		}
	}
	c.CloseIdleConnections()
	if _, err := get(t, c, "http://rebind.example/"); err != nil {
		t.Fatalf("before the name changed: %v", err)
	}
	c.CloseIdleConnections()
	if body, err := get(t, c, "http://rebind.example/"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("after the name changed: %q, %v", body, err)
	}
	for _, scheme := range []string{"ftp://public.example/", "file:///etc/passwd", "gopher://public.example/"} {
		if _, err := get(t, c, scheme); kind(err) != chat.KindOutboundDenied {
			t.Errorf("%s: %v", scheme, err)
		}
	}
	listed := map[string]bool{}
	for _, h := range r.report(t).Hosts {
		listed[h.Host] = h.Refused > 0
	}
	for _, host := range []string{"127.0.0.1", "2130706433", "::ffff:10.0.0.1", "rebind.example", "inside.example"} {
		if !listed[host] {
			t.Errorf("the ledger has no refusal of %s: %v", host, listed)
		}
	}
}

// TestCheck42DenyRefusesBeforeAnyLookup is check 42 of operations.md.
func TestCheck42DenyRefusesBeforeAnyLookup(t *testing.T) {
	r := newRig(t, chat.OutboundDeny, nil)
	r.name("mcp.example", "93.184.216.34")
	r.name("nas.home", "192.168.1.20")
	for _, purpose := range []string{"MCP server", "fetch", "webhook"} {
		ctx := chat.WithAsker(t.Context(), admin.UserID)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://mcp.example/x", strings.NewReader("{}"))
		if _, err := r.Client(Purpose{Name: purpose}).Do(req); kind(err) != chat.KindOutboundDenied {
			t.Errorf("%s: %v", purpose, err)
		}
	}
	if _, err := get(t, r.Client(Purpose{Name: "model", Declared: true, Stream: true}), "https://mcp.example/v1"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("a model that an admin entered: %v", err)
	}
	if err := r.Check(t.Context(), Purpose{Name: "model pull"}, "registry.ollama.ai", 443); kind(err) != chat.KindOutboundDenied {
		t.Errorf("a pull by the model server: %v", err)
	}
	lookups, dialled := r.calls()
	if len(lookups)+len(dialled) > 0 {
		t.Fatalf("lookups %v, connections %v", lookups, dialled)
	}
	out := r.report(t)
	if len(out.Hosts) != 2 || out.Called() || out.Hosts[1].Host != "mcp.example" || out.Hosts[1].Refused != 4 || len(out.Hosts[1].Entries) != 4 {
		t.Errorf("the ledger is %+v", out.Hosts)
	}
	by := 0
	for _, e := range out.Hosts[1].Entries {
		if e.Reason != reasonOffline || e.Address != "" || e.Allowed {
			t.Errorf("an entry is %+v", e)
		}
		if e.By == admin.UserID {
			by++
		}
	}
	if by != 3 {
		t.Errorf("%d entries name who asked", by)
	}
	// The model server works, and so does what an admin declared as local, but only where it is.
	if body, err := get(t, r.Client(Purpose{Name: "model server", Model: true, Stream: true}), r.server.URL); err != nil || !strings.HasPrefix(body, "hello") {
		t.Errorf("the model server on loopback: %q, %v", body, err)
	}
	if _, err := r.Allow(t.Context(), admin, AllowInput{Host: "nas.home", Port: 80, Local: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, r.Client(Purpose{Name: "webhook"}), "http://nas.home/"); err != nil {
		t.Errorf("an allowed local host: %v", err)
	}
	r.name("nas.home", "93.184.216.34")
	if _, err := get(t, r.Client(Purpose{Name: "webhook"}), "http://nas.home/"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("a local host that is not local: %v", err)
	}
}

func TestAskWaitsForAClick(t *testing.T) {
	r := newRig(t, chat.OutboundAsk, nil)
	r.name("api.example", "93.184.216.34")
	r.name("box.example", "192.168.1.7")
	c := r.Client(Purpose{Name: "MCP server"})
	if _, err := get(t, c, "http://api.example/"); kind(err) != chat.KindOutboundDenied {
		t.Fatalf("a new host: %v", err)
	}
	if lookups, _ := r.calls(); len(lookups) > 0 {
		t.Errorf("looked up before the click: %v", lookups)
	}
	if h := r.report(t).Hosts[0]; !h.Waits || h.Local || h.Allowed {
		t.Errorf("the host is listed as %+v", h)
	}
	allow := func(in AllowInput) {
		t.Helper()
		if _, err := r.Allow(t.Context(), admin, in); err != nil {
			t.Fatal(err)
		}
	}
	allow(AllowInput{Host: "API.example.", Port: 80})
	if _, err := get(t, c, "http://api.example/"); err != nil {
		t.Errorf("after the click: %v", err)
	}
	if _, err := get(t, c, "http://api.example:8080/"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("another port: %v", err)
	}
	// A click for a host is none for the network of the machine.
	allow(AllowInput{Host: "box.example", Port: 80})
	if _, err := get(t, c, "http://box.example/"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("a local address behind an allowed name: %v", err)
	}
	if h := r.report(t).Hosts[0]; h.Host != "box.example" || !h.Waits || !h.Local {
		t.Errorf("the host is listed as %+v", h)
	}
	allow(AllowInput{Host: "box.example", Port: 80, Local: true})
	if _, err := get(t, c, "http://box.example/"); err != nil {
		t.Errorf("after the second click: %v", err)
	}
	// A connection that is still open helps nobody.
	if _, err := r.Forget(t.Context(), admin, ForgetInput{Host: "box.example", Port: 80}); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, c, "http://box.example/"); kind(err) != chat.KindOutboundDenied {
		t.Errorf("after it was taken back: %v", err)
	}
	if _, err := r.Forget(t.Context(), admin, ForgetInput{Host: "box.example", Port: 80}); kind(err) != chat.KindNotFound {
		t.Errorf("taken back twice: %v", err)
	}
	for _, in := range []AllowInput{{Host: "", Port: 80}, {Host: "a b", Port: 80}, {Host: "http://a", Port: 80}, {Host: "a:1", Port: 80}, {Host: "u@a", Port: 80},
		{Host: "a", Port: 0}, {Host: "a", Port: 70000}, {Host: "0.0.0.0", Port: 80}, {Host: "2130706433", Port: 80}} {
		if _, err := r.Allow(t.Context(), admin, in); kind(err) != chat.KindInvalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestThePageCannotLoosenWhatTheStartSaid(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, nil)
	r.name("gpu.example", "93.184.216.34")
	model := func(fixed bool) error {
		_, err := get(t, r.Client(Purpose{Name: "model server", Model: true, Stream: true, Fixed: func() bool { return fixed }}), "http://gpu.example/")
		return err
	}
	r.Bound(chat.OutboundDeny)
	if r.Mode() != chat.OutboundDeny {
		t.Fatalf("the mode is %s", r.Mode())
	}
	for _, m := range []chat.OutboundMode{chat.OutboundAsk, chat.OutboundOpen} {
		if _, err := r.SetMode(t.Context(), admin, SetModeInput{Mode: m}); kind(err) != chat.KindForbidden {
			t.Errorf("%s: %v", m, err)
		}
	}
	if err := model(false); kind(err) != chat.KindOutboundDenied {
		t.Errorf("a public model server that a page named: %v", err)
	}
	if err := model(true); err != nil {
		t.Errorf("a public model server that the file named: %v", err)
	}
	r.Bound(chat.OutboundAsk)
	if r.Mode() != chat.OutboundAsk {
		t.Errorf("the mode is %s", r.Mode())
	}
	if _, err := r.SetMode(t.Context(), admin, SetModeInput{Mode: chat.OutboundDeny}); err != nil || r.Mode() != chat.OutboundDeny {
		t.Errorf("stricter: %s, %v", r.Mode(), err)
	}
	r.Bound("")
	if _, err := r.SetMode(t.Context(), admin, SetModeInput{Mode: "maybe"}); kind(err) != chat.KindInvalid {
		t.Errorf("no mode: %v", err)
	}
	again, err := New(t.Context(), Options{Store: r.store, Metric: metric.New()})
	if err != nil || again.Mode() != chat.OutboundDeny {
		t.Errorf("after a restart: %v, %v", again.Mode(), err)
	}
}

// TestCredentialsStayWithTheirOrigin: what a request carries beside its question reaches no other origin, and content goes nowhere else.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	var mu sync.Mutex
	var seen []*http.Request
	r := newRig(t, chat.OutboundOpen, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		seen = append(seen, req.Clone(context.Background()))
		mu.Unlock()
		switch req.URL.Path {
		case "/away":
			http.Redirect(w, req, "http://other.example/here", http.StatusTemporaryRedirect)
		case "/home":
			http.Redirect(w, req, "/here", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, req, "/round", http.StatusFound)
		}
	}))
	r.name("one.example", "93.184.216.34")
	r.name("other.example", "93.184.216.35")
	c := r.Client(Purpose{Name: "fetch"})
	ask := func(method, path string, body io.Reader) (last *http.Request, n int, err error) {
		mu.Lock()
		seen = nil
		mu.Unlock()
		req, _ := http.NewRequestWithContext(t.Context(), method, "http://one.example"+path+"?secret=1", body)
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("X-Api-Key", "k")
		req.Header.Set("Cookie", "a=b")
		req.Header.Set("Accept", "text/plain")
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		return seen[len(seen)-1], len(seen), err
	}
	last, _, err := ask("GET", "/away", nil)
	if err != nil || last.Host != "other.example" || last.Header.Get("Accept") != "text/plain" {
		t.Fatalf("%+v, %v", last, err)
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie", "Referer"} {
		if last.Header.Get(name) != "" {
			t.Errorf("%s went along: %q", name, last.Header.Get(name))
		}
	}
	if last, _, err = ask("GET", "/home", nil); err != nil || last.Header.Get("X-Api-Key") != "k" || last.Header.Get("Referer") != "" {
		t.Errorf("at home: %+v, %v", last.Header, err)
	}
	if last, n, err := ask("POST", "/away", strings.NewReader("content")); kind(err) != chat.KindOutboundDenied || n != 1 || last.Host != "one.example" {
		t.Errorf("content for another origin: %d requests, %v", n, err)
	}
	if _, n, err := ask("GET", "/round", nil); kind(err) != chat.KindOutboundDenied || n != 1+maxRedirects {
		t.Errorf("%d requests in a circle, %v", n, err)
	}
	resp, err := r.Client(Purpose{Name: "model", Declared: true, Stream: true}).Get("http://one.example/away")
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("a model's address followed a redirect: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

func TestAnswersAreBounded(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n := DefaultBody
		if req.URL.Path == "/more" {
			n++
		}
		io.CopyN(w, zeros{}, n)
	}))
	r.name("big.example", "93.184.216.34")
	c := r.Client(Purpose{Name: "fetch"})
	if body, err := get(t, c, "http://big.example/fits"); err != nil || int64(len(body)) != DefaultBody {
		t.Errorf("at the limit: %d bytes, %v", len(body), err)
	}
	if body, err := get(t, c, "http://big.example/more"); kind(err) != chat.KindTooLarge || int64(len(body)) != DefaultBody {
		t.Errorf("over the limit: %d bytes, %v", len(body), err)
	}
	if body, err := get(t, r.Client(Purpose{Name: "stream", Stream: true}), "http://big.example/more"); err != nil || int64(len(body)) != DefaultBody+1 {
		t.Errorf("a stream: %d bytes, %v", len(body), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAttemptsAreCountedAndTheApplianceIsNobodysTarget(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, nil)
	c := r.Client(Purpose{Name: "fetch"})
	for range 3 {
		if _, err := get(t, c, "http://10.0.0.1/"); kind(err) != chat.KindOutboundDenied {
			t.Fatal(err)
		}
	}
	r.mu.Lock()
	r.clock = r.clock.Add(2 * alikeFor)
	r.mu.Unlock()
	if _, err := get(t, c, "http://10.0.0.1/"); kind(err) != chat.KindOutboundDenied {
		t.Fatal(err)
	}
	h := r.report(t).Hosts[0]
	if h.Refused != 4 || len(h.Entries) != 2 || h.Entries[1].Attempts != 3 || h.Entries[0].Attempts != 1 {
		t.Errorf("%+v", h)
	}
	r.Listening([]net.Addr{r.server.Listener.Addr()})
	port := r.server.Listener.Addr().(*net.TCPAddr).Port
	if _, err := r.Allow(t.Context(), admin, AllowInput{Host: "127.0.0.1", Port: port}); kind(err) != chat.KindInvalid {
		t.Errorf("our own port was allowed: %v", err)
	}
	for _, p := range []Purpose{{Name: "fetch"}, {Name: "model", Declared: true}, {Name: "model server", Model: true}} {
		if _, err := get(t, r.Client(p), r.server.URL); kind(err) != chat.KindOutboundDenied {
			t.Errorf("%s reached the appliance: %v", p.Name, err)
		}
	}
	r.name("me.example", "127.0.0.1")
	if _, err := get(t, r.Client(Purpose{Name: "model server", Model: true}), "http://me.example:"+strings.Split(r.server.URL, ":")[2]); kind(err) != chat.KindOutboundDenied {
		t.Errorf("reached by a name: %v", err)
	}
}

// TestANameThatWasAskedForIsSaidSo: nobody was called, but the resolver of the machine may have asked others.
func TestANameThatWasAskedForIsSaidSo(t *testing.T) {
	for address, want := range map[string]bool{"http://gone.example/": true, "http://inside.example/": true, "http://10.0.0.1/": false, "http://localhost/": false} {
		r := newRig(t, chat.OutboundOpen, nil)
		r.name("inside.example", "10.0.0.9")
		if _, err := get(t, r.Client(Purpose{Name: "fetch"}), address); err == nil {
			t.Fatalf("%s was reached", address)
		}
		if out := r.report(t); out.LookedUp() != want || out.Called() || len(out.Hosts) != 1 {
			t.Errorf("%s: looked up %v, called %v, %+v", address, out.LookedUp(), out.Called(), out.Hosts)
		}
	}
}

// TestWhatLeftTheMachine: a person is told what went out since a time, and only admins where to.
func TestWhatLeftTheMachine(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, nil)
	r.name("a.example", "203.0.113.1")
	r.name("b.example", "203.0.113.2")
	c := r.Client(Purpose{Name: "fetch"})
	call := func(url string, passes bool) {
		t.Helper()
		if _, err := get(t, c, url); (err == nil) != passes {
			t.Fatal(err)
		}
	}
	left := func(p chat.Principal, since time.Time) Left {
		t.Helper()
		out, err := r.Left(t.Context(), p, LeftInput{Since: since})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	begin := r.now()
	call("http://10.0.0.1/", false)
	if got := left(admin, begin); got.Count != 0 {
		t.Errorf("what was refused left: %+v", got)
	}
	call("http://a.example/", true)
	call("http://b.example/", true)
	between := r.now()
	if got := left(admin, between); got.Count != 0 {
		t.Errorf("what left before: %+v", got)
	}
	// This one over the connection that is open already; the ledger has it since it was opened.
	call("http://a.example/", true)
	if got := left(admin, between); got.Count != 1 || got.Hosts[0] != "a.example" {
		t.Errorf("what left over an open connection: %+v", got)
	}
	if got := left(admin, begin); got.Count != 2 || !slices.Equal(got.Hosts, []string{"a.example", "b.example"}) {
		t.Errorf("%+v", got)
	}
	if got := left(chat.Principal{UserID: admin.UserID, Role: chat.UserMember}, begin); got.Count != 2 || got.Hosts != nil {
		t.Errorf("a member is told %+v", got)
	}
}

// TestAnAttemptThatCannotBeWrittenIsNotMade: the ledger comes first.
func TestAnAttemptThatCannotBeWrittenIsNotMade(t *testing.T) {
	r := newRig(t, chat.OutboundOpen, nil)
	r.name("public.example", "93.184.216.34")
	c := r.Client(Purpose{Name: "fetch"})
	kvtest.Finish(t, r.store)
	if _, err := get(t, c, "http://public.example/"); err == nil {
		t.Error("fetched without a ledger")
	}
	if _, dialled := r.calls(); len(dialled) > 0 {
		t.Errorf("dialled %v", dialled)
	}
}
