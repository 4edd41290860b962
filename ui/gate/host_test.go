package gate

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// TestCheck26_ForeignHosts walks every route with every wrong Host, by hand on the wire.
func TestCheck26_ForeignHosts(t *testing.T) {
	p := open(t, nil)
	token := p.token("owner")
	own := strings.TrimPrefix(p.base, "http://")
	_, port, err := net.SplitHostPort(own)
	p.must(err)
	heads := map[string]string{
		"foreign":          "Host: evil.example\r\n",
		"foreign and port": "Host: evil.example:" + port + "\r\n",
		"none":             "",
		"two":              "Host: " + own + "\r\nHost: evil.example\r\n",
		"two alike":        "Host: " + own + "\r\nHOST: " + own + "\r\n",
		"trailing dot":     "Host: localhost.:" + port + "\r\n",
		"user info":        "Host: x@" + own + "\r\n",
		"other port":       "Host: 127.0.0.1:1\r\n",
		"no port":          "Host: 127.0.0.1\r\n",
		"empty":            "Host:\r\n",
		"not a host":       "Host: a b\r\n",
		"other loopback":   "Host: 127.0.0.2:" + port + "\r\n",
		"of the socket":    "Host: holdfast\r\n",
	}
	for _, route := range p.gate.Routes() {
		method, path := path(route.Pattern)
		for name, head := range heads {
			t.Run(route.Pattern+"/"+name, func(t *testing.T) {
				got := p.raw("tcp", method+" "+path+" HTTP/1.1\r\n"+head+"Authorization: Bearer "+token+"\r\nConnection: close\r\n\r\n")
				if !strings.HasPrefix(got, "HTTP/1.1 421 ") || !strings.HasSuffix(got, "\r\n\r\n"+refusedHost) {
					t.Errorf("answer:\n%s", got)
				}
			})
		}
	}
	for name, request := range map[string]string{
		"HTTP/1.0":       "GET /healthz HTTP/1.0\r\n\r\n",
		"absolute":       "GET http://evil.example/healthz HTTP/1.1\r\nHost: " + own + "\r\nConnection: close\r\n\r\n",
		"absolute, ours": "GET " + p.base + "/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"all options":    "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"connect":        "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n",
		"second request": "GET /healthz HTTP/1.1\r\nHost: " + own + "\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := p.raw("tcp", request)
			if i := strings.LastIndex(got, "HTTP/1."); i < 0 || !strings.HasPrefix(got[i+len("HTTP/1.x"):], " 421 ") {
				t.Errorf("answer:\n%s", got)
			}
		})
	}
	if ran := p.ran.take(); ran != "" {
		t.Errorf("routes were reached:\n%s", ran)
	}
}

func TestOwnHostsAreServed(t *testing.T) {
	p := open(t, func(o *Options) { o.Hosts = []string{"Holdfast.Example:8443"} })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.base, "http://"))
	p.must(err)
	for _, host := range []string{"127.0.0.1:" + port, "[::1]:" + port, "localhost:" + port, "LocalHost:" + port, "holdfast.example:8443"} {
		if r := p.ask("GET", "/healthz", "", "Host: "+host); r.StatusCode != 200 {
			t.Errorf("%s: %d", host, r.StatusCode)
		}
	}
	// What is wrong in another way is still net/http's to refuse.
	if got := p.raw("tcp", "GET /healthz HTTP/1.1\r\nHost: localhost:"+port+"\r\nbad line\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("malformed header:\n%s", got)
	}
	h := newHosts([]net.Addr{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}}, nil)
	if r := httptest.NewRequest("GET", "/", nil); !h["localhost"] || h.allows(r) {
		t.Error("port 80: the bare name should be served, example.com not")
	}
}

func TestCheck26_SocketWantsItsOwnHostAndAToken(t *testing.T) {
	p := open(t, nil)
	token, own := p.token("owner"), strings.TrimPrefix(p.base, "http://")
	for name, c := range map[string]struct{ head, want string }{
		"no token":         {"Host: holdfast\r\n", "HTTP/1.1 401 "},
		"token":            {"Host: holdfast\r\nAuthorization: Bearer " + token + "\r\n", "HTTP/1.1 200 "},
		"host of TCP":      {"Host: " + own + "\r\nAuthorization: Bearer " + token + "\r\n", "HTTP/1.1 421 "},
		"with a port":      {"Host: holdfast:80\r\nAuthorization: Bearer " + token + "\r\n", "HTTP/1.1 421 "},
		"none":             {"Authorization: Bearer " + token + "\r\n", "HTTP/1.1 421 "},
		"forged as local":  {"Host: holdfast\r\nX-Forwarded-For: 127.0.0.1\r\n", "HTTP/1.1 401 "},
		"other upper case": {"Host: HOLDFAST\r\nAuthorization: Bearer " + token + "\r\n", "HTTP/1.1 421 "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := p.raw("unix", "GET /api/v1/chats HTTP/1.1\r\n"+c.head+"Connection: close\r\n\r\n"); !strings.HasPrefix(got, c.want) {
				t.Errorf("answer:\n%s", got)
			}
		})
	}
	if got := p.raw("unix", "GET /metrics HTTP/1.1\r\nHost: holdfast\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
		t.Errorf("metrics over the socket without a token:\n%.100s", got)
	}
}

