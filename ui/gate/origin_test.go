package gate

import (
	"net/http"
	"strings"
	"testing"
)

const chatPath = "/chats/018f0000-0000-7000-8000-000000000001"

func TestCheck27_CrossSiteWrites(t *testing.T) {
	p := open(t, nil)
	cookie := "Cookie: " + p.session()
	const form, text, json = "Content-Type: application/x-www-form-urlencoded", "Content-Type: text/plain", "Content-Type: application/json"
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"form of another site":          {[]string{form, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Origin: https://evil.example"}, 403},
		"fetch of another site":         {[]string{json, "Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 403},
		"sibling port":                  {[]string{json, "Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:1"}, 403},
		"text of another site":          {[]string{text, "Sec-Fetch-Site: cross-site"}, 403},
		"old browser":                   {[]string{json, "Origin: https://evil.example"}, 403},
		"old browser, null":             {[]string{json, "Origin: null"}, 403},
		"old browser, port":             {[]string{json, "Origin: http://127.0.0.1:1"}, 403},
		"text without any trace":        {[]string{text}, 415},
		"form without any trace":        {[]string{form}, 415},
		"no content type":               {nil, 415},
		"text that claims to be a form": {[]string{text + "; application/json"}, 415},
		"own page":                      {[]string{json, "Sec-Fetch-Site: same-origin", "Origin: " + p.base}, 200},
		"own page without referrer":     {[]string{json, "Sec-Fetch-Site: same-origin", "Origin: null"}, 200},
		"own page, old browser":         {[]string{json, "Origin: " + p.base}, 200},
		"own page, charset":             {[]string{"Content-Type: application/json; charset=utf-8", "Sec-Fetch-Site: same-origin"}, 200},
	} {
		for _, path := range []string{chatPath + "/messages", "/api/v1/chats"} {
			t.Run(name+path, func(t *testing.T) {
				r := p.ask("POST", path, `{"text":"hello"}`, append(c.headers, cookie)...)
				if r.StatusCode != c.want {
					t.Errorf("status %d, want %d: %s", r.StatusCode, c.want, r.body)
				}
				noCORS(t, r)
				if ran := p.ran.take(); (ran != "") != (c.want == 200) {
					t.Errorf("reached: %q", ran)
				}
			})
		}
	}
	if r := p.ask("POST", "/logout", "", cookie, "Sec-Fetch-Site: cross-site"); r.StatusCode != 403 {
		t.Errorf("logout by another site: %d", r.StatusCode)
	}
	if r := p.ask("GET", "/", "", cookie); r.StatusCode != 200 {
		t.Errorf("the session did not survive: %d", r.StatusCode)
	}
}

func TestCheck28_CrossSiteReads(t *testing.T) {
	p := open(t, nil)
	cookie := "Cookie: " + p.session()
	refused := map[string][]string{
		"cross-site EventSource":  {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Origin: https://evil.example"},
		"image of another site":   {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"},
		"frame of another site":   {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"},
		"sibling port":            {"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Origin: http://127.0.0.1:1"},
		"null origin":             {"Origin: null"},
		"foreign origin":          {"Origin: https://evil.example"},
		"own host, other scheme":  {"Origin: " + strings.Replace(p.base, "http:", "https:", 1)},
		"own host, more":          {"Origin: " + p.base + ".evil.example"},
		"own and foreign origin":  {"Origin: " + p.base, "Origin: https://evil.example"},
		"own and cross-site":      {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"},
		"web socket":              {"Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket"},
		"navigation with origin":  {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Origin: null"},
		"preflight of other site": {"Origin: https://evil.example", "Access-Control-Request-Method: POST"},
	}
	for _, route := range p.gate.Routes() {
		method, path := path(route.Pattern)
		if method != "GET" {
			continue
		}
		for name, headers := range refused {
			t.Run(name+path, func(t *testing.T) {
				for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
					r := p.ask(method, path, "", append(headers, cookie)...)
					if r.StatusCode != 403 {
						t.Errorf("%s: status %d: %s", method, r.StatusCode, r.body)
					}
					noCORS(t, r)
				}
			})
		}
		t.Run("link on another site"+path, func(t *testing.T) {
			r := p.ask("GET", path, "", cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
			want := 403
			if route.Kind == Document {
				want = 200
			}
			if r.StatusCode != want {
				t.Errorf("%s: status %d, want %d", route.Kind, r.StatusCode, want)
			}
		})
	}
	p.ran.take()
	for name, headers := range map[string][]string{
		"own page":    {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"},
		"own origin":  {"Origin: " + p.base},
		"address bar": {"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		"a program":   nil,
	} {
		if r := p.ask("GET", "/api/v1/chats", "", append(headers, cookie)...); r.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
		}
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	p := open(t, nil)
	token := "Authorization: Bearer " + p.token("owner")
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	}
	ids := map[string]bool{}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"GET", "/login", 200}, {"GET", "/nowhere", 404}, {"GET", "/api/v1/nowhere", 404}, {"GET", "/healthz", 200},
		{"PUT", "/api/v1/chats", 405}, {"GET", "/static/x.css", 200}, {"POST", "/api/v1/chats", 415}, {"GET", "/" + strings.Repeat("x", maxURL), 413},
	} {
		r := p.ask(c.method, c.path, "", token, "Request-Id: forged")
		if r.StatusCode != c.status {
			t.Errorf("%s %.40s: %d, want %d: %s", c.method, c.path, r.StatusCode, c.status, r.body)
		}
		for name, value := range want {
			if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
				t.Errorf("%s %.40s: %s is %q", c.method, c.path, name, got)
			}
		}
		if r.Header.Get("Permissions-Policy") == "" {
			t.Errorf("%s %.40s: no Permissions-Policy", c.method, c.path)
		}
		id := r.Header.Get("Request-Id")
		if len(id) != 36 || id[14] != '7' || ids[id] {
			t.Errorf("request id %q", id)
		}
		ids[id] = true
	}
	if r := p.ask("PUT", "/api/v1/chats", "", token); r.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", r.Header.Get("Allow"))
	}
	if r := p.ask("GET", "/api/v1/chats", "", token, "X-Big: "+strings.Repeat("x", maxHeader)); r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("large header: %d", r.StatusCode)
	}
}
