package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// farAgent is a running holdfast --agent.
type farAgent struct {
	cmd   *exec.Cmd
	log   *output
	ended chan struct{}
	dir   string
}

// startFar starts an Agent beside dir, with its state in a directory of its own.
func startFar(t *testing.T, state, dir, token string, wrap []string, command string, env ...string) *farAgent {
	t.Helper()
	line := append(wrap[:len(wrap):len(wrap)], binary)
	line = append(line, strings.Fields(strings.TrimPrefix(strings.Replace(command, "--dir .", "--dir "+dir, 1), "holdfast "))...)
	f := &farAgent{cmd: exec.Command(line[0], append(line[1:], "--state", state)...), log: &output{}, ended: make(chan struct{}), dir: dir}
	f.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}
	f.cmd.Env = append(f.cmd.Env, env...)
	f.cmd.Stdin, f.cmd.Stdout, f.cmd.Stderr = strings.NewReader(token+"\n"), f.log, f.log
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		// How it ended is in ProcessState.
		_ = f.cmd.Wait()
		close(f.ended)
	}()
	t.Cleanup(func() { f.stop(t) })
	return f
}

// stop sends SIGTERM and wants the exit code 0 within the time that a stop may take.
func (f *farAgent) stop(t *testing.T) {
	t.Helper()
	select {
	case <-f.ended:
		return
	default:
	}
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-f.ended:
		if code := f.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the agent ended with %d:\n%s", code, f.log)
		}
	case <-time.After(stopLimit):
		_ = f.cmd.Process.Kill()
		t.Errorf("the agent did not stop:\n%s", f.log)
	}
}

// enrolment makes a token for a new Workspace.
func (a *appliance) enrolment(name string) (token, command, workspace string) {
	a.t.Helper()
	var out struct {
		Token       string `json:"token"`
		Command     string `json:"command"`
		WorkspaceID string `json:"workspace_id"`
	}
	a.must(http.MethodPost, "/api/v1/agents/enrolments", map[string]any{"name": name}, &out)
	return out.Token, out.Command, out.WorkspaceID
}