// FuzzHost: whatever is sent as Host, only the four names of the list are served.
func FuzzHost(f *testing.F) {
	bound := []net.Addr{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420}}
	h := newHosts(bound, []string{"box.lan:443"})
	for _, s := range []string{"127.0.0.1:8420", "[::1]:8420", "LOCALHOST:8420", "box.lan:443", "localhost.:8420", "a@localhost:8420",
		"localhost:8420\x00", "localhost:08420", "[::ffff:127.0.0.1]:8420", "ſ", "localhoſt:8420", "K", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		want := false
		for _, own := range []string{"127.0.0.1:8420", "[::1]:8420", "localhost:8420", "box.lan:443"} {
			want = want || asciiEqualFold(own, host)
		}
		if got := h.allows(r); got != want {
			t.Errorf("allows(%q) = %v", host, got)
		}
		r.URL.Host = host
		if host != "" && h.allows(r) {
			t.Errorf("an absolute target %q is served", host)
		}
		r.URL.Host = ""
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Name: "x", Net: "unix"})))
		if got := h.allows(r); got != (host == "holdfast") {
			t.Errorf("on the socket allows(%q) = %v", host, got)
		}
	})
}

// asciiEqualFold is written out, so that it shares nothing with what it judges.
func asciiEqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if x >= 'A' && x <= 'Z' {
			x += 'a' - 'A'
		}
		if y >= 'A' && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}

func TestListenTakesLoopbackOnly(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "127.8.8.8:0": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "192.0.2.1:0": false, "example.org:0": false, "8420": false, "localhost.:0": false,
	} {
		err := checkLoopback(address)
		if good != (err == nil) {
			t.Errorf("%s: %v", address, err)
		}
	}
	first, err := Listen(t.Context(), []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := first[0].Close(); err != nil {
			t.Error(err)
		}
	}()
	taken := first[0].Addr().String()
	if all, err := Listen(t.Context(), []string{"127.0.0.1:0", taken}); err == nil || !strings.Contains(err.Error(), taken) || all != nil {
		t.Errorf("a taken port: %v", err)
	}
}

func TestMetricsAreForThisMachineOrATokenOnly(t *testing.T) {
	p := open(t, nil)
	token := "Authorization: Bearer " + p.token(chat.UserMember)
	// The first request of all finds no line about another one.
	p.ask("GET", "/metrics", "")
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"local":              {nil, http.StatusOK},
		"forwarded":          {[]string{"X-Forwarded-For: 192.0.2.1"}, http.StatusUnauthorized},
		"forwarded, empty":   {[]string{"Forwarded: "}, http.StatusUnauthorized},
		"via":                {[]string{"Via: 1.1 proxy"}, http.StatusUnauthorized},
		"forwarded, token":   {[]string{"X-Forwarded-For: 192.0.2.1", token}, http.StatusOK},
		"local, wrong token": {[]string{"Authorization: Bearer x"}, http.StatusUnauthorized},
		"of a foreign page":  {[]string{"Sec-Fetch-Site: cross-site"}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.ask("GET", "/metrics", "", c.headers...)
			if r.StatusCode != c.want {
				t.Errorf("status %d, want %d", r.StatusCode, c.want)
			}
			if got := strings.Contains(r.body, "holdfast_http_requests_total"); got != (c.want == 200) {
				t.Errorf("body:\n%.200s", r.body)
			}
		})
	}
	body := p.ask("GET", "/metrics", "").body
	for _, line := range []string{
		`holdfast_http_requests_total{method="GET",route="/metrics",status="4xx"} 5`,
		`holdfast_auth_failures_total{reason="none"} 3`,
		`holdfast_auth_failures_total{reason="invalid"} 1`,
		`holdfast_origin_refused_total{reason="read"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}
