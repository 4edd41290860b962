package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// executes is a model that runs what its user Message says.
func executes(p *scripted.Prompt) scripted.Reply {
	if p.Messages[len(p.Messages)-1].Role != "user" {
		return scripted.Text("done")
	}
	args, err := json.Marshal(map[string]string{"command": p.User(), "timeout": "60s"})
	if err != nil {
		return scripted.Text(err.Error())
	}
	return scripted.Calls(scripted.Call{Name: "execute", Args: args})
}

// executing is an appliance whose model runs commands, started by wrap unless that is nil.
func executing(t *testing.T, wrap []string) (*appliance, *client.Client) {
	t.Helper()
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "runner", Answer: executes, Capabilities: []string{"completion", "tools"}}}}))
	t.Cleanup(models.Close)
	a := serveNow(t, launch{ollama: models.URL, wrap: wrap})
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	off := false
	if err := c.UpdateChatClassifierConfig(t.Context(), client.ClassifierUpdate{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	return a, c
}

// ran has a new Chat run a command. level is that of the card, "" where none was asked.
func ran(t *testing.T, c *client.Client, space chat.WorkspaceID, command string) (out ranOutput, level chat.SandboxLevel) {
	t.Helper()
	made, err := c.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: space, Content: client.Text(command)})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	held := apitest.Until(t, c, made.ID, func(h *client.Transcript) bool {
		for _, open := range h.Open {
			if open.Asked != nil && open.Asked.Sandbox != nil {
				level = open.Asked.Sandbox.Level
			}
		}
		allow(t, c, made.ID, h, asked)
		return h.Status.Status.AtRest()
	})
	for _, m := range held.Messages {
		for _, p := range m.Content {
			if p.Type == chat.PartToolResult {
				if err := json.Unmarshal(p.Result, &out); err != nil {
					t.Fatalf("%s: %v", p.Result, err)
				}
			}
		}
	}
	return out, level
}

// ranOutput is the Result of execute.
type ranOutput struct {
	Success bool         `json:"success"`
	Output  string       `json:"output"`
	Sandbox chat.Sandbox `json:"sandbox"`
}

// getsOut tries from inside of a Workspace what nobody allowed: each line that succeeds says OUT.
const getsOut = `#!/bin/bash
echo begun; echo inside > made && echo wrote
cat "$1/secret.key" >/dev/null 2>&1 && echo OUT key
cat "$1/holdfast.db" >/dev/null 2>&1 && echo OUT store
ls "$1" 2>/dev/null | grep -q . && echo OUT data
cat "$2/secret" 2>/dev/null && echo OUT secret
ln -s "$2/secret" link; cat link 2>/dev/null && echo OUT link
ln "$2/secret" hard 2>/dev/null && echo OUT hard
mv "$2/secret" moved 2>/dev/null && echo OUT moved
echo x >> "$2/secret" 2>/dev/null && echo OUT changed
(exec 3<>"/dev/tcp/127.0.0.1/$3") 2>/dev/null && echo OUT tcp
(echo x > "/dev/udp/$5/$3") 2>/dev/null
(exec 3<>"/dev/tcp/$5/$3") 2>/dev/null && echo OUT address
command -v curl >/dev/null && curl -s -m 5 "http://127.0.0.1:$3/" && echo OUT curl
command -v curl >/dev/null && curl -s -m 5 --unix-socket "$4" http://x/ && echo OUT socket
cat "/proc/$6/environ" >/dev/null 2>&1 && echo OUT environ
ls "/proc/$6/root/" >/dev/null 2>&1 && echo OUT root
ls "/proc/$6/fd/" 2>/dev/null | grep -q . && echo OUT fd
kill -0 "$6" 2>/dev/null && echo OUT signal
echo x > /proc/sys/kernel/core_pattern 2>/dev/null && echo OUT core
[ -z "$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS$XDG_RUNTIME_DIR" ] || echo OUT environment
echo end
`

// TestCase34InTheSandbox: case 34, second half. In a folder that nobody trusts a command runs unasked where the sandbox is full, and reaches neither
// the appliance's data nor a file outside, a server, a socket or a process; below that it asks, and card and Result say the level.
func TestCase34InTheSandbox(t *testing.T) {
	for _, name := range []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "s"))
	}
	a, c := executing(t, nil)
	dir := t.TempDir()
	outside, err := os.MkdirTemp("", "holdfast-case34")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	for name, text := range map[string]string{filepath.Join(outside, "secret"): "nobody may read this\n", filepath.Join(dir, "out.sh"): getsOut} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var hits atomic.Int64
	hit := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	web := httptest.NewServer(hit)
	t.Cleanup(web.Close)
	socket := filepath.Join(outside, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	quiet := &http.Server{Handler: hit}
	go func() { _ = quiet.Serve(l) }()
	t.Cleanup(func() { _ = quiet.Close() })
	_, port := ledgerHost(t, web.URL)
	w, err := c.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "untrusted", Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	got, level := ran(t, c, w.ID, fmt.Sprintf("bash out.sh %s %s %d %s %s %d", a.data, outside, port, socket, "192.0.2.1", a.cmd.Process.Pid))
	if full := got.Sandbox.Level == chat.SandboxFull; full != (level == "") || !full && level != got.Sandbox.Level {
		t.Errorf("the card says level %q, the result %+v", level, got.Sandbox)
	}
	if got.Sandbox.Level == chat.SandboxNone {
		t.Fatalf("nothing confines commands on this machine: %+v", got.Sandbox)
	}
	if !strings.Contains(got.Output, "begun\nwrote\n") || !strings.Contains(got.Output, "end") || strings.Contains(got.Output, "OUT") || strings.Contains(got.Output, "nobody may read") {
		t.Errorf("%s", got.Output)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(text) != "nobody may read this\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(text) != "inside\n" {
		t.Errorf("%q, %v", text, err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests got out", n)
	}
	if got, _ := ran(t, c, w.ID, "echo still here"); !got.Success || !strings.Contains(got.Output, "still here") {
		t.Errorf("%+v", got)
	}
}
