package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/agentside/conformance"
	"holdfast/engine/chat"
)

// shore is an Agent beside which Workspaces may be made in root.
type shore struct {
	office *office
	agent  chat.AgentID
	root   string
	spaces *Spaces
	wire   *wiring
}

// newShore starts one; known are the Workspaces that the appliance knows to be made beside it.
func newShore(t *testing.T, o *office, peer *conformance.Peer, known ...chat.WorkspaceID) *shore {
	t.Helper()
	s := &shore{office: o, agent: "a1", root: realDir(t), wire: &wiring{}}
	o.appliance.o.Made = func(context.Context, chat.AgentID) ([]chat.WorkspaceID, error) { return known, nil }
	state, own := realDir(t), realDir(t)
	places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "chats"), Log: o.log, Dial: dialOf(peer), Roots: []string{s.root},
		Made: s.root, BootID: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	places.PushTo(&taker{got: make(chan chat.Snapshot, 1000), answer: taken})
	ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: s.root})
	if err != nil {
		t.Fatal(err)
	}
	s.spaces, err = NewSpaces(SpacesOptions{Own: NewAPI(ws, "b1"), Dir: own, Places: places, Maker: places, Parent: s.root, Boot: "b1", Keep: filepath.Join(state, "places.json"), Log: o.log})
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAgent(AgentOptions{Dialling: Dialling{URL: o.url(), connect: s.wire.dial}, Identity: o.enrolled(s.agent), API: s.spaces, Log: o.log, Times: o.times,
		Push:  func(ctx context.Context, to *Pusher) error { s.spaces.Push(ctx, to); return nil },
		Hello: Hello{Capabilities: append(Capabilities(), CapPlaces), BootID: "b1", BinaryVersion: "test", OS: runtime.GOOS}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		s.spaces.Close()
		late, end := context.WithTimeout(context.Background(), patience)
		defer end()
		if err := places.Close(late); err != nil {
			t.Error(err)
		}
	})
	o.until(s.agent, "online", online)
	return s
}

func (s *shore) record(id chat.WorkspaceID, kind chat.TemplateKind, source string) chat.WorkspaceRecord {
	return chat.WorkspaceRecord{ID: id, Name: string(id), Kind: chat.WorkspaceAgent, AgentID: s.agent, Sandbox: chat.ProfileWorkspace,
		Made: chat.Making{TemplateID: "t", Kind: kind, Source: source}}
}

// make makes a Workspace of a folder and opens it.
func (s *shore) make(t *testing.T, id chat.WorkspaceID) (chat.WorkspaceRecord, chat.Workspace) {
	t.Helper()
	dir := filepath.Join(s.root, string(id))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rec := s.record(id, chat.TemplateDirectory, dir)
	made, err := s.office.appliance.Make(t.Context(), rec, func(string) {})
	if err != nil || made.Directory != dir {
		t.Fatalf("%+v, %v", made, err)
	}
	ws, err := s.office.appliance.Open(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	return rec, ws
}

// TestConformanceMadeBesideAnAgent holds Workspaces that the appliance had made against the suite of all others.
func TestConformanceMadeBesideAnAgent(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Stand {
		o := newOffice(t, quick())
		peer := conformance.NewPeer()
		s := newShore(t, o, peer, "m1")
		_, ws := s.make(t, "m1")
		return conformance.Stand{Workspace: ws, Dir: filepath.Join(s.root, "m1"), Servers: ws.(chat.ServerKeeper).Servers(), Peer: peer}
	})
}

