package link

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"holdfast/agentside"
	"holdfast/engine/chat"
)

// TestCase53ABodyThatBreaksOff: the old file stays whole, a new one is not made, and no temporary file is left; what follows is written.
func TestCase53ABodyThatBreaksOff(t *testing.T) {
	state, dir := realDir(t), realDir(t)
	places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "chats")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := places.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("all of it"), 0o644); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(NewAPI(ws, "b1"))
	defer srv.Close()
	for _, name := range []string{"old", "new", "deep/new"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /api/v0/files/raw?path=%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly so much", name)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		// Whatever is answered, the request is over then.
		answer, err := io.ReadAll(conn)
		if err != nil || len(answer) > 0 && string(answer[9:10]) == "2" {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		conn.Close()
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "old")); err != nil || string(text) != "all of it" || fmt.Sprint(left) != "[old]" {
		t.Errorf("%q, %v, left %v", text, err, left)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ws.Files().Write(t.Context(), chat.WriteRequest{Path: "old", Content: []byte("another")}); err != nil {
		t.Error(err)
	}
}
