package link

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside"
	"holdfast/engine/chat"
)

// TestRoutes holds the answers of processes and files against their tables (sections 10 and 11, cases 45, 53 and 56 over HTTP): status,
// tags, and that nothing unknown is taken.
func TestRoutes(t *testing.T) {
	state := realDir(t)
	places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "chats")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := places.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: realDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(NewAPI(ws, "b1"))
	defer srv.Close()
	tag := func(text string) string { return fmt.Sprintf("\"%x\"", sha256.Sum256([]byte(text))) }
	for _, c := range []struct {
		method, path, body string
		header             string
		status             int
		has                string
		tag                string
	}{
		{"PUT", "/files/raw?path=a/b.txt", "one", "", 201, `"etag"`, tag("one")},
		{"PUT", "/files/raw?path=a/b.txt", "two", "If-Match: " + tag("one"), 200, `"etag"`, tag("two")},
		{"PUT", "/files/raw?path=a/b.txt", "three", "If-Match: " + tag("one"), 412, `"kind"`, ""},
		{"PUT", "/files/raw?path=../x", "x", "", 403, "outside_workspace", ""},
		{"PUT", "/files/raw?path=c&mode=777", "x", "", 400, "mode", ""},
		{"GET", "/files/raw?path=a/b.txt&offset=1", "", "", 200, "wo", tag("two")},
		{"GET", "/files/raw?path=a/b.txt&offset=9", "", "", 200, "", tag("two")},
		{"GET", "/files/raw?path=a/b.txt&offset=-1", "", "", 400, "offset", ""},
		{"GET", "/files/raw?path=none", "", "", 404, "not_found", ""},
		{"GET", "/files/raw?path=a", "", "", 400, "is_directory", ""},
		{"GET", "/files/lines?path=a/b.txt&offset=9", "", "", 400, "9", ""},
		{"GET", "/files/lines?path=a/b.txt&depth=1", "", "", 400, "depth", ""},
		{"POST", "/files/list?limit=1", `{"kind":"list","path":"."}`, "", 400, "limit", ""},
		{"POST", "/files/search", `{"kind":"grep","pattern":"("}`, "", 400, "", ""},
		{"POST", "/files/edit?dry_run=true", `{"files":[]}`, "", 400, "dry_run", ""},
		{"POST", "/processes/start?background=true", `{"id":"p","command":"true"}`, "", 400, "background", ""},
		{"POST", "/processes/start", `{"id":"p","command":""}`, "", 400, "", ""},
		{"POST", "/processes/start", `{"id":"p","command":"true","workdir":"/none"}`, "", 400, "", ""},
		{"POST", "/processes/start", `{"id":"p1","command":"sleep 0.2; echo done"}`, "", 200, `"id":"p1"`, ""},
		// An empty time and none are the longest wait: the process ends before.
		{"GET", "/processes/p1/output?wait_ms=", "", "", 200, `"exit_code":0`, ""},
		{"POST", "/processes/start", `{"id":"p2","command":"sleep 0.2; echo done"}`, "", 200, `"id":"p2"`, ""},
		{"GET", "/processes/p2/output?wait_ms=0", "", "", 200, `"exit_code":0`, ""},
		{"GET", "/processes/p2/output?wait_ms=99999999999999999", "", "", 200, `"exit_code":0`, ""},
		{"GET", "/processes/p2/output?wait_ms=-1", "", "", 400, "wait_ms", ""},
		{"GET", "/processes/p2/output?wait_ms=soon", "", "", 400, "wait_ms", ""},
		{"GET", "/processes/none/output", "", "", 404, "", ""},
		{"POST", "/processes/p2/signal", `{"signal":"hop"}`, "", 400, "", ""},
		{"POST", "/processes/p2/signal", `{"signal":"kill"}`, "", 409, "", ""},
		{"GET", "/processes/list?all=true", "", "", 400, "all", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL+"/api/v0"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			req.Header.Set(name, value)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(text), c.has) || res.Header.Get("ETag") != c.tag {
			t.Errorf("%s %s: %d, tag %s, %q, %v; want %d, %s and %q", c.method, c.path, res.StatusCode, res.Header.Get("ETag"), text, err, c.status, c.tag, c.has)
		}
		if c.status == 200 && strings.HasPrefix(c.path, "/files/raw") && c.method == "GET" && res.ContentLength != int64(len(text)) {
			t.Errorf("%s: the length was not told", c.path)
		}
	}
}
