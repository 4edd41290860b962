package link

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/agentside/conformance"
	"holdfast/engine/chat"
)

func (d *desk) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// waiting asks for the output of a process in the background until it has ended.
func waiting(t *testing.T, ws chat.Workspace, id string) <-chan chat.ProcessOutput {
	got := make(chan chat.ProcessOutput, 1)
	ctx := t.Context()
	go func() {
		out, err := ws.Processes().Output(ctx, "c1", id, 0, patience)
		if err != nil {
			t.Errorf("the wait: %v", err)
		}
		got <- out
	}()
	return got
}

const untilGo = "echo began >> runs; until [ -e go ]; do sleep 0.02; done; echo done"

// TestCase59CutDuringACommand: the wait goes on over the next link, the command ran once.
func TestCase59CutDuringACommand(t *testing.T) {
	o := newOffice(t, quick())
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	ws := o.open("a1")
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: untilGo}); err != nil {
		t.Fatal(err)
	}
	got := waiting(t, ws, "p1")
	for range 3 {
		d.wire.cut(true)
		o.until("a1", "offline", offline)
		d.wire.mend()
		o.until("a1", "online", online)
	}
	d.wire.cut(true)
	o.until("a1", "offline", offline)
	d.write(t, "go", "")
	// It is started again by somebody who has not heard the answer.
	again := make(chan error, 1)
	go func() {
		_, err := ws.Processes().Start(context.WithoutCancel(t.Context()), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: untilGo})
		again <- err
	}()
	d.wire.mend()
	if out := <-got; out.Output != "done\n" || out.Running || out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	if err := <-again; err != nil {
		t.Error(err)
	}
	if runs, err := os.ReadFile(filepath.Join(d.dir, "runs")); err != nil || string(runs) != "began\n" {
		t.Errorf("it ran %q, %v", runs, err)
	}
}

// TestCase59AwayForTooLong: the answer says that the workspace is unreachable, for how long, and which process may run; an end that could
// not be sent is the first thing that the Agent hears.
func TestCase59AwayForTooLong(t *testing.T) {
	times := quick()
	times.Absence = 300 * time.Millisecond
	o := newOffice(t, times)
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	o.until("a1", "online", online)
	ws := o.open("a1")
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	d.wire.cut(true)
	o.until("a1", "offline", offline)
	_, err := ws.Processes().Output(t.Context(), "c1", "p1", 0, patience)
	if conformance.Kind(err) != "unreachable" || !strings.Contains(err.Error(), "unreachable: its agent has been away for") ||
		!strings.Contains(err.Error(), "Process p1 may still run") {
		t.Errorf("output: %v", err)
	}
	if err := ws.Processes().Signal(t.Context(), "c1", "p1", "terminate"); conformance.Kind(err) != "unreachable" {
		t.Errorf("signal: %v", err)
	}
	_, err = ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p2", ChatID: "c1", Command: "touch began"})
	if conformance.Kind(err) != "unreachable" {
		t.Errorf("start: %v", err)
	}
	for _, err := range []error{second(ws.Files().Raw(t.Context(), "x", 0)), second(ws.Files().Write(t.Context(), chat.WriteRequest{Path: "x"})),
		second(ws.Processes().List(t.Context(), "c1"))} {
		if conformance.Kind(err) != "unreachable" {
			t.Error(err)
		}
	}
	d.wire.mend()
	o.until("a1", "online", online)
	out, err := ws.Processes().Output(t.Context(), "c1", "p1", 0, patience)
	if err != nil || out.Running || out.ExitCode != 143 {
		t.Errorf("the end that was kept: %+v, %v", out, err)
	}
	_, err = ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p2", ChatID: "c1", Command: "touch began"})
	if conformance.Kind(err) != "conflict" {
		t.Errorf("the late start: %v", err)
	}
}

func second[A any](_ A, err error) error { return err }

// TestCase59AgentRestarted: what an earlier run started is gone, and the answer says so.
func TestCase59AgentRestarted(t *testing.T) {
	o := newOffice(t, quick())
	id := o.enrolled("a1")
	d := newDesk(t, o, deskOptions{boot: "b1", id: id})
	ws := o.open("a1")
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	touched, unwatch := ws.Processes().Watch("p1")
	defer unwatch()
	<-touched
	failed := make(chan error, 1)
	go func() {
		_, err := ws.Processes().Output(context.WithoutCancel(t.Context()), "c1", "p1", 0, patience)
		failed <- err
	}()
	d.wire.cut(true)
	o.until("a1", "offline", offline)
	d.stop()
	newDesk(t, o, deskOptions{boot: "b2", id: id, dir: d.dir})
	if err := <-failed; conformance.Kind(err) != "restarted" || !strings.Contains(err.Error(), "agent restarted") {
		t.Errorf("output: %v", err)
	}
	if err := ws.Processes().Signal(t.Context(), "c1", "p1", "kill"); conformance.Kind(err) != "restarted" {
		t.Errorf("signal: %v", err)
	}
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "sleep 1000"}); conformance.Kind(err) != "restarted" {
		t.Errorf("start: %v", err)
	}
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p2", ChatID: "c1", Command: "true"}); err != nil {
		t.Errorf("another: %v", err)
	}
}

