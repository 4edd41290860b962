//go:build e2e && linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// namespace gives a network namespace that is joined with this one, and the two addresses: ours and that of the other side.
func namespace(t *testing.T) (name, ours, theirs string) {
	t.Helper()
	n := os.Getpid() % 60
	name, ours, theirs = fmt.Sprintf("hf-%d", os.Getpid()), fmt.Sprintf("10.231.%d.1", n), fmt.Sprintf("10.231.%d.2", n)
	near, far := fmt.Sprintf("hfa%d", os.Getpid()), fmt.Sprintf("hfb%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("this test needs root, iproute2 and a kernel that gives network namespaces: ip netns add: %v: %s", err, out)
	}
	t.Cleanup(func() { ip(t, "netns", "del", name) })
	ip(t, "link", "add", near, "type", "veth", "peer", "name", far)
	t.Cleanup(func() { ip(t, "link", "del", near) })
	ip(t, "link", "set", far, "netns", name)
	ip(t, "addr", "add", ours+"/30", "dev", near)
	ip(t, "link", "set", near, "up")
	ip(t, "-n", name, "addr", "add", theirs+"/30", "dev", far)
	ip(t, "-n", name, "link", "set", far, "up")
	return name, ours, theirs
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// TestCase59OneWayCut: between an appliance and an Agent in another network namespace nothing reaches the Agent for a minute, while a
// command runs. The Call goes on over the next link, and the command ran once.
func TestCase59OneWayCut(t *testing.T) {
	name, ours, theirs := namespace(t)
	a := serveNow(t, launch{args: []string{"--agents-listen", ours + ":0"}, ollama: worker(t,
		callTool("execute", map[string]any{"command": "echo began >> runs; sleep 80; echo it is done", "timeout": "4m"}))})
	token, command, workspace := a.enrolment("far")
	dir := t.TempDir()
	far := startFar(t, t.TempDir(), dir, token, []string{"ip", "netns", "exec", name}, command)
	a.agentIs("online")
	a.must(http.MethodPatch, "/api/v1/workspaces/"+workspace, map[string]any{"trusted": true}, nil)
	chat := a.chatIn(workspace, "Work there.")
	for late := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the command did not begin:\n%s\n%s", a.log, far.log)
		}
	}
	ip(t, "route", "add", "blackhole", theirs+"/32")
	cut := time.Now()
	<-time.After(time.Minute)
	ip(t, "route", "del", "blackhole", theirs+"/32")
	messages := a.rests(chat)
	t.Logf("at rest %s after the cut; the agent says:\n%s", time.Since(cut).Round(time.Second), far.log)
	if !strings.Contains(messages, "it is done") || strings.Contains(messages, "unreachable") || !strings.Contains(messages, "All of it is done.") {
		t.Errorf("%s\n%s\n%s", messages, a.log, far.log)
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(runs) != "began\n" {
		t.Errorf("it ran %q, %v", runs, err)
	}
	if !strings.Contains(far.log.String(), "no link to the appliance") {
		t.Errorf("the link did not break, so nothing was tried:\n%s", far.log)
	}
}
