package link

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/engine/chat"
)

// TestAWaitOutlivesTheServersWriteTimeout is case 49: the server would cut an answer long before the process ends, and the wait is one
// answer all the same; and a start hands its environment on.
func TestAWaitOutlivesTheServersWriteTimeout(t *testing.T) {
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
	srv := httptest.NewUnstartedServer(NewAPI(ws, "b1"))
	srv.Config.WriteTimeout = 50 * time.Millisecond
	srv.Start()
	defer srv.Close()
	ask := func(method, path, body string, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/api/v0/processes"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(headerChat, "c1")
		req.Header.Set("Content-Type", "application/json")
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, res.Status, err)
		}
	}
	// A start may be cut by such a short time, and the same id makes its repetition the same start; a wait must not be.
	req := startShape{ID: "p1", Command: "sleep 1; echo $GREETING", Env: map[string]string{"GREETING": "hello"}}
	if _, err := ws.Processes().Start(t.Context(), func() chat.ProcessStart { s := req.start(); s.ChatID = "c1"; return s }()); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Output   string `json:"output"`
		Running  bool   `json:"running"`
		ExitCode *int   `json:"exit_code"`
	}
	ask("GET", "/p1/output?wait=true", "", &out)
	if out.Running || out.ExitCode == nil || *out.ExitCode != 0 || out.Output != "hello\n" {
		t.Errorf("%+v", out)
	}
}
