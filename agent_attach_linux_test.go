package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// attached is an appliance and an Agent beside whose files a command runs for a Chat. The command ends when there is a file go.
type attached struct {
	t         *testing.T
	launch    launch
	appliance *appliance
	far       *farAgent
	// state and enrolled start the Agent anew.
	state, enrolled string
	dir, chat       string
}

// attach waits until the command has printed, so that it runs and its process is recorded.
func attach(t *testing.T) *attached {
	t.Helper()
	at := &attached{t: t, dir: t.TempDir(), state: t.TempDir()}
	at.launch = launch{data: filepath.Join(t.TempDir(), "data"), args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t,
		callTool("execute", map[string]any{"timeout": "4m",
			"command": "echo began >> runs; echo half-$((1+1)); until [ -e go ]; do sleep 0.02; done; echo done-$((1+2))"}))}
	at.appliance = serveNow(t, at.launch)
	token, command, workspace := at.appliance.enrolment("far")
	// The Agent dials the same address again.
	address := strings.Fields(command[strings.Index(command, "https://")+len("https://"):])[0]
	at.launch.args[1] = address
	at.enrolled = command
	at.far = startFar(t, at.state, at.dir, token, nil, command)
	at.appliance.agentIs("online")
	at.appliance.must(http.MethodPatch, "/api/v1/workspaces/"+workspace, map[string]any{"trusted": true}, nil)
	at.chat = at.appliance.chatIn(workspace, "Work there.")
	at.appliance.says("/chats/"+at.chat, "half-2")
	return at
}

// again starts the appliance anew.
func (a *attached) again() {
	a.t.Helper()
	a.appliance = serveNow(a.t, a.launch)
}

// killAgent ends the Agent as a power cut would, and what it ran with it: its own next start does that too.
func (a *attached) killAgent() {
	a.t.Helper()
	if err := a.far.cmd.Process.Kill(); err != nil {
		a.t.Fatal(err)
	}
	<-a.far.ended
}

func (a *attached) agentAgain() {
	a.t.Helper()
	a.far = startFar(a.t, a.state, a.dir, "", nil, a.enrolled)
}

// goes lets the command end, and wants its real Result and that it ran once.
func (a *attached) goes() {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, "go"), nil, 0o600); err != nil {
		a.t.Fatal(err)
	}
	messages := a.appliance.rests(a.chat)
	for _, want := range []string{"half-2", "done-3", "All of it is done."} {
		if !strings.Contains(messages, want) {
			a.t.Errorf("no %q in %s\n%s", want, messages, a.appliance.log)
		}
	}
	for _, never := range []string{"interrupted", "may have run", "unreachable", "process_id\\\""} {
		if strings.Contains(messages, never) {
			a.t.Errorf("%q in %s\n%s", never, messages, a.appliance.log)
		}
	}
	a.ranOnce()
}

func (a *attached) ranOnce() {
	a.t.Helper()
	if runs, err := os.ReadFile(filepath.Join(a.dir, "runs")); err != nil || string(runs) != "began\n" {
		a.t.Errorf("it ran %q, %v", runs, err)
	}
}

// rested gives why the Chat rests.
func (a *attached) rested() string {
	a.t.Helper()
	var c struct {
		Reason string `json:"rest_reason"`
	}
	a.appliance.must(http.MethodGet, "/api/v1/chats/"+a.chat, nil, &c)
	return c.Reason
}

// TestACommandBesideAnAgentOutlivesTheAppliance: the appliance is killed while a command runs beside an Agent. The next one shows what it
// prints, waits for it, and its Result is the real one.
func TestACommandBesideAnAgentOutlivesTheAppliance(t *testing.T) {
	at := attach(t)
	at.appliance.kill()
	at.again()
	at.appliance.says("/chats/"+at.chat, "half-2")
	at.goes()
}

// TestACommandBesideAnAgentOutlivesAnUpgrade: the appliance stops in good order and is started again.
func TestACommandBesideAnAgentOutlivesAnUpgrade(t *testing.T) {
	at := attach(t)
	if code := at.appliance.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	at.again()
	at.appliance.says("/chats/"+at.chat, "half-2")
	at.goes()
}

// TestACommandBesideAnAgentEndsWhileTheApplianceIsAway: its Result is asked for afterwards.
func TestACommandBesideAnAgentEndsWhileTheApplianceIsAway(t *testing.T) {
	at := attach(t)
	at.appliance.kill()
	if err := os.WriteFile(filepath.Join(at.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at.again()
	at.goes()
}

// TestACommandBesideAnAgentOutlivesTwoKills: a Turn that was cut twice rests, and goes on with its command when a person says so.
func TestACommandBesideAnAgentOutlivesTwoKills(t *testing.T) {
	at := attach(t)
	for range 2 {
		at.appliance.says("/chats/"+at.chat, "half-2")
		at.appliance.kill()
		at.again()
	}
	at.appliance.rests(at.chat)
	if why := at.rested(); why != "cut_twice" {
		t.Errorf("it rests because of %q", why)
	}
	at.appliance.must(http.MethodPost, "/api/v1/chats/"+at.chat+"/retry", nil, nil)
	at.appliance.says("/chats/"+at.chat, "half-2")
	at.goes()
}

// TestCase59TheAgentIsKilled: the Result of the command says that the Agent restarted, and the Turn goes on.
func TestCase59TheAgentIsKilled(t *testing.T) {
	at := attach(t)
	at.killAgent()
	at.agentAgain()
	messages := at.appliance.rests(at.chat)
	if !strings.Contains(messages, "agent restarted") || !strings.Contains(messages, "All of it is done.") || strings.Contains(messages, "done-3") {
		t.Errorf("%s\n%s", messages, at.appliance.log)
	}
	at.ranOnce()
}

// TestApplianceAndAgentAreKilled: nobody knows how the command ended, so the Turn rests and says that it may have run.
func TestApplianceAndAgentAreKilled(t *testing.T) {
	at := attach(t)
	at.appliance.kill()
	at.killAgent()
	at.agentAgain()
	at.again()
	messages := at.appliance.rests(at.chat)
	if !strings.Contains(messages, "may have run in part") || strings.Contains(messages, "All of it is done.") || at.rested() != "may_have_run" {
		t.Errorf("it rests because of %q: %s\n%s", at.rested(), messages, at.appliance.log)
	}
	at.ranOnce()
	// Nothing of the command is left.
	for late := time.Now().Add(time.Minute); at.lives(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the command of the agent that was killed goes on")
		}
	}
}

// lives says whether a process works in the Agent's directory, other than the Agent.
func (a *attached) lives() bool {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, link := range all {
		// Processes end while we look.
		if where, err := os.Readlink(link); err == nil && where == a.dir {
			return true
		}
	}
	return false
}
