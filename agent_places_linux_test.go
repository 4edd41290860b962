package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/ollama/scripted"
)

// quay is an appliance and an Agent that lets Workspaces be made in a directory, in which there is a repository.
type quay struct {
	*appliance
	far *farAgent
	// agent is its id, root the directory, own that of the Agent's own Workspace.
	agent, root, own, state string
	launch                  launch
	command                 string
}

func openQuay(t *testing.T, ollama string, flags ...string) *quay {
	t.Helper()
	y := &quay{root: realTemp(t), own: realTemp(t), state: t.TempDir()}
	inShell(t, y.root, "git", "init", "-q", "-b", "main", "repo")
	repo := filepath.Join(y.root, "repo")
	if err := os.WriteFile(filepath.Join(repo, "AGENTS.md"), []byte("Speak of lighthouses.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inShell(t, repo, "git", "add", ".")
	inShell(t, repo, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
	y.launch = launch{data: filepath.Join(t.TempDir(), "data"), args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: ollama}
	y.appliance = serveNow(t, y.launch)
	token, command, _ := y.enrolment("far")
	y.launch.args[1] = strings.Fields(command[strings.Index(command, "https://")+len("https://"):])[0]
	y.command = command + " " + strings.Join(flags, " ")
	if flags == nil {
		y.command = command + " --make-in " + y.root
	}
	y.far = startFar(t, y.state, y.own, token, nil, y.command)
	y.agent = y.agentIs("online")
	// What it said of itself is stored a moment later.
	y.says("/api/v1/agents", "proc/1")
	return y
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func inShell(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// template adds one that makes Workspaces beside the Agent.
func (y *quay) template(fields map[string]any) string {
	y.t.Helper()
	all := map[string]any{"target": y.agent, "policy": "trusted"}
	for name, value := range fields {
		all[name] = value
	}
	var out struct {
		ID string `json:"id"`
	}
	y.must(http.MethodPost, "/api/v1/templates", all, &out)
	return out.ID
}

// madeSpace is a Workspace as the API has it.
type madeSpace struct {
	ID, Name, Kind, Directory, State string
	Made                             struct {
		Log, Branch string
	} `json:"template"`
}

// make makes a Workspace and waits for what comes of it.
func (y *quay) make(template, name string) madeSpace {
	y.t.Helper()
	var w madeSpace
	y.must(http.MethodPost, "/api/v1/workspaces", map[string]any{"template_id": template, "name": name}, &w)
	for late := time.Now().Add(time.Minute); time.Now().Before(late); <-time.After(10 * time.Millisecond) {
		y.must(http.MethodGet, "/api/v1/workspaces/"+w.ID, nil, &w)
		if w.State != "creating" && w.State != "setup" {
			return w
		}
	}
	y.t.Fatalf("it is not made: %+v\n%s\n%s", w, y.log, y.far.log)
	return w
}

// TestWorkspacesAreMadeBesideAnAgent: clones, worktrees and folders are made below the directory that the agent's owner named; each has
// its own files, commands, context and changes, and lives on when both programs are killed.
func TestWorkspacesAreMadeBesideAnAgent(t *testing.T) {
	y := openQuay(t, worker(t, callTool("execute", map[string]any{"command": "cat AGENTS.md done; pwd; echo far > here; echo $PLACE", "timeout": "60s"}),
		callTool("read_file", map[string]any{"path": "here"})))
	clone := y.template(map[string]any{"name": "clones", "kind": "clone", "source": filepath.Join(y.root, "repo"), "setup": "echo set-$((1+1)) | tee done", "variables": map[string]string{"PLACE": "yard"}})
	tree := y.template(map[string]any{"name": "trees", "kind": "worktree", "source": filepath.Join(y.root, "repo")})
	a, b, c := y.make(clone, "one"), y.make(clone, "two"), y.make(tree, "three")
	for _, w := range []madeSpace{a, b, c} {
		if w.State != "running" || w.Kind != "agent" || filepath.Dir(w.Directory) != y.root {
			t.Errorf("%+v\n%s\n%s", w, y.log, y.far.log)
		}
	}
	messages := y.rests(y.chatIn(a.ID, "Work there."))
	for _, want := range []string{"Speak of lighthouses.", "set-2", a.Directory, "yard", "All of it is done."} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %q in %s\n%s", want, messages, y.far.log)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Directory, "here")); !os.IsNotExist(err) {
		t.Errorf("the other workspace: %v", err)
	}
	y.says("/api/v1/workspaces/"+a.ID+"/context", filepath.Join(a.Directory, "AGENTS.md"))
	y.says("/api/v1/workspaces/"+c.ID+"/context", filepath.Join(c.Directory, "AGENTS.md"))
	y.appliance.kill()
	y.far.cmd.Process.Kill()
	<-y.far.ended
	y.far = startFar(t, y.state, y.own, "", nil, y.command)
	y.appliance = serveNow(t, y.launch)
	y.agentIs("online")
	messages = y.rests(y.chatIn(b.ID, "Work there."))
	if !strings.Contains(messages, b.Directory) || !strings.Contains(messages, "All of it is done.") {
		t.Errorf("%s\n%s", messages, y.far.log)
	}
	y.must(http.MethodDelete, "/api/v1/workspaces/"+c.ID, nil, nil)
	if _, err := os.Stat(c.Directory); !os.IsNotExist(err) {
		t.Errorf("the worktree: %v", err)
	}
	y.must(http.MethodDelete, "/api/v1/workspaces/"+a.ID, nil, nil)
	if _, err := os.Stat(a.Directory); err != nil {
		t.Errorf("the clone: %v", err)
	}
	y.agentIs("online")
	if kept, err := os.ReadFile(filepath.Join(y.state, "made", "places.json")); err != nil || strings.Contains(string(kept), a.ID) || !strings.Contains(string(kept), b.ID) {
		t.Errorf("the agent keeps %s, %v", kept, err)
	}
	if code := y.appliance.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, found, _ := examined(t, y.launch.data, "--deep"); found["store"].State != "ok" {
		t.Errorf("the store: %+v", found["store"])
	}
}

// TestAModelMakesItsWorkspaceBesideAnAgent: with list_templates and create_workspace, whose setup is confined as the agent says.
func TestAModelMakesItsWorkspaceBesideAnAgent(t *testing.T) {
	y := openQuay(t, worker(t, callTool("list_templates", map[string]any{}), callTool("create_workspace", map[string]any{"template_id": "the only one", "name": "mine"})))
	template := y.template(map[string]any{"name": "clones", "kind": "clone", "source": filepath.Join(y.root, "repo"), "setup": "echo set-$((1+1)) > done", "allow_agents": true})
	messages := y.rests(y.chatIn("", "Make one."))
	if !strings.Contains(messages, template) {
		t.Errorf("no template in %s", messages)
	}
	models, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest", Answer: func(in *scripted.Prompt) scripted.Reply {
		switch len(in.Results()) {
		case 0:
			return callTool("create_workspace", map[string]any{"template_id": template, "name": "mine"})
		case 1:
			return callTool("execute", map[string]any{"command": "cat done; pwd"})
		}
		return scripted.Text("All of it is done.")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { models.Close() })
	if code := y.appliance.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	y.launch.ollama = models.URL
	y.appliance = serveNow(t, y.launch)
	y.agentIs("online")
	messages = y.rests(y.chatIn("", "Make one."))
	for _, want := range []string{filepath.Join(y.root, "mine"), "set-2", "All of it is done."} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %q in %s\n%s\n%s", want, messages, y.log, y.far.log)
		}
	}
}

// TestWorkspacesAreMadeBelowTheRootsOnly: nothing outside of them is made, opened or cloned, by whatever name.
func TestWorkspacesAreMadeBelowTheRootsOnly(t *testing.T) {
	y := openQuay(t, worker(t))
	outside := realTemp(t)
	inShell(t, outside, "git", "init", "-q", "repo")
	for from, to := range map[string]string{"way-out": outside, "up": filepath.Dir(y.root)} {
		if err := os.Symlink(to, filepath.Join(y.root, from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, fields := range map[string]map[string]any{
		"a folder outside":          {"kind": "directory", "source": outside},
		"by a link":                 {"kind": "directory", "source": filepath.Join(y.root, "way-out")},
		"by dots":                   {"kind": "directory", "source": y.root + "/../" + filepath.Base(outside)},
		"the agent's own":           {"kind": "directory", "source": y.own},
		"its state":                 {"kind": "directory", "source": y.state},
		"a clone of what is out":    {"kind": "clone", "source": filepath.Join(outside, "repo")},
		"a clone through a link":    {"kind": "clone", "source": filepath.Join(y.root, "way-out", "repo")},
		"a clone into what is out":  {"kind": "clone", "source": filepath.Join(y.root, "repo"), "directory": outside},
		"into a link":               {"kind": "clone", "source": filepath.Join(y.root, "repo"), "directory": filepath.Join(y.root, "up")},
		"a host":                    {"kind": "clone", "source": "https://127.0.0.1:1/x.git"},
		"a worktree of what is out": {"kind": "worktree", "source": filepath.Join(outside, "repo")},
	} {
		fields["name"] = name
		w := y.make(y.template(fields), name)
		_, raw := y.raw(http.MethodGet, "/api/v1/workspaces/"+w.ID, nil)
		says := "does not lie in a directory where workspaces may be made on that machine"
		switch name {
		case "a host":
			says = "Start it with --allow-call 127.0.0.1:1"
		case "its state", "into a link":
			says = "own directory"
		}
		if w.State != "setup_failed" || !strings.Contains(string(raw), says) {
			t.Errorf("%s: %s", name, raw)
		}
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
		t.Errorf("outside: %v, %v", all, err)
	}
	inner := y.make(y.template(map[string]any{"name": "first", "kind": "directory", "source": filepath.Join(y.root, "repo")}), "first")
	nested := y.make(y.template(map[string]any{"name": "nested", "kind": "clone", "source": filepath.Join(y.root, "repo"), "directory": filepath.Join(y.root, "repo")}), "nested")
	if inner.State != "running" || nested.State != "setup_failed" {
		t.Errorf("%+v, %+v", inner, nested)
	}
}

// TestAnAgentWithoutRootsMakesNothing: a template says so when it is written, and the agent's own workspace works.
func TestAnAgentWithoutRootsMakesNothing(t *testing.T) {
	y := openQuay(t, worker(t), "--log-level", "info")
	status, raw := y.raw(http.MethodPost, "/api/v1/templates", map[string]any{"name": "x", "kind": "directory", "source": "/srv", "target": y.agent})
	if status != http.StatusBadRequest || !strings.Contains(string(raw), "--make-in") || !strings.Contains(string(raw), `"field":"target"`) {
		t.Errorf("%d %s", status, raw)
	}
}

// TestCommandsOfAMadeWorkspaceReachItsContext: holdfast context in a command speaks of the workspace that the command runs in, over the socket
// and over a port, and not of the agent's own; a template cannot say otherwise.
func TestCommandsOfAMadeWorkspaceReachItsContext(t *testing.T) {
	y := openQuay(t, worker(t, callTool("execute", map[string]any{"command": binary + " context refresh && " + binary + " context add more && " + binary + " context list", "timeout": "60s"})))
	w := y.make(y.template(map[string]any{"name": "clones", "kind": "clone", "source": filepath.Join(y.root, "repo"), "sandbox": "off",
		"variables": map[string]string{"HOLDFAST_AGENT_URL": "unix:///nobody.sock"}}), "one")
	messages := y.rests(y.chatIn(w.ID, "Add it."))
	if !strings.Contains(messages, filepath.Join(w.Directory, "more")) || !strings.Contains(messages, `"success":true`) && !strings.Contains(messages, `\"success\":true`) {
		t.Errorf("%s\n%s", messages, y.far.log)
	}
	status, raw := y.raw(http.MethodGet, "/api/v1/workspaces/"+w.ID+"/context/sources", nil)
	if text := string(raw); status != http.StatusOK || !strings.Contains(text, filepath.Join(w.Directory, "more")) {
		t.Errorf("%d %s", status, text)
	}
}
