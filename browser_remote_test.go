//go:build browser

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// TestBrowserRemoteWorkspace: a chat beside an agent looks like one on this machine: the command prints while it runs, the changes and the
// context come from there, and its going is said at once.
func TestBrowserRemoteWorkspace(t *testing.T) {
	t.Parallel()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest", Answer: func(in *scripted.Prompt) scripted.Reply {
		if in.User() == "Build it there." && len(in.Results()) == 0 {
			return callTool("execute", map[string]any{"command": "for i in 1 2 3; do echo step $i; done; echo x >> main.go; while [ ! -e go-on ]; do :; done; echo built", "timeout": "90s"})
		}
		return scripted.Text("It is built on the other machine.")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: running.URL})
	dir := repository(t)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("# Build with care\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", dir, "add", "AGENTS.md").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	token, command, workspace := a.enrolment("build machine")
	far := startFar(t, t.TempDir(), dir, token, nil, command)
	a.agentIs("online")
	p := browse(t, a)
	p.open(a.url + "/chats/" + a.chatIn(workspace, "Build it there."))
	p.shows("body", "step 3")
	p.shows("#repos", "main.go")
	p.picture("remote-1-runs")
	if err := os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.rests()
	p.shows("#repos", "go-on")
	at := a.url + "/workspaces/" + workspace + "/context"
	p.open(at)
	p.shows("#context", "Build with care")
	p.picture("remote-2-context")
	p.open(a.url + "/agents")
	p.shows("#agents", "online")
	p.picture("remote-3-agents")
	p.open(a.url + "/workspaces")
	far.stop(t)
	p.shows("main", "offline")
	p.picture("remote-4-offline")
	p.quiet()
}
