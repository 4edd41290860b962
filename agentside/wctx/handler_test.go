package wctx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

type rig struct {
	*httptest.Server
	m   *Manager
	dir string
	log *bytes.Buffer
}

func serving(t *testing.T, files map[string]string) *rig {
	t.Helper()
	r := &rig{dir: tree(t, files), log: &bytes.Buffer{}}
	r.m = New(Options{Dir: r.dir, Key: []byte("key"), Keep: r.dir + "/state/sources.json", Log: slog.New(slog.NewTextHandler(r.log, nil))})
	r.Server = httptest.NewServer(Handler(r.m, slog.New(slog.NewTextHandler(r.log, nil))))
	t.Cleanup(func() { r.Close(); r.m.Close() })
	return r
}

// ask gives status, body and header of one request.
func (r *rig) ask(t *testing.T, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+"/api/v0/context"+path, strings.NewReader(body))
	check(t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.Client().Do(req)
	check(t, err)
	b, err := io.ReadAll(res.Body)
	check(t, err)
	check(t, res.Body.Close())
	return res.StatusCode, string(b), res.Header
}

func TestCase34SourcesOverHTTP(t *testing.T) {
	r := serving(t, map[string]string{"x/": ""})
	want := func(method, path, body string, status int, says string) {
		t.Helper()
		got, text, _ := r.ask(t, method, path, body)
		if got != status || !strings.Contains(text, says) {
			t.Errorf("%s %s: %d %q, want %d %q", method, path, got, text, status, says)
		}
	}
	want("GET", "/sources", "", 200, "[]\n")
	added := fmt.Sprintf(`{"path":%q}`, r.dir+"/x")
	want("POST", "/sources", added, 201, added)
	want("POST", "/sources", fmt.Sprintf(`{"path":%q}`, r.dir+"/./x/"), 201, added)
	want("GET", "/sources", "", 200, "["+added+"]")
	encoded := "/sources/" + url.PathEscape(r.dir+"/x")
	want("GET", encoded, "", 200, added)
	want("GET", "/sources/"+url.PathEscape(r.dir+"/y/../x"), "", 200, added)
	want("GET", "/sources?path="+url.QueryEscape(r.dir+"/x"), "", 200, added)
	want("DELETE", encoded, "", 204, "")
	want("DELETE", encoded, "", 404, `{"message":"There is no such source."}`)
	want("GET", encoded, "", 404, "no such source")
	want("GET", "/sources/relative", "", 404, "no such source")
	want("DELETE", "/sources", "", 400, "percent-encoded")
	want("DELETE", "/sources?path=%zz", "", 400, "percent-encoded")
	want("GET", "/sources?path=%zz", "", 400, "percent-encoded")
	want("GET", "/sources?path=", "", 400, "percent-encoded")
	want("POST", "/sources", added, 201, added)
	want("DELETE", "/sources?path="+url.QueryEscape(r.dir+"/x"), "", 204, "")
	want("PUT", "/sources", "", 405, "does not take PUT")
	if _, _, header := r.ask(t, "PUT", "/sources", ""); header.Get("Allow") != "DELETE, GET, POST" {
		t.Errorf("Allow: %q", header.Get("Allow"))
	}
	want("GET", "/resync", "", 405, "does not take GET")
	want("GET", "/nothing", "", 404, `{"message"`)
	// The address itself is refused before the handler.
	conn, err := net.Dial("tcp", r.Listener.Addr().String())
	check(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /api/v0/context/sources/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	check(t, err)
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 400" {
		t.Errorf("%q, %v", head, err)
	}
}

func TestCase35RefusedSources(t *testing.T) {
	r := serving(t, nil)
	for body, status := range map[string]int{`{"path":"/usr"}`: 400, `{`: 400, `{"path":"/x","y":1}`: 400, `{"path":""}`: 400, `{"path":"x"}`: 400, `{"path":1}`: 400, ``: 400, `null`: 400,
		`{"path":"/x"}{}`: 400, `{"path":"` + strings.Repeat("x", 70_000) + `"}`: 413} {
		got, text, _ := r.ask(t, "POST", "/sources", body)
		if got != status || !strings.HasPrefix(text, `{"message":"`) {
			t.Errorf("%.40s: %d %s", body, got, text)
		}
	}
	if _, text, _ := r.ask(t, "POST", "/sources", `{"path":"/usr"}`); !strings.Contains(text, `"validations":[{"field":"path"`) {
		t.Error(text)
	}
	if got, _, _ := r.ask(t, "POST", "/sources", `{}`, "Content-Type", "text/plain"); got != 415 {
		t.Error(got)
	}
	for i := range 64 {
		if got, text, _ := r.ask(t, "POST", "/sources", fmt.Sprintf(`{"path":"%s/s%d"}`, r.dir, i)); got != 201 {
			t.Fatal(got, text)
		}
	}
	if got, text, _ := r.ask(t, "POST", "/sources", fmt.Sprintf(`{"path":"%s/one-more"}`, r.dir)); got != 409 || !strings.Contains(text, "at most 64") {
		t.Error(got, text)
	}
}