// agentIs waits until the only Agent is in a state.
func (a *appliance) agentIs(state string) (id string) {
	a.t.Helper()
	var page struct {
		Agents []struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"agents"`
	}
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); <-time.After(10 * time.Millisecond) {
		a.must(http.MethodGet, "/api/v1/agents", nil, &page)
		if len(page.Agents) == 1 && page.Agents[0].State == state {
			return page.Agents[0].ID
		}
	}
	a.t.Fatalf("no agent is %s: %+v\n%s", state, page, a.log)
	return ""
}

func callTool(name string, args map[string]any) scripted.Reply {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // plain maps always encode
	}
	return scripted.Calls(scripted.Call{Name: name, Args: raw})
}

// worker is a scripted model that calls each tool in turn and then says what it was told last.
func worker(t *testing.T, calls ...scripted.Reply) string {
	t.Helper()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "worker:latest", Answer: func(in *scripted.Prompt) scripted.Reply {
		done := 0
		for _, m := range in.Messages {
			if m.Role == "tool" {
				done++
			}
		}
		if done < len(calls) {
			return calls[done]
		}
		return scripted.Text("All of it is done.")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return running.URL
}

// chatIn starts a Chat in a Workspace.
func (a *appliance) chatIn(workspace, text string) (chat string) {
	a.t.Helper()
	var models struct {
		Models []struct {
			ID    string `json:"id"`
			Model string `json:"model"`
		} `json:"models"`
	}
	a.must(http.MethodGet, "/api/v1/models", nil, &models)
	in := map[string]any{"content": []map[string]any{{"type": "text", "text": text}}, "workspace_id": workspace}
	for _, m := range models.Models {
		if m.Model == "worker:latest" {
			in["model_config_id"] = m.ID
		}
	}
	var c struct {
		ID string `json:"id"`
	}
	a.must(http.MethodPost, "/api/v1/chats", in, &c)
	return c.ID
}

// rests waits until a Chat is at rest and gives its Messages as the API has them.
func (a *appliance) rests(chat string) string {
	a.t.Helper()
	for late := time.Now().Add(90 * time.Second); time.Now().Before(late); <-time.After(10 * time.Millisecond) {
		var c struct {
			State string `json:"status"`
		}
		a.must(http.MethodGet, "/api/v1/chats/"+chat, nil, &c)
		if c.State == "waiting" || c.State == "failed" {
			_, raw := a.raw(http.MethodGet, "/api/v1/chats/"+chat+"/messages?after_id=0&limit=200", nil)
			return string(raw)
		}
	}
	a.t.Fatalf("the chat does not rest:\n%s", a.log)
	return ""
}

// TestChatOnAnAgent: an appliance and an Agent as two processes. A chat writes and reads files and runs commands beside the Agent, its
// context comes from there, and what the appliance revokes is gone (cases 58 and 60 in the real binary).
func TestChatOnAnAgent(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t,
		callTool("write_file", map[string]any{"path": "far.txt", "content": "from afar\n"}),
		callTool("execute", map[string]any{"command": "cat far.txt AGENTS.md; pwd", "timeout": "60s"}),
		callTool("read_file", map[string]any{"path": "far.txt"}))})
	token, command, workspace := a.enrolment("far")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Speak of lighthouses.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	far := startFar(t, state, dir, token, nil, command)
	id := a.agentIs("online")
	a.must(http.MethodPatch, "/api/v1/workspaces/"+workspace, map[string]any{"trusted": true}, nil)
	var ws struct{ Kind, Directory, State string }
	a.must(http.MethodGet, "/api/v1/workspaces/"+workspace, nil, &ws)
	if ws.Kind != "agent" || ws.Directory != dir {
		t.Errorf("%+v", ws)
	}
	messages := a.rests(a.chatIn(workspace, "Work there."))
	for _, want := range []string{"from afar", "Speak of lighthouses.", dir, "All of it is done."} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %q in %s\n%s", want, messages, far.log)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "far.txt")); err != nil || string(got) != "from afar\n" {
		t.Errorf("%q, %v", got, err)
	}
	far.stop(t)
	a.agentIs("offline")
	// The token is good once; the Agent is known by its key now, and the empty input is no token.
	startFar(t, state, dir, "", nil, command)
	a.agentIs("online")
	stranger := startFar(t, t.TempDir(), t.TempDir(), token, nil, command)
	<-stranger.ended
	if code := stranger.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stranger.log.String(), "enrolment token is not good") {
		t.Errorf("a used token: exit %d\n%s", code, stranger.log)
	}
	a.must(http.MethodDelete, "/api/v1/agents/"+id, nil, nil)
	if page, _ := io.ReadAll(strings.NewReader(fmt.Sprint(a.raw(http.MethodGet, "/api/v1/agents", nil)))); strings.Contains(string(page), id) {
		t.Errorf("the revoked agent is listed: %s", page)
	}
}

// manager is a service manager that waits for a word.
func manager(t *testing.T) (socket string, hears func(want string)) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { heard.Close() })
	if err := heard.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return socket, func(want string) {
		t.Helper()
		for word := make([]byte, 1<<10); ; {
			n, err := heard.Read(word)
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if string(word[:n]) == want {
				return
			}
		}
	}
}

// TestApplianceTellsItsManager: the appliance does the same under a unit, and works in no folder of its machine where it is told not to.
func TestApplianceTellsItsManager(t *testing.T) {
	socket, hears := manager(t)
	data := filepath.Join(t.TempDir(), "data")
	cmd := command(t, data, nil, "serve", "--data", data, "--listen", "127.0.0.1:0", "--ollama", nobody, "--no-open")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=30000", "HOLDFAST_LOCAL_WORKSPACES=off")
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hears("READY=1")
	hears("WATCHDOG=1")
	token, err := os.ReadFile(cli.TokenPath(data))
	if err != nil {
		t.Fatal(err)
	}
	api := client.NewUnix(cli.SocketPath(data), strings.TrimSpace(string(token)))
	defer api.Close()
	_, err = api.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir()})
	var refused *chat.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Error()+refused.Detail, "local_workspaces off") {
		t.Errorf("a folder of the machine: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hears("STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
}

// TestAgentTellsItsManager: a service manager hears that the agent is ready, that it is alive, and that it stops.
func TestAgentTellsItsManager(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t)})
	token, command, _ := a.enrolment("far")
	socket, hears := manager(t)
	far := startFar(t, t.TempDir(), t.TempDir(), token, nil, command, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=30000")
	hears("READY=1")
	hears("WATCHDOG=1")
	far.stop(t)
	hears("STOPPING=1")
}

// TestAgentRefuses: what must not be dialled, and what cannot be served, ends with its exit code and one line.
func TestAgentRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		code int
		args []string
		says string
	}{
		"no address":      {2, []string{"--dir", dir}, "usage"},
		"plain http":      {8, []string{"--url", "http://192.0.2.1:1", "--dir", dir}, "plain http"},
		"no directory":    {2, []string{"--url", "http://127.0.0.1:1", "--dir", dir + "/none"}, "there is no directory"},
		"a bad pin":       {2, []string{"--url", "https://127.0.0.1:1", "--dir", dir, "--pin", "sha256:x"}, "64 hexadecimal digits"},
		"no token":        {2, []string{"--url", "http://127.0.0.1:1", "--dir", dir}, "has not enrolled"},
		"an unknown flag": {2, []string{"--token", "x"}, "not defined"},
	} {
		cmd := exec.Command(binary, append([]string{"--agent", "--state", t.TempDir()}, c.args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(string(out), c.says) || strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

// Test43AgentUnit: the unit of the agent starts it as it was asked for and has nothing that systemd warns of.
func Test43AgentUnit(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(binary, "--agent", "--unit", "--url", "https://127.0.0.1:8421", "--pin", "sha256:"+strings.Repeat("ab", 32), "--dir", dir, "--enrol-file", "/etc/holdfast-agent/token")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	unit, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--agent --url https://127.0.0.1:8421 --dir " + dir + " --pin sha256:abab", "ReadWritePaths=" + dir + "\n", "ProtectHome=tmpfs", "KillMode=control-group",
		"RestartPreventExitStatus=2 5 6 7 8", "Type=notify\n", "WatchdogSec=30\n", "NoNewPrivileges=yes", "InaccessiblePaths=-/var/lib/holdfast -/etc/holdfast", "Delegate=pids memory"} {
		if !strings.Contains(string(unit), want) {
			t.Errorf("no %q in\n%s", want, unit)
		}
	}
	for _, never := range []string{"RestrictNamespaces", "MemoryDenyWriteExecute", "PrivateUsers", "RemoveIPC", "ProtectKernelTunables", "ProtectKernelLogs"} {
		if strings.Contains(string(unit), never) {
			t.Errorf("%s keeps the sandbox from working", never)
		}
	}
	path := filepath.Join(t.TempDir(), "holdfast-agent.service")
	if err := os.WriteFile(path, unit, 0o600); err != nil {
		t.Fatal(err)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed; the unit was not verified by it")
		return
	}
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || strings.Contains(string(out), "holdfast-agent.service:") {
		t.Errorf("%v: %s", err, out)
	}
	odd := exec.Command(binary, "--agent", "--unit", "--url", "https://127.0.0.1:8421", "--dir", "/w x")
	odd.Env = cmd.Env
	if err := odd.Run(); odd.ProcessState.ExitCode() != 2 {
		t.Errorf("a path with a blank: %v", err)
	}
}
