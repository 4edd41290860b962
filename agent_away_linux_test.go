package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killFar ends the Agent as a power cut would.
func (y *quay) killFar() {
	y.t.Helper()
	if err := y.far.cmd.Process.Kill(); err != nil {
		y.t.Fatal(err)
	}
	<-y.far.ended
}

// TestPeopleDoNotWaitForAnAgentThatIsAway: whoever stops, compares, restores, refreshes or deletes beside an agent that was killed a moment ago
// is told so and what helps, and not after the minute that a command of a model would wait.
func TestPeopleDoNotWaitForAnAgentThatIsAway(t *testing.T) {
	y := openQuay(t, worker(t, callTool("write_file", map[string]any{"path": "note", "content": "new\n"})))
	clone := y.make(y.template(map[string]any{"name": "clones", "kind": "clone", "source": y.root + "/repo"}), "one")
	var own struct {
		Workspaces []madeSpace `json:"workspaces"`
	}
	y.must(http.MethodGet, "/api/v1/workspaces", nil, &own)
	spaces := map[string]string{}
	for _, w := range own.Workspaces {
		y.must(http.MethodPatch, "/api/v1/workspaces/"+w.ID, map[string]any{"trusted": true}, nil)
		chat := y.chatIn(w.ID, "Work there.")
		y.rests(chat)
		spaces[w.ID] = chat
	}
	if len(spaces) != 2 {
		t.Fatalf("%+v", own)
	}
	y.killFar()
	killed := time.Now()
	y.agentIs("offline")
	for space, chat := range spaces {
		at := "/api/v1/workspaces/" + space
		for _, ask := range [][2]string{{http.MethodPost, at + "/stop"}, {http.MethodGet, "/api/v1/chats/" + chat + "/diff"}, {http.MethodPost, "/api/v1/chats/" + chat + "/checkpoints/1/restore"},
			{http.MethodPost, at + "/context/resync"}} {
			status, raw := y.raw(ask[0], strings.Replace(ask[1], "/1/", "/"+y.firstMessage(chat)+"/", 1), nil)
			if text := string(raw); status != http.StatusBadGateway || !strings.Contains(text, "gent") || !strings.Contains(text, "tart") {
				t.Errorf("%v: %d %.500s", ask, status, text)
			}
		}
		y.says(at, `"state":"offline"`)
	}
	y.must(http.MethodDelete, "/api/v1/workspaces/"+clone.ID, nil, nil)
	if took := time.Since(killed); took > 50*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestPeopleDoNotWaitForAnAgentThatHangs: one that says nothing any more while its link is up is as good as away, for people; when it goes on,
// it is there again.
func TestPeopleDoNotWaitForAnAgentThatHangs(t *testing.T) {
	y := openQuay(t, worker(t))
	var own struct {
		Workspaces []madeSpace `json:"workspaces"`
	}
	y.must(http.MethodGet, "/api/v1/workspaces", nil, &own)
	at := "/api/v1/workspaces/" + own.Workspaces[0].ID + "/context/resync"
	y.must(http.MethodPost, at, nil, nil)
	signal := func(s syscall.Signal) {
		if err := y.far.cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	for n, says := range []string{"does not answer", "nreachable"} {
		if status, raw := y.raw(http.MethodPost, at, nil); status != http.StatusBadGateway || !strings.Contains(string(raw), says) {
			t.Errorf("ask %d: %d %.500s", n, status, raw)
		}
	}
	signal(syscall.SIGCONT)
	status, raw := 0, []byte(nil)
	for late := time.Now().Add(time.Minute); status != http.StatusOK && time.Now().Before(late); <-time.After(10 * time.Millisecond) {
		status, raw = y.raw(http.MethodPost, at, nil)
	}
	if status != http.StatusOK {
		t.Errorf("when it goes on: %d %.500s", status, raw)
	}
}

// firstMessage gives the id of the Message that a Chat began with.
func (y *quay) firstMessage(chat string) string {
	y.t.Helper()
	var page struct {
		Messages []struct {
			ID   int64  `json:"id"`
			Role string `json:"role"`
		} `json:"messages"`
	}
	y.must(http.MethodGet, "/api/v1/chats/"+chat+"/messages?after_id=0&limit=200", nil, &page)
	for _, m := range page.Messages {
		if m.Role == "user" {
			return strconv.FormatInt(m.ID, 10)
		}
	}
	y.t.Fatalf("%+v", page)
	return ""
}

// TestTheSweepBesideAnAgent: a workspace that was made beside an agent is stopped there when its time is over, with what runs in it, and runs
// again when it is used.
func TestTheSweepBesideAnAgent(t *testing.T) {
	t.Parallel()
	// In a sandbox the command's process has another number than outside, so it is known by what it sleeps for.
	asleep := strconv.Itoa(os.Getpid()) + "0123456"
	y := openQuay(t, worker(t, callTool("execute", map[string]any{"command": "exec sleep " + asleep, "background": true})))
	w := y.make(y.template(map[string]any{"name": "clones", "kind": "clone", "source": y.root + "/repo", "ttl_ms": 1000}), "one")
	y.rests(y.chatIn(w.ID, "Work there."))
	eventually(t, time.Minute, "the command runs", func() bool { return commanded(t, asleep) })
	// It is looked for once a minute.
	for late := time.Now().Add(3 * time.Minute); w.State != "stopped" && time.Now().Before(late); <-time.After(50 * time.Millisecond) {
		y.must(http.MethodGet, "/api/v1/workspaces/"+w.ID, nil, &w)
	}
	if w.State != "stopped" {
		t.Fatalf("%+v\n%s\n%s", w, y.log, y.far.log)
	}
	eventually(t, stopLimit, "nothing of the command runs", func() bool { return !commanded(t, asleep) })
	y.must(http.MethodPost, "/api/v1/workspaces/"+w.ID+"/start", nil, &w)
	if w.State != "running" {
		t.Errorf("%+v", w)
	}
}

// commanded says whether a process of this machine has a text in its command line.
func commanded(t *testing.T, text string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		// One that ends meanwhile has none.
		if raw, err := os.ReadFile(line); err == nil && strings.Contains(string(raw), text) {
			return true
		}
	}
	return false
}