// TestNewestWins: the same run that calls anew displaces itself, and the calls go on.
func TestNewestWins(t *testing.T) {
	o := newOffice(t, quick())
	id := o.enrolled("a1")
	newDesk(t, o, deskOptions{boot: "b1", id: id})
	since := o.until("a1", "online", online).Since
	newDesk(t, o, deskOptions{boot: "b1", id: id})
	o.until("a1", "taken anew", func(s chat.AgentState) bool { return s.Online && s.Since.After(since) && s.Trouble == "" })
	if _, err := o.open("a1").Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "true"}); err != nil {
		t.Error(err)
	}
}

// TestTwoAgentsOneKey: two runs that displace each other are both refused, and it is shown.
func TestTwoAgentsOneKey(t *testing.T) {
	o := newOffice(t, quick())
	id := o.enrolled("a1")
	newDesk(t, o, deskOptions{boot: "b1", id: id})
	newDesk(t, o, deskOptions{boot: "b2", id: id})
	s := o.until("a1", "twice", func(s chat.AgentState) bool { return s.Trouble == chat.AgentTwice })
	if !strings.Contains(s.Detail, "share one key") {
		t.Errorf("%+v", s)
	}
	o.until("a1", "offline", offline)
}

// TestCase60VersionRefused: another major version is refused with both numbers, and shown.
func TestCase60VersionRefused(t *testing.T) {
	o := newOffice(t, quick())
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), hello: func(h *Hello) { h.Major = 2 }})
	s := o.until("a1", "refused", func(s chat.AgentState) bool { return s.Trouble == chat.AgentVersion })
	if s.Online || !strings.Contains(s.Detail, "version 2 of the link, this one version 1") {
		t.Errorf("%+v", s)
	}
}

// TestCase60MissingCapability: what the Agent does not offer is refused with the reason; the rest works.
func TestCase60MissingCapability(t *testing.T) {
	o := newOffice(t, quick())
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), hello: func(h *Hello) { h.Minor, h.Capabilities = 0, []string{CapProcesses} }})
	ws := o.open("a1")
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "true"}); err != nil {
		t.Error(err)
	}
	if _, err := ws.Files().Raw(t.Context(), "x", 0); conformance.Kind(err) != "unreachable" || !strings.Contains(err.Error(), "files/1") {
		t.Error(err)
	}
}

// TestRevoked: the link ends at once, what waits ends with it, and the Agent is not taken any more.
func TestRevoked(t *testing.T) {
	o := newOffice(t, quick())
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	ws := o.open("a1")
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := ws.Processes().Output(context.WithoutCancel(t.Context()), "c1", "p1", 0, patience)
		failed <- err
	}()
	o.mu.Lock()
	delete(o.agents, "a1")
	o.mu.Unlock()
	o.appliance.Revoke("a1")
	if err := <-failed; conformance.Kind(err) != "unreachable" || !strings.Contains(err.Error(), "revoked") {
		t.Error(err)
	}
	if s := o.appliance.State("a1"); s.Online {
		t.Errorf("%+v", s)
	}
}