// TestMadeWorkspacesAreApart: each has its processes, files and context, and an Agent speaks for none that is not its own.
func TestMadeWorkspacesAreApart(t *testing.T) {
	o := newOffice(t, quick())
	sink := &taker{got: make(chan chat.Snapshot, 1000), answer: taken}
	o.appliance.o.Sink = sink
	s := newShore(t, o, nil, "m1", "m2")
	rec, one := s.make(t, "m1")
	_, two := s.make(t, "m2")
	if _, err := one.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "sleep 100"}); err != nil {
		t.Fatal(err)
	}
	if all, err := two.Processes().List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := two.Files().Raw(t.Context(), filepath.Join(s.root, "m1"), 0); conformance.Kind(err) != "outside_workspace" {
		t.Errorf("the other's files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.root, "m1", "AGENTS.md"), []byte("One.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	context := one.(chat.ContextKeeper).Context()
	changed, stop := context.Watch()
	defer stop()
	for late := time.After(patience); len(context.Snapshot().Resources) == 0; {
		select {
		case <-changed:
		case <-late:
			t.Fatalf("its context never comes: %+v", context.Snapshot())
		}
	}
	if other := two.(chat.ContextKeeper).Context().Snapshot(); len(other.Resources) != 0 {
		t.Errorf("the other's context: %+v", other)
	}
	if err := o.appliance.Stop(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if out, err := one.Processes().Output(t.Context(), "c1", "p1", 0, 0); err != nil || out.Running {
		t.Errorf("after the stop: %+v, %v", out, err)
	}
	// It lives again by itself, and its files are what they were.
	if raw, err := one.Files().Raw(t.Context(), "AGENTS.md", 0); err != nil || string(raw.Bytes) != "One.\n" {
		t.Errorf("%q, %v", raw.Bytes, err)
	}
	if err := o.appliance.Remove(t.Context(), rec, false); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Files().Raw(t.Context(), "AGENTS.md", 0); err == nil {
		t.Error("a workspace that is gone answers")
	}
	if _, err := os.Stat(filepath.Join(s.root, "m1", "AGENTS.md")); err != nil {
		t.Errorf("its files: %v", err)
	}
}

// TestAnAgentSpeaksForItsOwnOnly: a push for a Workspace that is not the Agent's is refused for good.
func TestAnAgentSpeaksForItsOwnOnly(t *testing.T) {
	o := newOffice(t, quick())
	o.appliance.o.Sink = &taker{got: make(chan chat.Snapshot, 1000), answer: taken}
	o.appliance.o.Made = func(context.Context, chat.AgentID) ([]chat.WorkspaceID, error) {
		return []chat.WorkspaceID{"mine"}, nil
	}
	answers := make(chan error, 2)
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), hello: func(h *Hello) { h.Capabilities = append(h.Capabilities, CapPush, CapContext) },
		push: func(ctx context.Context, to *Pusher) error {
			s := chat.Snapshot{Version: 1, Ready: true, BootID: "b1"}
			for _, id := range []chat.WorkspaceID{"mine", "another's"} {
				_, _, err := to.For(id).Send(ctx, s, true)
				answers <- err
			}
			<-ctx.Done()
			return nil
		}})
	if err := <-answers; err != nil {
		t.Errorf("its own: %v", err)
	}
	var refused *chat.Error
	if err := <-answers; !errors.As(err, &refused) || refused.Kind != chat.KindForbidden {
		t.Errorf("another's: %v", err)
	}
}

// TestMakingGoesOnOverANewLink: the link breaks while a Workspace is made; it is made once.
func TestMakingGoesOnOverANewLink(t *testing.T) {
	o := newOffice(t, quick())
	s := newShore(t, o, nil, "m1")
	slow := &slowMaker{Maker: s.spaces.o.Maker, begun: make(chan struct{}), goes: make(chan struct{})}
	s.spaces.o.Maker = slow
	dir := filepath.Join(s.root, "m1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		made chat.Made
		err  error
	}
	var said strings.Builder
	came := make(chan answer, 1)
	go func() {
		made, err := o.appliance.Make(t.Context(), s.record("m1", chat.TemplateDirectory, dir), func(text string) { said.WriteString(text) })
		came <- answer{made, err}
	}()
	<-slow.begun
	s.wire.cut(true)
	o.until(s.agent, "offline", offline)
	s.wire.mend()
	o.until(s.agent, "online", online)
	close(slow.goes)
	got := <-came
	if got.err != nil || got.made.Directory != dir || said.String() != "it begins\nit ends\n" || slow.times != 1 {
		t.Errorf("%+v after %d times, which said %q", got, slow.times, said.String())
	}
}

