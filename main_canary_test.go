package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/openai/scripted"
)

// canaryField puts a secret into one field of the product, through its front door.
type canaryField struct {
	name string
	put  func(t *testing.T, a *appliance, server, secret string)
}

// canaryFields are all fields that take a secret. A new one is added here.
var canaryFields = []canaryField{
	{"model api_key", func(t *testing.T, a *appliance, server, secret string) {
		a.must("POST", "/api/v1/models", map[string]any{"provider": "openai_compatible", "base_url": server, "api_key": secret, "model": "big"}, nil)
	}},
	{"model api_key, changed", func(t *testing.T, a *appliance, server, secret string) {
		var list struct {
			Models []struct {
				ID string `json:"id"`
			} `json:"models"`
		}
		a.must("GET", "/api/v1/models", nil, &list)
		a.must("PATCH", "/api/v1/models/"+list.Models[0].ID, map[string]any{"api_key": secret}, nil)
	}},
	{"user password", func(t *testing.T, a *appliance, _, secret string) {
		a.must("POST", "/api/v1/users", map[string]any{"name": "Jonas", "password": secret}, nil)
	}},
	{"a password that is refused", func(t *testing.T, a *appliance, _, secret string) {
		if status, raw := a.raw("POST", "/api/v1/users", map[string]any{"name": "Jonas", "password": secret}); status != 400 || strings.Contains(string(raw), secret) {
			t.Errorf("%d %s", status, raw)
		}
	}},
	{"a key in a field of another name", func(t *testing.T, a *appliance, server, secret string) {
		if status, raw := a.raw("POST", "/api/v1/models", map[string]any{"provider": "openai_compatible", "base_url": server, "api_key": secret, "model": "big", "colour": 1}); status != 400 || strings.Contains(string(raw), secret) {
			t.Errorf("%d %s", status, raw)
		}
	}},
	{"MCP server api_key_value", func(t *testing.T, a *appliance, server, secret string) {
		mcpServer(a, server, "keyed", map[string]any{"auth_type": "api_key", "api_key_value": secret})
	}},
	{"MCP server custom_headers", func(t *testing.T, a *appliance, server, secret string) {
		mcpServer(a, server, "headed", map[string]any{"auth_type": "custom_headers", "custom_headers": map[string]string{"X-Key": secret}})
	}},
	{"MCP server oauth2_client_secret", func(t *testing.T, a *appliance, server, secret string) {
		mcpServer(a, server, "oauth", map[string]any{"auth_type": "oauth2", "oauth2_client_id": "holdfast", "oauth2_client_secret": secret,
			"oauth2_auth_url": server + "/authorize", "oauth2_token_url": server + "/token"})
	}},
}

// mcpServer adds a server that each Chat has. The address is no MCP server, so each Turn says so, and must not say the secret.
func mcpServer(a *appliance, server, slug string, fields map[string]any) {
	for name, value := range map[string]any{"slug": slug, "url": server, "enabled": true, "availability": "force_on"} {
		fields[name] = value
	}
	a.must("POST", "/api/v1/mcp/servers", fields, nil)
}

// Test39 puts a canary into every secret field, lets a server say a key back and a tool read it, and looks everywhere.
func Test39NoCanaryIsFoundAnywhere(t *testing.T) {
	var canaries []string
	for i := range canaryFields {
		canaries = append(canaries, "sk-canary-"+strings.Repeat(string(rune('a'+i)), 24))
	}
	// The key in use is that of the second field.
	key := canaries[1]
	server := httptest.NewServer(scripted.New(scripted.Options{Models: []string{"big"}, Fields: `"max_model_len":16384`,
		Answer: scripted.InTurn(scripted.Calls(scripted.Call{ID: "c1", Name: "read_file", Args: `{"path":"note.txt"}`}), scripted.Text("It is a note."), scripted.Reply{Status: 401, Body: `{"error":"no access with ` + key + `"}`})}))
	defer server.Close()
	a := serveNow(t, launch{args: []string{"--log-level", "debug"}})
	for i, f := range canaryFields {
		f.put(t, a, server.URL, canaries[i])
	}
	var made struct {
		ID string `json:"id"`
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("the key is "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var space struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/workspaces", map[string]any{"kind": "local", "directory": dir, "trusted": true}, &space)
	text := []map[string]string{{"type": "text", "text": "hello"}}
	a.must("POST", "/api/v1/chats", map[string]any{"content": text, "title": "a chat", "workspace_id": space.ID}, &made)
	chat := "/api/v1/chats/" + made.ID
	atRest := func(state string) {
		t.Helper()
		eventually(t, 20*time.Second, state, func() bool {
			_, raw := a.raw("GET", chat, nil)
			return strings.Contains(string(raw), `"status":"`+state+`"`)
		})
	}
	atRest("waiting")
	if _, raw := a.raw("GET", chat+"/messages", nil); !strings.Contains(string(raw), "the key is ***") {
		t.Errorf("the tool did not read the note, or the key was not taken out: %s", raw)
	}
	a.must("POST", chat+"/messages", map[string]any{"content": text}, nil)
	atRest("error")
	a.must("POST", "/api/v1/system/secrets/rotate", nil, nil)

	none := func(where string, what []byte) {
		t.Helper()
		for _, c := range canaries {
			if bytes.Contains(what, []byte(c)) {
				t.Errorf("a canary is in %s", where)
			}
		}
	}
	for _, path := range []string{"/api/v1/models", "/api/v1/system", "/api/v1/audit", "/api/v1/users", chat + "/export?format=json", chat + "/export?format=markdown",
		chat + "/debug/runs", "/api/v1/nothing", "/models", "/audit", "/system", "/metrics"} {
		status, raw := a.raw("GET", path, nil)
		if status != 200 && path != "/api/v1/nothing" {
			t.Errorf("%s: %d", path, status)
		}
		none(path, raw)
	}
	dieWithStacks(t, a)
	none("the log", []byte(a.log.String()))
	a2 := serveNow(t, launch{data: a.data, args: []string{"--log-level", "debug"}})
	a2.stop()
	none("the log of the second start", []byte(a2.log.String()))
	seen := 0
	err := filepath.WalkDir(a.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		seen++
		none(path, b)
		return err
	})
	if err != nil || seen < 4 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// dieWithStacks ends it as a panic does: the stacks of all goroutines go to the log.
func dieWithStacks(t *testing.T, a *appliance) {
	t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	if !strings.Contains(a.log.String(), "goroutine ") {
		t.Error("there are no stacks in the log")
	}
}
