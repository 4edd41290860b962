package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

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

// Test39 puts a canary into every secret field, lets a server say a key back and a tool read it, and looks at everything that leaves the
// process: each route for an admin and a member, streams, pages, exports, commands, prompts, webhooks, the log, the bundle, the files.
func Test39NoCanaryIsFoundAnywhere(t *testing.T) {
	secrets := map[string]string{"the environment": "env-canary+" + strings.Repeat("e", 20), ".mcp.json": "mcp-canary/" + strings.Repeat("m", 20)}
	for i, f := range canaryFields {
		secrets[f.name] = "sk-canary-" + strings.Repeat(string(rune('a'+i)), 24)
	}
	look := &lookout{t: t}
	key := secrets["model api_key, changed"]
	model := scripted.New(scripted.Options{Models: []string{"big"}, Fields: `"max_model_len":16384`,
		Answer: scripted.InTurn(scripted.Calls(scripted.Call{ID: "c1", Name: "read_file", Args: `{"path":"note.txt"}`}), scripted.Text("It is a note."), scripted.Reply{Status: 401, Body: `{"error":"no access with ` + key + `"}`})})
	hooked := make(chan struct{}, 64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		// The body alone: the header is where the server is to have its key.
		look.keep("what was sent to "+r.URL.Path, body)
		if r.URL.Path == "/hook" {
			hooked <- struct{}{}
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	defer server.Close()
	push, authority := newCanaryPush(t, look, secrets), newCanaryAuthority(t, secrets)
	a := serveNow(t, launch{args: []string{"--log-level", "debug", "--agents-listen", "127.0.0.1:0"}, wrap: []string{"env", "SSL_CERT_FILE=" + push.roots, "AWS_SECRET_ACCESS_KEY=" + secrets["the environment"]}})
	secrets["cli.token"] = a.token
	_, secrets["the printed login code"], _ = strings.Cut(a.link, "code=")
	for _, f := range canaryFields {
		f.put(t, a, server.URL, secrets[f.name])
	}
	member := a.shownOnce(secrets, server.URL)
	a.signIn(authority)
	push.subscribe(a, secrets)
	a.canaryAgent(t, look, secrets)
	ids := a.canaryChat(t, look, secrets, key)
	<-hooked
	<-push.pushed
	<-push.pushed
	a.must("POST", "/api/v1/system/secrets/rotate", nil, nil)

	for who, token := range map[string]string{"the owner": a.token, "a member": member} {
		look.everyRoute(a, who, token, ids)
		chat := "/chats/" + ids["/chats"]
		if n := look.everyPage(a, who, token, chat, "/system/doctor", "/system/outbound", chat+"/runs", chat+"/context"); n < 15 {
			t.Errorf("%s saw %d pages", who, n)
		}
		look.whole(a, who, token, "GET", "/metrics", nil)
	}
	for _, stream := range []string{"/chats/" + ids["/chats"] + "/stream", "/api/v1/chats/" + ids["/chats"] + "/stream", "/notices/stream"} {
		look.whole(a, "the owner", a.token, "GET", stream, nil)
	}
	look.whole(a, "the owner", a.token, "GET", "/usage/export", nil)
	for _, format := range []string{"json", "markdown"} {
		look.whole(a, "the owner", a.token, "GET", "/api/v1/chats/"+ids["/chats"]+"/export?format="+format, nil)
	}
	dir := t.TempDir()
	look.commands(a, "doctor", "doctor --json --deep", "export config", "export "+ids["/chats"], "export --all "+filepath.Join(dir, "all"), "token list", "user list", "chat --json --chat "+ids["/chats"]+" again",
		"doctor --bundle "+filepath.Join(dir, "bundle.zip")+" --include-chat "+ids["/chats"], "version --json", "help")
	for name, text := range readBundle(t, filepath.Join(dir, "bundle.zip")) {
		look.keep(name+" of the bundle", []byte(text))
	}
	secrets["a refused field"] = "sk-canary-refused-" + strings.Repeat("z", 12)
	look.refused(a, secrets["a refused field"], ids)
	dieWithStacks(t, a)
	a2 := serveNow(t, launch{data: a.data, args: []string{"--log-level", "debug"}})
	a2.stop()
	look.keep("the log", []byte(a.log.String()+a2.log.String()))
	look.folder(filepath.Join(dir, "all"))
	for name, text := range sealed(t, a.data) {
		secrets[name] = text
	}
	maps.Copy(secrets, keysOf(t, a.data))
	look.folder(a.data, "secret.key", "cli.token", "agents.key", "agents-ca.key")
	look.seesEverything(ids["/chats"], filepath.Join(dir, "all"), a.data)
	look.judge(secrets)
}

// seesEverything holds that what was looked at was there: the pages, streams, exports, commands and files of the chat, and what was sent.
func (l *lookout) seesEverything(chat, exported, data string) {
	l.t.Helper()
	l.sees("It is a note.", "the answer 200 to GET /chats/"+chat+" for the owner", "the answer 200 to GET /api/v1/chats/"+chat+"/messages for the owner", "the answer 200 to GET /chats/"+chat+"/stream",
		"the answer 200 to GET /api/v1/chats/"+chat+"/stream", "the answer 200 to GET /api/v1/chats/"+chat+"/export?format=markdown", "what holdfast export "+chat, "chat/transcript.json of the bundle",
		exported, data, "what was sent to /v1/chat/completions")
	l.sees("the key is ***", "the answer 200 to GET /api/v1/chats/"+chat+"/export?format=json", "what holdfast export "+chat)
	l.sees("big", "the answer 200 to GET /usage/export")
	l.sees("a chat", "what was pushed to a browser", "what was sent to /hook", "the answer 200 to GET /notices/stream")
	l.sees("Enrolled as", "what the agent says")
	l.sees("request", "the log", "log.txt of the bundle")
	l.sees("holdfast_", "the answer 200 to GET /metrics", "metrics.txt of the bundle")
}

// shownOnce makes what is shown to its maker once, and gives the token of a member.
func (a *appliance) shownOnce(secrets map[string]string, server string) (member string) {
	a.t.Helper()
	var user struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/users", map[string]any{"name": "Mira", "password": "member-canary-" + strings.Repeat("p", 12)}, &user)
	secrets["the member's password"] = "member-canary-" + strings.Repeat("p", 12)
	var one struct{ Token, Secret, URL string }
	for name, ask := range map[string]struct {
		path string
		body map[string]any
	}{
		"an API token":         {"/api/v1/tokens", map[string]any{"name": "ci"}},
		"the member's token":   {"/api/v1/tokens", map[string]any{"name": "ci", "user_id": user.ID}},
		"an enrolment token":   {"/api/v1/agents/enrolments", map[string]any{"name": "far"}},
		"a login code":         {"/api/v1/logins", map[string]any{"lifetime_seconds": 600}},
		"the webhook's secret": {"/api/v1/notifications/subscriptions", map[string]any{"kind": "webhook", "url": server + "/hook"}},
	} {
		if strings.Contains(name, "webhook") {
			host, port, _ := strings.Cut(strings.TrimPrefix(server, "http://"), ":")
			n, err := strconv.Atoi(port)
			if err != nil {
				a.t.Fatal(err)
			}
			a.must("POST", "/api/v1/system/outbound/allowed", map[string]any{"host": host, "port": n, "local": true}, nil)
		}
		one.Token, one.Secret, one.URL = "", "", ""
		a.must("POST", ask.path, ask.body, &one)
		_, code, _ := strings.Cut(one.URL, "code=")
		if strings.Contains(name, "login") {
			one.Token = code
		}
		if secrets[name] = firstOf(one.Token, one.Secret); secrets[name] == "" {
			a.t.Fatalf("%s was not shown", name)
		}
	}
	return secrets["the member's token"]
}

// canaryChat has a chat in a folder with secrets: a tool reads a key, and the model's server says it back. It gives ids by their noun.
func (a *appliance) canaryChat(t *testing.T, look *lookout, secrets map[string]string, key string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"note.txt": "the key is " + key + "\n", ".mcp.json": `{"mcpServers":{"tide":{"command":"true","env":{"TIDE_TOKEN":"` + secrets[".mcp.json"] + `"}}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var space, made struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/workspaces", map[string]any{"kind": "local", "directory": dir, "trusted": true}, &space)
	text := []map[string]string{{"type": "text", "text": "hello"}}
	a.must("POST", "/api/v1/chats", map[string]any{"content": text, "title": "a chat", "workspace_id": space.ID}, &made)
	chat := "/api/v1/chats/" + made.ID
	atRest := func(state string) {
		t.Helper()
		eventually(t, startLimit, state, func() bool {
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
	ids := map[string]string{"/chats": made.ID, "/workspaces": space.ID}
	for noun, path := range map[string]string{"/models": "/api/v1/models", "/mcp/servers": "/api/v1/mcp/servers", "/users": "/api/v1/users"} {
		var list map[string]json.RawMessage
		var some []struct {
			ID string `json:"id"`
		}
		a.must("GET", path, nil, &list)
		if err := json.Unmarshal(list[filepath.Base(path)], &some); err != nil || len(some) == 0 {
			t.Fatalf("%s: %v of %s", path, err, list)
		}
		ids[noun] = some[0].ID
	}
	return ids
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
