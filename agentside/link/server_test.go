package link

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdfast/agentside/conformance"
	"holdfast/engine/chat"
)

const oneServer = `{"mcpServers":{"good":{"url":"https://tools.example.org/mcp"}}}`

// served is an Agent with a connected server, and the Workspace beside it.
func served(t *testing.T, o *office, d deskOptions) (*desk, chat.Servers, *conformance.Peer) {
	t.Helper()
	d.peer, d.dir = conformance.NewPeer(), realDir(t)
	put(t, filepath.Join(d.dir, ".mcp.json"), oneServer)
	k := newDesk(t, o, d)
	o.until("a1", "online", online)
	all := o.open("a1").(chat.ServerKeeper).Servers()
	conformance.Approve(t, all, "good")
	return k, all, d.peer
}

// TestServersAreResources: what runs beside the Agent stands in the Snapshot that the appliance takes, and the Agent is told how the
// record confines it.
func TestServersAreResources(t *testing.T) {
	o := newOffice(t, quick())
	sink := &taker{got: make(chan chat.Snapshot, 1000), answer: taken}
	o.appliance.o.Sink = sink
	held := make(chan chat.Profile, 1000)
	served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), held: held})
	for late := time.After(patience); ; {
		var got chat.Snapshot
		select {
		case got = <-sink.got:
		case <-late:
			t.Fatal("no snapshot has the server")
		}
		for _, r := range got.Resources {
			if r.Kind == chat.ResourceMCPServer && r.Status == chat.ResourceOK {
				if r.Source != "good" || len(r.Tools) != 2 || r.Tools[1].Name != "hello" && r.Tools[0].Name != "hello" || !got.MCPSettled {
					t.Errorf("%+v", got)
				}
				if p := <-held; p != chat.ProfileWorkspace {
					t.Errorf("held to %q", p)
				}
				return
			}
		}
	}
}

// askServer calls hello and gives what came of it.
func askServer(t *testing.T, all chat.Servers) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := all.Call(t.Context(), "good", "hello", []byte(`{}`))
		ended <- err
	}()
	return ended
}

// unsure is how a call ends of which nobody knows how it went.
func unsure(t *testing.T, what string, err error) {
	t.Helper()
	if kindOf(err) != chat.KindServer || !strings.Contains(err.Error(), "may have run") || !strings.Contains(detailOf(err), "before you call it again") {
		t.Errorf("%s: %v %s", what, err, detailOf(err))
	}
}

// TestACallWhoseLinkBreaks is not made a second time: the error says that it may have run, and the program beside the Agent hears of the end.
func TestACallWhoseLinkBreaks(t *testing.T) {
	o := newOffice(t, quick())
	d, all, peer := served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	entered, left, release := peer.Hold()
	defer release()
	ended := askServer(t, all)
	<-entered
	d.wire.cut(false)
	unsure(t, "the link broke", <-ended)
	<-left
	release()
	o.until("a1", "online", online)
	conformance.Await(t, all, "it is connected after the break", func(m map[string]chat.Server) bool { return m["good"].Status == chat.ResourceOK })
	if n := peer.Calls(); n != 1 {
		t.Errorf("%d calls were made of one", n)
	}
	if err := <-askServer(t, all); err != nil {
		t.Error(err)
	}
}

// TestACallOfAnAgentThatIsDisplaced: another run of the Agent has come meanwhile, and an answer of the old one counts for nothing.
func TestACallOfAnAgentThatIsDisplaced(t *testing.T) {
	o := newOffice(t, quick())
	id := o.enrolled("a1")
	_, all, peer := served(t, o, deskOptions{boot: "b1", id: id})
	entered, _, release := peer.Hold()
	defer release()
	ended := askServer(t, all)
	<-entered
	other := conformance.NewPeer()
	newDesk(t, o, deskOptions{boot: "b2", id: id, peer: other})
	unsure(t, "displaced", <-ended)
	if other.Calls() != 0 {
		t.Error("the other run was called too")
	}
}

// TestALateAnswer: what comes over a link that is not the newest any more is refused, though it came whole.
func TestALateAnswer(t *testing.T) {
	o := newOffice(t, quick())
	_, all, peer := served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	entered, _, release := peer.Hold()
	ended := askServer(t, all)
	<-entered
	l := o.appliance.line("a1")
	l.mu.Lock()
	over := l.current
	l.mu.Unlock()
	// The appliance has dropped it, as when the Agent said that it leaves; the answer still comes.
	l.drop(over)
	release()
	err := <-ended
	unsure(t, "late", err)
	if !errors.Is(err, errLate) {
		t.Errorf("%v", errors.Unwrap(err))
	}
	over.close()
}

// TestACallThatTakesTooLong: an Agent that does not answer in time leaves open whether it ran.
func TestACallThatTakesTooLong(t *testing.T) {
	times := quick()
	times.Call = 300 * time.Millisecond
	o := newOffice(t, times)
	_, all, peer := served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	_, left, release := peer.Hold()
	defer release()
	err := <-askServer(t, all)
	unsure(t, "too long", err)
	if !strings.Contains(detailOf(err), "no answer within 300ms") {
		t.Error(detailOf(err))
	}
	<-left
}

