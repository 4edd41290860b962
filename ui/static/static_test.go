package static

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, a *Assets, method, url string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return w
}

func TestAssets(t *testing.T) {
	a, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	url := a.URL("app.css")
	if !regexp.MustCompile(`^/static/app\.[0-9a-f]{12}\.css$`).MatchString(url) {
		t.Fatalf("address %s", url)
	}
	tests := []struct {
		method, url  string
		status       int
		typ, caching string
	}{
		{"GET", url, 200, "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"HEAD", url, 200, "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"GET", a.URL("app.js"), 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"GET", "/static/app.css", 200, "text/css; charset=utf-8", "no-cache"},
		{"GET", "/static/app.000000000000.css", 404, "", ""},
		{"GET", "/static/nothing.css", 404, "", ""},
		{"GET", "/static/../static.go", 404, "", ""},
		{"GET", "/static/vendor/", 404, "", ""},
		{"GET", "/static/", 404, "", ""},
		{"POST", url, 405, "", ""},
	}
	for _, tt := range tests {
		w := get(t, a, tt.method, tt.url)
		if w.Code != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.url, w.Code, tt.status)
		}
		if tt.status == 200 && (w.Header().Get("Content-Type") != tt.typ || w.Header().Get("Cache-Control") != tt.caching || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %s: headers %v", tt.method, tt.url, w.Header())
		}
	}
	if body := get(t, a, "GET", url).Body.String(); body != read(t, "app.css") {
		t.Error("the body is not the file")
	}
	if w := get(t, a, "HEAD", url); w.Body.Len() != 0 {
		t.Error("HEAD has a body")
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "app.css"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a{}")
	a, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := a.URL("app.css")
	write("b{}")
	if a.URL("app.css") == first {
		t.Error("a changed file keeps its address")
	}
	if w := get(t, a, "GET", first); w.Code != http.StatusOK || w.Body.String() != "b{}" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("a live file: %d %q %v", w.Code, w.Body, w.Header())
	}
	if missing := strings.Join(a.Missing(), " "); missing != "tokens.css app.js queue.js attach.js notices.js notices-worker.js push.js push-worker.js icons.svg vendor/datastar.js" {
		t.Errorf("missing: %s", missing)
	}
	if _, err := New(filepath.Join(dir, "app.css")); err == nil {
		t.Error("a file was taken for a directory")
	}
}