// slowMaker waits in the middle of making.
type slowMaker struct {
	chat.Maker
	begun, goes chan struct{}
	times       int
}

func (m *slowMaker) Make(ctx context.Context, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	m.times++
	log("it begins\n")
	close(m.begun)
	<-m.goes
	defer log("it ends\n")
	return m.Maker.Make(ctx, rec, log)
}

// TestManyAreMadeAtOnce: the file that the next run of the Agent reads has all of them, whichever was written last.
func TestManyAreMadeAtOnce(t *testing.T) {
	o := newOffice(t, quick())
	var ids []chat.WorkspaceID
	for n := range 24 {
		ids = append(ids, chat.WorkspaceID(fmt.Sprint("m", n)))
	}
	s := newShore(t, o, nil, ids...)
	var making sync.WaitGroup
	for _, id := range ids {
		dir := filepath.Join(s.root, string(id))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		making.Go(func() {
			if _, err := o.appliance.Make(t.Context(), s.record(id, chat.TemplateDirectory, dir), func(string) {}); err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	again, err := NewSpaces(s.spaces.o)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.records) != len(ids) {
		t.Errorf("the next run knows %d of %d", len(again.records), len(ids))
	}
}

// TestHowManyAreMade: what was made counts once, what is being made and what could not be count too, and nothing is begun after the end.
func TestHowManyAreMade(t *testing.T) {
	o := newOffice(t, quick())
	s := newShore(t, o, nil).spaces
	s.mu.Lock()
	for n := range maxSpaces - 1 {
		id := chat.WorkspaceID(fmt.Sprint("m", n))
		s.making[id] = &making{changed: make(chan struct{}), done: true}
		if n%2 == 0 {
			s.records[id] = chat.WorkspaceRecord{ID: id, State: chat.WorkspaceStopped}
		}
	}
	s.mu.Unlock()
	last := chat.WorkspaceRecord{ID: "last", Made: chat.Making{Kind: chat.TemplateDirectory, Source: "/nowhere"}}
	if refused := s.begin(last); refused != nil {
		t.Errorf("the last one: %+v", refused)
	}
	last.ID = "more"
	if refused := s.begin(last); refused == nil || refused.Kind != "limit" {
		t.Errorf("one more: %+v", refused)
	}
	s.Close()
	if refused := s.begin(last); refused == nil || refused.Kind != "stopping" {
		t.Errorf("after the end: %+v", refused)
	}
}

// TestAnOlderAgentMakesNothing: one without the capability keeps its own workspace, and says why it has no others.
func TestAnOlderAgentMakesNothing(t *testing.T) {
	o := newOffice(t, quick())
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), hello: func(h *Hello) { h.Minor = 3 }})
	o.until("a1", "online", online)
	rec := chat.WorkspaceRecord{ID: "m1", Name: "m1", Kind: chat.WorkspaceAgent, AgentID: "a1", Made: chat.Making{TemplateID: "t", Kind: chat.TemplateDirectory, Source: "/srv"}}
	_, err := o.appliance.Make(t.Context(), rec, func(string) {})
	var refused *chat.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Detail, "--make-in") {
		t.Errorf("%v", err)
	}
	ws, err := o.appliance.Open(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ws.Files().Raw(t.Context(), "x", 0); conformance.Kind(err) != "unreachable" {
		t.Errorf("a made one there: %v", err)
	}
	if _, err := o.open("a1").Files().Write(t.Context(), chat.WriteRequest{Path: "x", Content: []byte("x")}); err != nil {
		t.Errorf("its own: %v", err)
	}
}