// TestRevokedWhileItProves: one that was looked up just before it was revoked is not taken.
func TestRevokedWhileItProves(t *testing.T) {
	o := newOffice(t, quick())
	id := o.enrolled("a1")
	asked := make(chan struct{}, 16)
	o.appliance.o.Record = func(ctx context.Context, id chat.AgentID) (chat.AgentRecord, error) {
		r, err := o.record(ctx, id)
		o.mu.Lock()
		delete(o.agents, id)
		o.mu.Unlock()
		o.appliance.Revoke(id)
		asked <- struct{}{}
		return r, err
	}
	newDesk(t, o, deskOptions{boot: "b1", id: id})
	// The dial, the greeting, and the next dial, which comes only after a refused greeting.
	for range 3 {
		<-asked
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen["a1"] != 0 {
		t.Error("a revoked agent was taken")
	}
}

// TestCase58Enrolment: a token is good once; an unknown one has the same wording.
func TestCase58Enrolment(t *testing.T) {
	o := newOffice(t, quick())
	state := realDir(t)
	id, err := ReadIdentity(state)
	if err != nil || id.Enrolled() {
		t.Fatal(id, err)
	}
	d := Dialling{URL: o.url()}
	_, unknown := Enrol(t.Context(), d, id, state, "bad", "host", "/w")
	mine, err := Enrol(t.Context(), d, id, state, " good\n", "host", "/w")
	if err != nil || mine.AgentID != "a1" || mine.WorkspaceID != "w1" {
		t.Fatal(mine, err)
	}
	_, used := Enrol(t.Context(), d, id, state, "good", "host", "/w")
	if !errors.Is(unknown, ErrNotTaken) || !errors.Is(used, ErrNotTaken) || unknown.Error() != used.Error() {
		t.Errorf("unknown: %v; used: %v", unknown, used)
	}
	again, err := ReadIdentity(state)
	if err != nil || again.AgentID != "a1" || again.URL != o.server.URL || !again.Key().Equal(id.Key()) {
		t.Errorf("%+v, %v", again, err)
	}
	if info, err := os.Stat(filepath.Join(state, identityName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(filepath.Join(state, identityName), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadIdentity(state); !errors.Is(err, ErrRefused) {
		t.Errorf("a key that others read: %v", err)
	}
	newDesk(t, o, deskOptions{boot: "b1", id: mine})
	o.until("a1", "online", online)
	stranger := mine
	stranger.Seed = make([]byte, ed25519.SeedSize)
	o.mu.Lock()
	o.agents["a2"] = chat.AgentRecord{ID: "a2", PublicKey: o.agents["a1"].PublicKey}
	o.mu.Unlock()
	stranger.AgentID = "a2"
	a, err := NewAgent(AgentOptions{Dialling: d, Identity: stranger, API: http.NotFoundHandler(), Hello: Hello{BootID: "b"}, Log: o.log})
	if err != nil {
		t.Fatal(err)
	}
	if up, err := a.connect(t.Context()); up || !errors.Is(err, ErrProof) {
		t.Errorf("another key: %v, %v", up, err)
	}
}

// TestCase58PinsAndPlainHTTP: a wrong pin and an unknown certificate are refused with the key that was met, plain http to others is refused.
func TestCase58PinsAndPlainHTTP(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	met := KeyOf(server.Certificate())
	ask := func(d Dialling) error {
		c := d.client(quick().filled())
		resp, err := c.client.Get(server.URL)
		if err != nil {
			return err
		}
		if c.met() != met {
			t.Errorf("met %s, not %s", c.met(), met)
		}
		return resp.Body.Close()
	}
	if err := ask(Dialling{URL: target, Pins: []PeerKey{{1}, met}}); err != nil {
		t.Errorf("the right pin: %v", err)
	}
	for name, d := range map[string]Dialling{"wrong pin": {URL: target, Pins: []PeerKey{{1}}}, "unknown certificate": {URL: target}} {
		if err := ask(d); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), met.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if back, err := ParsePin(met.String()); err != nil || back != met {
		t.Errorf("%s, %v", back, err)
	}
	for _, bad := range []string{"", "sha256:", "sha256:zz", met.String() + "00", strings.TrimPrefix(met.String(), "sha256:")} {
		if _, err := ParsePin(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for address, ok := range map[string]bool{"http://127.0.0.1:1": true, "http://[::1]:1": true, "http://localhost:1": true, "https://example.org": true,
		"http://example.org": false, "http://192.0.2.1:1": false, "ftp://127.0.0.1": false, "https://u:p@example.org": false, "https://": false, "http://127.0.0.1.example.org": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Dialling{URL: u}).Check(); (err == nil) != ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if u, err := url.Parse("http://192.0.2.1:1"); err != nil || (Dialling{URL: u, Insecure: true}).Check() != nil {
		t.Error("insecure is not insecure")
	}
}

// TestBrowsersAreRefused: whatever has an Origin is no Agent.
func TestBrowsersAreRefused(t *testing.T) {
	o := newOffice(t, quick())
	for _, path := range []string{linkPath, enrolPath, "/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", o.server.URL)
		resp, err := o.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	o.server.CloseClientConnections()
}

// TestStop: a Workspace that is stopped has no process left, also one that does not hear the first signal.
func TestStop(t *testing.T) {
	o := newOffice(t, quick())
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	ws := o.open("a1")
	for _, id := range []string{"p1", "p2"} {
		if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: id, ChatID: "c1", Command: "sleep 1000"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.appliance.Stop(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceAgent, AgentID: "a1"}); err != nil {
		t.Fatal(err)
	}
	all, err := ws.Processes().List(t.Context(), "")
	if err != nil || len(all) != 2 || all[0].Running || all[1].Running {
		t.Errorf("%+v, %v", all, err)
	}
}
