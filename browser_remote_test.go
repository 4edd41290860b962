//go:build browser

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/agentside/link"
	"holdfast/agentside/server/servertest"
	"holdfast/engine/ollama/scripted"
)

// TestBrowserRemoteWorkspace: a chat beside an agent looks like one on this machine: the command prints while it runs, the changes and the
// context come from there, and its going is said at once.
func TestBrowserRemoteWorkspace(t *testing.T) {
	t.Parallel()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest", Answer: func(in *scripted.Prompt) scripted.Reply {
		if in.User() == "Build it there." && len(in.Results()) == 0 {
			return callTool("execute", map[string]any{"command": "while [ ! -e begin ]; do :; done; for i in 1 2 3; do echo step $i; done; echo x >> main.go; while [ ! -e go-on ]; do :; done; echo built", "timeout": "90s"})
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
	p.until(`document.querySelector('#log li.row-tool.is-run')`)
	if err := os.WriteFile(filepath.Join(dir, "begin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.shows("#log details.row-tool[open] .is-tail", "step 3")
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

// TestBrowserContextBesideAnAgent: the Context page of a workspace beside an agent follows by itself what is found there and the agent as it
// comes and goes, and keeps what somebody types meanwhile; MCP servers there wait for a yes, run, fail and change. The tab of a chat is the
// same.
func TestBrowserContextBesideAnAgent(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t)})
	token, command, workspace := a.enrolment("build machine")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := func(says string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "server.new"), servertest.Script(says, ""))
		if err := errors.Join(os.Chmod(filepath.Join(dir, "server.new"), 0o700), os.Rename(filepath.Join(dir, "server.new"), filepath.Join(dir, "server.sh"))); err != nil {
			t.Fatal(err)
		}
	}
	program("Greet.")
	writeFile(t, filepath.Join(dir, "AGENTS.md"), "# Build with care\n")
	writeFile(t, filepath.Join(dir, ".agents/skills/Make_Coffee/SKILL.md"), "---\nname: Make_Coffee\n---\n")
	writeFile(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers":{"script":{"command":"./server.sh","env":{"KEY":"a-value-nobody-is-shown"}},"broken":{"command":"false"}}}`)
	state := t.TempDir()
	far := startFar(t, state, dir, token, nil, command)
	a.agentIs("online")
	p := browse(t, a)
	p.open(a.url + "/workspaces/" + workspace + "/context")
	p.eval(`window.stayed=true`)
	p.shows("#context .table", "Build with care")
	p.shows("#context .table", "invalid")
	p.until(`document.querySelectorAll('.server').length===2`)
	p.shows(".server", "needs approval")
	p.lacks("main", "a-value-nobody-is-shown")
	p.both("context-agent-waits")
	p.press("#context", "Approve script")
	p.shows("#context", "2 tools")
	p.press("#context", "Approve broken")
	p.shows("#context", "it has closed the connection")
	p.both("context-agent-runs")
	p.fill("#context-source", "half a pa")
	writeFile(t, filepath.Join(dir, "AGENTS.md"), "# Build with more care\n")
	p.shows("#context .table", "Build with more care")
	if got := p.eval(`document.querySelector('#context-source').value`); got != "half a pa" {
		t.Errorf("what was typed became %q", got)
	}
	program("Greet!")
	p.press("#context", "Look again")
	p.shows("#context", "changed since you approved")
	p.both("context-agent-changed")
	far.stop(t)
	p.shows("#context .callout", "offline")
	p.shows("#context .callout", "What is listed is as of")
	p.lacks("#context", "Look again")
	p.both("context-agent-away")
	second := startFar(t, state, dir, "", nil, command)
	p.shows("#context", "Look again")
	p.shows("#context", "changed since you approved")
	if p.eval(`String(window.stayed)`) != "true" {
		t.Error("the page was loaded anew")
	}
	p.open(a.url + "/chats/" + a.chatIn(workspace, "hello"))
	p.rests()
	p.click("#tab-context")
	p.shows("#context", "Build with more care")
	p.shows("#context", "needs approval")
	writeFile(t, filepath.Join(dir, "AGENTS.md"), "# Build slowly\n")
	p.shows("#context-mark", "Context changed")
	p.shows("#context .callout", "Changed: AGENTS.md.")
	p.both("context-agent-tab")
	second.stop(t)
	p.shows("#context .callout", "offline")
	p.quiet()
}

// TestBrowserAgentsLive: the page of agents follows by itself what comes, goes, is renewed and is revoked, wide and narrow.
func TestBrowserAgentsLive(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}})
	p := browse(t, a)
	p.open(a.url + "/agents")
	p.shows("#agents", "No agents")
	p.eval(`window.stayed=true`)
	dir, state := repository(t), t.TempDir()
	token, command, _ := a.enrolment("build machine")
	p.shows("#agents", "waits for an agent")
	first := startFar(t, state, dir, token, nil, command)
	p.shows("#agents", "online")
	p.shows("#agents", fmt.Sprintf("link %d.%d", link.Major, link.Minor))
	p.shows("#agents", "commands, files, git, live context")
	p.until(`document.documentElement.scrollWidth<=innerWidth`)
	p.picture("agents-1-online")
	before := a.agentIs("online")
	p.press("#agents", "Renew")
	p.shows("#agent-fresh", "takes a new key until")
	p.shows("#agents", "a token for a new key is good until")
	p.picture("agents-2-renewed")
	fresh := p.eval(`document.querySelectorAll('#agent-fresh pre')[1].textContent.trim()`)
	first.stop(t)
	p.shows("#agents", "offline")
	p.shows("#agents", "last seen")
	p.picture("agents-3-offline")
	second := startFar(t, state, dir, fresh, nil, command)
	p.shows("#agents", "online")
	p.lacks("#agents", "a token for a new key")
	p.until(`!document.querySelector('#agent-fresh .callout').checkVisibility()`)
	if after := a.agentIs("online"); after == before {
		t.Error("the agent that was renewed has the identity of before")
	}
	a.revoke(a.agentIs("online"))
	p.shows("#agents", "no agent")
	p.press("#agents", "New token")
	p.shows("#agent-fresh", "waits for its agent until")
	p.shows("#agents", "the token ends")
	p.fill("#agent-name", "second machine")
	p.press("main", "Make a token")
	p.shows("#agent-fresh", "second machine waits for its agent until")
	p.until(`document.querySelector('#agent-name').value===''`)
	if p.eval(`String(window.stayed)`) != "true" {
		t.Error("the page was loaded anew")
	}
	second.stop(t)
	p.quiet()
}

// revoke takes an agent's right to come back.
func (a *appliance) revoke(id string) {
	a.t.Helper()
	a.must(http.MethodDelete, "/api/v1/agents/"+id, nil, nil)
}
