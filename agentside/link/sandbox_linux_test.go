package link

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

func TestMain(m *testing.M) {
	// Commands are confined by the program that starts them, which here is the test.
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildCommand {
		if err := sandbox.Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (o *office) openAs(id chat.AgentID, profile chat.Profile) chat.Workspace {
	o.t.Helper()
	ws, err := o.appliance.Open(o.t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceAgent, AgentID: id, Sandbox: profile})
	if err != nil {
		o.t.Fatal(err)
	}
	return ws
}

// TestCommandsBesideAnAgentAreConfined: the profile is that of the Workspace's record at the appliance, the level the one that the Agent
// measured, and what holds is in the answer; outside of the Workspace nothing is written, and what is off is off.
func TestCommandsBesideAnAgentAreConfined(t *testing.T) {
	o := newOffice(t, quick())
	box, err := sandbox.New(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	level, reason := box.Level()
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), box: box})
	o.until("a1", "online", online)
	outside := filepath.Join(realDir(t), "outside")
	run := func(profile chat.Profile, id string, readOnly bool) chat.ProcessOutput {
		t.Helper()
		p := o.openAs("a1", profile).Processes()
		info, err := p.Start(t.Context(), chat.ProcessStart{ID: id, ChatID: "c1", Command: "echo x > inside-" + id + "; echo x > " + outside + "-" + id, ReadOnly: readOnly})
		if err != nil {
			t.Fatalf("%s: %v", profile, err)
		}
		want := box.Report(profile)
		if readOnly {
			want = box.Report(chat.ProfileReadOnly)
		}
		if fmt.Sprint(info.Sandbox) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, measured %+v (%s)", profile, info.Sandbox, want, reason)
		}
		out, err := p.Output(t.Context(), "c1", id, 0, patience)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	for _, c := range []struct {
		profile  chat.Profile
		readOnly bool
		in, out  bool
	}{{chat.ProfileWorkspace, false, true, level == chat.SandboxNone}, {chat.ProfileReadOnly, false, level == chat.SandboxNone, level == chat.SandboxNone},
		{chat.ProfileWorkspace, true, level == chat.SandboxNone, level == chat.SandboxNone}, {chat.ProfileOff, false, true, true}} {
		id := fmt.Sprintf("p-%s-%t", c.profile, c.readOnly)
		run(c.profile, id, c.readOnly)
		if in, out := there(filepath.Join(d.dir, "inside-"+id)), there(outside+"-"+id); in != c.in || out != c.out {
			t.Errorf("%s: written inside %t, outside %t, want %t and %t", id, in, out, c.in, c.out)
		}
	}
	ws := o.openAs("a1", chat.ProfileDefault).(chat.Sandboxed)
	for _, p := range []chat.Profile{chat.ProfileWorkspace, chat.ProfileReadOnly, chat.ProfileNetwork, chat.ProfileOff} {
		if got, want := ws.Sandbox(p), box.Report(p); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the appliance says %+v, the agent %+v", p, got, want)
		}
	}
	if got := ws.Sandbox(chat.ProfileDefault); got.Profile != chat.ProfileWorkspace {
		t.Errorf("an untrusted workspace has the profile %s", got.Profile)
	}
}

// TestAnotherLevelIsNotRun: a command that was let through for a level must not run at another one: neither does the appliance send it
// to an Agent that came back with less, nor does the Agent start it. An older appliance, which asks a person each time, is served as ever.
func TestAnotherLevelIsNotRun(t *testing.T) {
	full, with := Hello{Sandbox: "full"}, Terms{Capabilities: []string{CapSandbox}}
	for name, back := range map[string]struct {
		h Hello
		t Terms
	}{"less": {Hello{Sandbox: "partial"}, with}, "none": {Hello{Sandbox: "none"}, with}, "an older one": {full, Terms{}}, "nonsense": {Hello{Sandbox: "super"}, with}} {
		_, err := confine(chat.ProcessStart{ID: "p"}, chat.ProfileWorkspace, chat.SandboxFull, back.h, back.t)
		var refused *chat.ProcessError
		if !errors.As(err, &refused) || refused.Kind != "spawn" {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := newOffice(t, quick())
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	send := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/v0/processes/start", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		d.agent.o.API.ServeHTTP(w, r)
		return w
	}
	if w := send(`{"id":"p1","command":"true","sandbox":"workspace","sandbox_level":"full"}`); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "the sandbox here is none, not full") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(`{"id":"p2","command":"true","sandbox":"castle"}`); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(`{"id":"p3","command":"true"}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"profile":"off"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
