//go:build e2e

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// asked is one raw request.
type asked struct {
	method, path, host, body string
	header                   map[string]string
}

// sources counts the addresses from which requests came.
var sources atomic.Uint32

// rawly sends bytes over TCP, so that nothing puts them in order on the way, and gives status, headers and body.
func rawly(t *testing.T, a *appliance, q asked) (*http.Response, string) {
	t.Helper()
	address := strings.TrimPrefix(a.url, "http://")
	// Who is signed out may ask a few times only; each request here is somebody else.
	source := sources.Add(1)
	dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(source>>8), byte(source))}}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if q.host == "" {
		q.host = "Host: " + address + "\r\n"
	}
	text := q.method + " " + q.path + " HTTP/1.1\r\n" + q.host + "Connection: close\r\n"
	if q.body != "" {
		text += "Content-Length: " + itoa(len(q.body)) + "\r\n"
	}
	for name, value := range q.header {
		text += name + ": " + value + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"+q.body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: q.method})
	if err != nil {
		t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil && res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(err)
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %s answers with %s", q.method, q.path, name)
		}
	}
	return res, string(body)
}

// signIn takes the login link and gives the Cookie header's value.
func signIn(t *testing.T, a *appliance) string {
	t.Helper()
	res, _ := rawly(t, a, asked{method: "GET", path: strings.TrimPrefix(a.link, a.url)})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || len(res.Cookies()) != 2 {
		t.Fatalf("the link: %d %v", res.StatusCode, res.Header)
	}
	session := ""
	for _, c := range res.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" {
			t.Errorf("the cookie is %+v", c)
		}
		if !strings.HasSuffix(c.Name, "_device") {
			session = c.Name + "=" + c.Value
		}
	}
	return session
}

// guarded are requests to one route of each kind, with a chat's id.
func guarded(id string) []asked {
	return []asked{
		{method: "GET", path: "/"}, {method: "GET", path: "/login"}, {method: "GET", path: "/static/app.js"}, {method: "GET", path: "/healthz"},
		{method: "GET", path: "/chats/" + id}, {method: "GET", path: "/chats/" + id + "/stream"}, {method: "GET", path: "/models/stream"},
		{method: "GET", path: "/api/v1/chats"}, {method: "GET", path: "/api/v1/chats/" + id + "/stream"}, {method: "POST", path: "/api/v1/chats", body: "{}"},
		{method: "POST", path: "/chats/" + id + "/messages", body: "text=x"}, {method: "OPTIONS", path: "/api/v1/chats"}, {method: "GET", path: "/nothing/here"},
	}
}

func (q asked) with(name, value string) asked {
	header := map[string]string{name: value}
	for k, v := range q.header {
		header[k] = v
	}
	q.header = header
	return q
}

func Test26AlienHost(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests("waiting")
	cookie := signIn(t, a)
	port := a.url[strings.LastIndex(a.url, ":"):]
	for name, host := range map[string]string{"another name": "Host: evil.example\r\n", "with our port": "Host: evil.example" + port + "\r\n", "none": "X-None: 1\r\n",
		"two": "Host: 127.0.0.1" + port + "\r\nHost: evil.example\r\n", "a trailing dot": "Host: localhost." + port + "\r\n", "no port": "Host: localhost\r\n"} {
		for _, q := range guarded(string(k.id)) {
			q = q.with("Cookie", cookie).with("Authorization", "Bearer "+a.token)
			q.host = host
			res, body := rawly(t, a, q)
			if res.StatusCode != http.StatusMisdirectedRequest || strings.Contains(body, "Hello!") {
				t.Errorf("%s: %s %s: %d %.80q", name, q.method, q.path, res.StatusCode, body)
			}
		}
	}
}

func Test27CrossSiteWrites(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests("waiting")
	cookie := signIn(t, a)
	eventually(t, turnLimit, "the title", func() bool { return k.now().Title == "A scripted title" })
	before := k.now().Version
	for name, headers := range map[string]map[string]string{
		"a form":         {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "application/x-www-form-urlencoded"},
		"plain text":     {"Origin": "https://evil.example", "Content-Type": "text/plain"},
		"no origin":      {"Origin": "null", "Content-Type": "application/json"},
		"a sibling port": {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site", "Content-Type": "application/json"},
	} {
		for path, body := range map[string]string{"/chats/" + string(k.id) + "/messages": "text=say+hello", "/api/v1/chats/" + string(k.id) + "/messages": `{"content":[{"type":"text","text":"say hello"}]}`,
			"/chats/" + string(k.id) + "/archive": "", "/models/demo": "", "/logout": ""} {
			q := asked{method: "POST", path: path, body: body, header: headers}.with("Cookie", cookie)
			if res, text := rawly(t, a, q); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s: POST %s: %d %.80q", name, path, res.StatusCode, text)
			}
		}
	}
	if now := k.now().Version; now != before {
		t.Errorf("the chat went from version %d to %d", before, now)
	}
	own := asked{method: "POST", path: "/chats/" + string(k.id) + "/title", body: "title=Mine", header: map[string]string{
		"Origin": a.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}}
	if res, text := rawly(t, a, own); res.StatusCode != http.StatusNoContent || k.now().Title != "Mine" {
		t.Errorf("our own page: %d %.80q, the title is %q", res.StatusCode, text, k.now().Title)
	}
	plain := asked{method: "POST", path: "/api/v1/chats", body: "{}", header: map[string]string{"Content-Type": "text/plain", "Authorization": "Bearer " + a.token}}
	if res, text := rawly(t, a, plain); res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain to the API: %d %.80q", res.StatusCode, text)
	}
}

