package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// says waits until an answer of the API says something.
func (a *appliance) says(path, what string) {
	a.t.Helper()
	last := ""
	for late := time.Now().Add(time.Minute); time.Now().Before(late); <-time.After(20 * time.Millisecond) {
		_, raw := a.raw(http.MethodGet, path, nil)
		if last = string(raw); strings.Contains(last, what) {
			return
		}
	}
	a.t.Fatalf("%s never says %s, but\n%.3000s\n%s", path, what, last, a.log)
}

// hostileRepository is one with an instruction file, and others that are linked to a key, a gigabyte large, wrongly named, or with a secret.
func hostileRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Speak of lighthouses.\n", "old.txt": "1\n", ".mcp.json": `{"mcpServers":{"x":{"command":"y","env":{"TOKEN":"hush-hush"}}}}`,
		"skills/brew/SKILL.md": "---\nname: other\n---\n", "more/AGENTS.md": "Deeper.\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(secret, []byte("PRIVATE KEY"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(filepath.Join(dir, ".cursorrules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	if err := os.Symlink(secret, filepath.Join(dir, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "old.txt"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestARemoteWorkspaceIsLikeALocalOne: a repository beside an Agent that is its own process. What is pushed reaches the prompt, a hostile
// file does not; the command is confined as the appliance's record says and its Result says so; an edit on disk by anybody is seen; the
// context is looked at and added to over the link; away, the workspace says that it is offline (cases 6, 9, 13 and 60 on the link).
func TestARemoteWorkspaceIsLikeALocalOne(t *testing.T) {
	var system atomic.Value
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest", Answer: func(in *scripted.Prompt) scripted.Reply {
		system.Store(in.Messages[0].Content)
		if in.User() == "Work there." && len(in.Results()) == 0 {
			return callTool("execute", map[string]any{"command": "echo 1 > made.txt; cat made.txt", "timeout": "60s"})
		}
		return scripted.Text("All of it is done.")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: running.URL})
	dir := hostileRepository(t)
	token, command, workspace := a.enrolment("far")
	far := startFar(t, t.TempDir(), dir, token, nil, command)
	a.agentIs("online")
	at := "/api/v1/workspaces/" + workspace
	box, err := sandbox.New(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	level, _ := box.Level()
	if level != chat.SandboxFull {
		// What is not confined fully asks; the rest of the test is the same.
		t.Logf("the sandbox of this machine is %s", level)
		a.must(http.MethodPatch, at, map[string]any{"trusted": true, "sandbox": "workspace"}, nil)
	}
	id := a.chatIn(workspace, "Work there.")
	messages := a.rests(id)
	if !strings.Contains(messages, `"level":"`+string(level)+`"`) || !strings.Contains(messages, `"profile":"workspace"`) {
		t.Errorf("the result does not say what confined it: %s\n%s", messages, far.log)
	}
	prompt, _ := system.Load().(string)
	if !strings.Contains(prompt, "Speak of lighthouses.") || strings.Contains(prompt, "PRIVATE KEY") || strings.Contains(prompt, "hush-hush") {
		t.Errorf("the prompt is\n%s", prompt)
	}
	// Each has its status, and none of their content is on the page.
	for _, want := range []string{`"status":"invalid"`, `"status":"oversize"`, `"status":"ok"`, "CLAUDE.md", ".cursorrules", "brew"} {
		a.says(at+"/context", want)
	}
	_, page := a.raw(http.MethodGet, "/workspaces/"+workspace+"/context", nil)
	_, shown := a.raw(http.MethodGet, at+"/context", nil)
	for _, never := range []string{"PRIVATE KEY", "hush-hush"} {
		if strings.Contains(string(page)+string(shown)+far.log.String(), never) {
			t.Errorf("%q is shown", never)
		}
	}
	a.says("/api/v1/chats/"+id, `"deletions":0`)
	// Somebody edits a file in a terminal there.
	if err := os.WriteFile(filepath.Join(dir, "old.txt"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.says("/api/v1/chats/"+id, `"deletions":1`)
	a.must(http.MethodPost, at+"/context/resync", map[string]any{}, nil)
	a.must(http.MethodPost, at+"/context/sources", map[string]any{"path": filepath.Join(dir, "more")}, nil)
	a.says(at+"/context", `"source_path":"`+filepath.Join(dir, "more"))
	if code, raw := a.raw(http.MethodPost, at+"/context/sources", map[string]any{"path": "/etc"}); code != http.StatusBadRequest {
		t.Errorf("a source outside: %d %s", code, raw)
	}
	said := a.contextCommand("far")
	managesContext(t, said, dir)
	a.says("/metrics", "holdfast_agents_connected 1")
	far.stop(t)
	a.says(at, `"offline"`)
	a.says("/metrics", "holdfast_agents_connected 0")
	said(0, "show")
	// Nobody is waited for longer than a call waits for an agent.
	said(4, "refresh")
}

// contextCommand gives what runs holdfast context for a workspace, wants its exit code and gives what it printed.
func (a *appliance) contextCommand(workspace string) func(code int, args ...string) string {
	return func(code int, args ...string) string {
		a.t.Helper()
		var out, failure bytes.Buffer
		err := run(a.t.Context(), append([]string{"context"}, append(args, "--workspace", workspace, "--data", a.data)...), strings.NewReader(""), &out, &failure)
		if exitCode(err) != code {
			a.t.Errorf("context %v: exit %d, not %d: %v, %s", args, exitCode(err), code, err, failure.String())
		}
		return out.String()
	}
}

// managesContext: the command line does through the appliance what it does beside an agent; relative paths count from the workspace there.
func managesContext(t *testing.T, said func(code int, args ...string) string, dir string) {
	t.Helper()
	if out := said(0, "list"); out != filepath.Join(dir, "more")+"\n" {
		t.Errorf("context list: %q", out)
	}
	said(0, "remove", "more")
	said(3, "remove", "more")
	if out := said(0, "add", "more"); out != filepath.Join(dir, "more")+"\n" {
		t.Errorf("context add: %q", out)
	}
	said(1, "add", "/etc")
	if out := said(0, "refresh"); !strings.Contains(out, "CLAUDE.md") || !strings.Contains(out, "oversize") || strings.Contains(out, "hush-hush") {
		t.Errorf("context refresh: %q", out)
	}
	if out := said(0, "show", "AGENTS.md"); !strings.Contains(out, "Speak of lighthouses.") {
		t.Errorf("context show: %q", out)
	}
}

// TestContextAllowedRoots: beside the folder itself people add sources where the site configuration lets them, at once, and nowhere else.
func TestContextAllowedRoots(t *testing.T) {
	a := serveNow(t, launch{})
	notes, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(notes, "AGENTS.md"), []byte("Speak of tides.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.must(http.MethodPost, "/api/v1/workspaces", map[string]any{"name": "shop", "directory": dir}, nil)
	said := a.contextCommand("shop")
	said(1, "add", notes)
	a.must(http.MethodPut, "/api/v1/chats/config/behaviour", map[string]any{"context_allowed_roots": []string{notes}}, nil)
	said(0, "add", notes)
	if out := said(0, "refresh"); !strings.Contains(out, filepath.Join(notes, "AGENTS.md")) {
		t.Errorf("context refresh: %q", out)
	}
	said(1, "add", a.data)
	// What is not allowed any more is not read any more.
	a.must(http.MethodPut, "/api/v1/chats/config/behaviour", map[string]any{}, nil)
	if out := said(0, "refresh"); strings.Contains(out, "instruction_file") {
		t.Errorf("context refresh: %q", out)
	}
}