// TestACallWithoutAnAgent is never made, and the error says that nothing was.
func TestACallWithoutAnAgent(t *testing.T) {
	times := quick()
	times.Absence = 200 * time.Millisecond
	o := newOffice(t, times)
	d, all, peer := served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	d.wire.cut(true)
	o.until("a1", "offline", offline)
	if err := <-askServer(t, all); kindOf(err) != chat.KindUnreachable || !strings.Contains(err.Error(), "has been away") || strings.Contains(err.Error(), "may have run") {
		t.Errorf("%v", err)
	}
	if _, err := all.List(t.Context()); kindOf(err) != chat.KindUnreachable {
		t.Errorf("%v", err)
	}
	if o.open("a1").(chat.ServerKeeper).Servers() != nil {
		t.Error("an agent that is away has servers")
	}
	d.wire.mend()
	o.until("a1", "online", online)
	if n := peer.Calls(); n != 0 {
		t.Errorf("it was called %d times", n)
	}
}

// TestOlderAgentsHaveNoServers: one of minor 2 runs commands and reads and writes; it has no servers, and takes no write that rules bound.
// Each refusal says what is missing and what helps; nothing is sent that it would not understand (case 60).
func TestOlderAgentsHaveNoServers(t *testing.T) {
	o := newOffice(t, quick())
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), peer: conformance.NewPeer(), hello: func(h *Hello) {
		h.Minor, h.Capabilities = 2, append(Capabilities(), "new/1")
	}})
	o.until("a1", "online", online)
	ws := o.open("a1")
	old := func(what string, err error, capability string) {
		t.Helper()
		if err == nil {
			t.Errorf("%s is taken", what)
			return
		}
		said := err.Error() + " " + detailOf(err)
		if !strings.Contains(said, "older release") || !strings.Contains(said, capability) || !strings.Contains(said, "Install the release of this appliance") {
			t.Errorf("%s: %s", what, said)
		}
	}
	all := ws.(chat.ServerKeeper).Servers()
	_, err := all.List(t.Context())
	old("a list", err, "mcp/1")
	_, err = all.Call(t.Context(), "good", "hello", []byte(`{}`))
	old("a call", err, "mcp/1")
	old("an approval", all.Approve(t.Context(), chat.ServerApproval{Name: "good"}), "mcp/1")

	files := ws.Files()
	if _, err := files.Write(t.Context(), chat.WriteRequest{Path: "a.txt", Content: []byte("one\n")}); err != nil {
		t.Error(err)
	}
	bounded := chat.Leave{Targets: []string{filepath.Join(d.dir, "a.txt")}}
	_, err = files.Write(t.Context(), chat.WriteRequest{Path: "a.txt", Content: []byte("two\n"), Leave: bounded})
	old("a write under rules", err, "rules/1")
	_, err = files.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: "a.txt", Edits: []chat.TextEdit{{Search: "one", Replace: "two"}}}}, Leave: bounded})
	old("an edit under rules", err, "rules/1")
	_, err = files.(chat.Targeter).Targets(t.Context(), []string{"a.txt"})
	old("where a path leads", err, "rules/1")
	if got, err := files.Raw(t.Context(), "a.txt", 0); err != nil || string(got.Bytes) != "one\n" {
		t.Errorf("%s, %v", got.Bytes, err)
	}
	if _, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "true"}); err != nil {
		t.Error(err)
	}
}

// TestOlderAppliancesAreServed: one that knows of neither servers nor rules calls as it always did.
func TestOlderAppliancesAreServed(t *testing.T) {
	o := newOffice(t, quick())
	served(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	c := o.appliance.line("a1").current
	for _, in := range []call{{method: "GET", path: "/processes/list"}, {method: "PUT", path: "/files/raw", query: map[string][]string{"path": {"x"}}, body: []byte("y")},
		{method: "GET", path: "/files/raw", query: map[string][]string{"path": {"x"}}}} {
		if got, err := c.send(t.Context(), in); err != nil || got.status >= 400 {
			t.Errorf("%s %s: %+v, %v", in.method, in.path, got, err)
		}
	}
	// Servers are not reached without being told how they are confined.
	if got, err := c.send(t.Context(), call{method: "GET", path: "/mcp/servers"}); err != nil || got.status != 400 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWhatAnAgentSaysOfItsServers is bounded: an Agent is not trusted.
func TestWhatAnAgentSaysOfItsServers(t *testing.T) {
	tool := chat.ResourceTool{Name: "x", Description: strings.Repeat("é", 5000), InputSchema: []byte(`{}`)}
	good := []chat.Server{{Name: "a", Error: strings.Repeat("\xff", 5000), Tools: []chat.ResourceTool{tool}}}
	all, err := checkServers(good)
	if err != nil || all[0].Error != "" || len(all[0].Tools[0].Description) > maxToolAbout || !utf8.ValidString(all[0].Tools[0].Description) {
		t.Errorf("%v, %d, %d", err, len(all[0].Error), len(all[0].Tools[0].Description))
	}
	many := make([]chat.ResourceTool, maxServerTools+1)
	for i := range many {
		many[i] = chat.ResourceTool{Name: fmt.Sprint("t", i)}
	}
	for what, bad := range map[string][]chat.Server{"servers": make([]chat.Server, maxServers+1), "tools": {{Name: "a", Tools: many}}, "a name": {{Name: strings.Repeat("x", 2000)}},
		"no text": {{Name: "\xff"}}, "a schema": {{Name: "a", Tools: []chat.ResourceTool{{Name: "x", InputSchema: []byte(`[]`)}}}},
		"a tool without a name": {{Name: "a", Changed: []chat.ChangedTool{{Now: tool}}}}} {
		if _, err := checkServers(bad); kindOf(err) != chat.KindServer {
			t.Errorf("%s: %v", what, err)
		}
	}
}