func TestCase36SnapshotOverHTTP(t *testing.T) {
	r := serving(t, map[string]string{"AGENTS.md": "PAYLOAD", ".mcp.json": `{"mcpServers":{"a":{"env":{"T":"hunter2"}}}}`})
	got, text, _ := r.ask(t, "POST", "/resync", "")
	if got != 200 || !strings.Contains(text, `"version":0,"ready":false`) || !strings.Contains(text, `"resources":[]`) {
		t.Error(got, text)
	}
	r.m.SetReady()
	got, text, _ = r.ask(t, "POST", "/resync", "")
	if got != 200 || !strings.Contains(text, `"version":1,"ready":true,"mcp_settled":true,"aggregate_hash":"`) || !strings.Contains(text, `"content_hash":"`) {
		t.Error(got, text)
	}
	got, again, header := r.ask(t, "GET", "/snapshot", "")
	if tag := header.Get("ETag"); got != 200 || again != text || tag != `"`+r.m.Snapshot().FullHash.String()+`"` {
		t.Error(got, tag, again)
	}
	if got, body, _ := r.ask(t, "GET", "/snapshot", "", "If-None-Match", header.Get("ETag")); got != 304 || body != "" {
		t.Error(got, body)
	}
	if strings.Contains(text, "UEFZTE9BRA") || strings.Contains(text, `"payload"`) || strings.Contains(text+r.log.String(), "hunter2") {
		t.Errorf("%s\n%s", text, r.log)
	}
	// A client that has gone is noted as one.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	recorder := httptest.NewRecorder()
	r.Config.Handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, "POST", "/api/v0/context/resync", nil))
	if recorder.Code != 504 {
		t.Error(recorder.Code, recorder.Body)
	}
	r.m.Close()
	if got, _, _ := r.ask(t, "POST", "/resync", ""); got != 503 {
		t.Error(got)
	}
	if got, _, _ := r.ask(t, "POST", "/sources", fmt.Sprintf(`{"path":%q}`, r.dir)); got != 503 {
		t.Error(got)
	}
}

func TestCase18And32ToolsOverHTTP(t *testing.T) {
	m := New(Options{Servers: Servers{List: func() ([]chat.Resource, bool) {
		return []chat.Resource{{Kind: chat.ResourceMCPServer, Source: "files", Status: chat.ResourceOK, Tools: []chat.ResourceTool{{Name: "read", Description: "Read", InputSchema: []byte(`{"secret":1}`)}}}}, true
	}}})
	m.SetReady()
	defer m.Close()
	w := httptest.NewRecorder()
	Handler(m, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("POST", "/api/v0/context/resync", nil))
	if text := w.Body.String(); !strings.Contains(text, `"tools":[{"name":"read","description":"Read"}]`) || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestLoopback(t *testing.T) {
	h := Loopback("right", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	for _, c := range []struct {
		host, authorization, origin string
		want                        int
	}{
		{"127.0.0.1:80", "Bearer right", "", 204}, {"localhost", "Bearer right", "", 204}, {"[::1]:80", "Bearer right", "", 204},
		{"127.0.0.1", "", "", 401}, {"127.0.0.1", "Bearer wrong", "", 401}, {"127.0.0.1", "right", "", 401}, {"127.0.0.1", "Bearer ", "", 401},
		{"evil.example", "Bearer right", "", 403}, {"127.0.0.1.evil.example:80", "Bearer right", "", 403}, {"127.0.0.1", "Bearer right", "http://127.0.0.1", 403}, {"localhost", "Bearer right", "null", 403},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		r.Header.Set("Authorization", c.authorization)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer ")
	Loopback("", h).ServeHTTP(w, r)
	if w.Code != 401 {
		t.Error("an empty token lets in")
	}
}