func Test28CrossSiteReads(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests("waiting")
	cookie := signIn(t, a)
	for name, headers := range map[string]map[string]string{
		"another site":   {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
		"no cors":        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
		"origin null":    {"Origin": "null"},
		"a sibling port": {"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
	} {
		for _, path := range []string{"/chats/" + string(k.id) + "/stream", "/list/stream", "/models/stream", "/api/v1/chats/" + string(k.id) + "/stream", "/api/v1/chats", "/chats/" + string(k.id)} {
			q := asked{method: "GET", path: path, header: headers}.with("Cookie", cookie)
			if res, body := rawly(t, a, q); res.StatusCode != http.StatusForbidden || strings.Contains(body, "Hello!") {
				t.Errorf("%s: GET %s: %d %.80q", name, path, res.StatusCode, body)
			}
		}
	}
}

func Test29NoCredential(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests("waiting")
	id := string(k.id)
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	a.must("GET", "/api/v1/openapi.json", nil, &described)
	if len(described.Paths) < 20 {
		t.Fatalf("only %d paths are described", len(described.Paths))
	}
	count := 0
	for path, methods := range described.Paths {
		path = strings.NewReplacer("{id}", id, "{n}", "1", "{call}", "c", "{call_id}", "c", "{name}", "x", "{token}", "x").Replace(path)
		if !strings.HasPrefix(path, "/api/") {
			path = "/api/v1" + path
		}
		for method := range methods {
			count++
			for name, bearer := range map[string]string{"nothing": "", "rubbish": "Bearer rubbish"} {
				q := asked{method: strings.ToUpper(method), path: path, header: map[string]string{"Content-Type": "application/json"}}
				if bearer != "" {
					q = q.with("Authorization", bearer)
				}
				want := http.StatusUnauthorized
				switch {
				case strings.HasSuffix(path, "/oauth2/connect"):
					// A browser goes there, and signs in first.
					want = http.StatusSeeOther
				case strings.HasSuffix(path, "/oauth2/callback"):
					// It comes from another site without the session; its own cookie and state are what counts.
					want = http.StatusBadRequest
				}
				if res, body := rawly(t, a, q); res.StatusCode != want {
					t.Errorf("%s: %s %s: %d %.80q", name, q.method, q.path, res.StatusCode, body)
				}
			}
		}
	}
	t.Logf("%d routes of the API", count)
	for path, want := range map[string]int{"/": 303, "/chats/" + id: 303, "/models": 303, "/workspaces": 303, "/tokens": 303, "/chats/" + id + "/stream": 200, "/list/stream": 200,
		"/models/stream": 200, "/login": 200, "/healthz": 200, "/readyz": 200} {
		res, body := rawly(t, a, asked{method: "GET", path: path})
		if res.StatusCode != want || want == 303 && res.Header.Get("Location") != "/login" || strings.Contains(body, "Hello!") ||
			strings.HasSuffix(path, "/stream") && !strings.Contains(body, "/login") {
			t.Errorf("GET %s: %d to %q", path, res.StatusCode, res.Header.Get("Location"))
		}
	}
	for _, path := range []string{"/chats", "/chats/" + id + "/messages", "/chats/" + id + "/delete", "/models/pull", "/workspaces", "/tokens", "/logout"} {
		if res, _ := rawly(t, a, asked{method: "POST", path: path, body: "text=x", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": a.url}}); res.StatusCode != 401 && res.StatusCode != 303 {
			t.Errorf("POST %s: %d", path, res.StatusCode)
		}
	}
	if n := k.now(); n.Status != "waiting" {
		t.Errorf("the chat is %s", n.Status)
	}
}

func Test31LoginLink(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--log-level", "debug"}})
	path := strings.TrimPrefix(a.link, a.url)
	for name, value := range map[string]string{"Sec-Purpose": "prefetch", "Purpose": "prefetch", "Sec-Fetch-Site": "cross-site"} {
		q := asked{method: "GET", path: path}.with(name, value)
		if name == "Sec-Fetch-Site" {
			q = q.with("Sec-Fetch-Mode", "navigate").with("Sec-Fetch-Dest", "document")
		}
		if res, _ := rawly(t, a, q); len(res.Cookies()) != 0 {
			t.Errorf("%s %s signs in", name, value)
		}
	}
	cookie := signIn(t, a)
	if res, _ := rawly(t, a, asked{method: "GET", path: path}); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 0 {
		t.Errorf("a second use: %d", res.StatusCode)
	}
	if res, _ := rawly(t, a, asked{method: "GET", path: "/", header: map[string]string{"Cookie": cookie}}); res.StatusCode != http.StatusOK {
		t.Errorf("the first one is signed in no more: %d", res.StatusCode)
	}
	_, code, _ := strings.Cut(path, "code=")
	if log := a.log.String(); strings.Contains(log, code) || strings.Contains(log, a.token) || strings.Contains(log, strings.SplitN(cookie, "=", 2)[1]) {
		t.Error("a secret is in the log")
	}
	exit, stdout, stderr := runToEnd(t, a.data, "", "token", "login")
	if exit != 0 || !strings.HasPrefix(stdout, a.url+"/login?code=") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("token login: exit %d, %q, %q", exit, stdout, stderr)
	}
	a.link = strings.TrimSpace(stdout)
	signIn(t, a)
}
