package link

import (
	"context"
	"crypto/ed25519"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/agentside/conformance"
	"holdfast/agentside/sandbox"
	"holdfast/agentside/server"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// office is an appliance on a real TCP port, with a list of Agents that a test writes.
type office struct {
	t         *testing.T
	appliance *Appliance
	server    *httptest.Server
	log       *slog.Logger
	times     Times

	mu     sync.Mutex
	agents map[chat.AgentID]chat.AgentRecord
	seen   map[chat.AgentID]int
}

const patience = time.Minute

// quick are times for tests: what must not happen by itself takes long, what is waited for comes soon.
func quick() Times {
	return Times{Heartbeat: 50 * time.Millisecond, Silence: 20 * time.Second, RetryFirst: 5 * time.Millisecond, RetryMost: 50 * time.Millisecond, Refused: 50 * time.Millisecond,
		Piece: 300 * time.Millisecond}
}

func newOffice(t *testing.T, times Times) *office {
	t.Helper()
	before := runtime.NumGoroutine()
	o := &office{t: t, log: slog.New(slog.NewTextHandler(io.Discard, nil)), times: times, agents: map[chat.AgentID]chat.AgentRecord{}, seen: map[chat.AgentID]int{}}
	o.appliance = NewAppliance(ApplianceOptions{Record: o.record, Enrol: o.enrol, Seen: o.note, Version: "test", BootID: "appliance", Log: o.log, Times: times})
	o.server = httptest.NewServer(o.appliance.Handler(PeerKey{}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := o.appliance.Close(ctx); err != nil {
			t.Error(err)
		}
		o.server.Close()
		settle(t, before)
	})
	return o
}

// settle waits until no goroutine is left that was not there before.
func settle(t *testing.T, before int) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); runtime.Gosched() {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stack := make([]byte, 1<<16)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stack[:runtime.Stack(stack, true)])
}

func (o *office) record(_ context.Context, id chat.AgentID) (chat.AgentRecord, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.agents[id]
	if !ok {
		return r, chat.NotFound("agent")
	}
	return r, nil
}

// enrol takes the token "good" once.
func (o *office) enrol(_ context.Context, in EnrolRequest) (EnrolAnswer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if in.Token != "good" || len(o.agents) > 0 {
		return EnrolAnswer{}, &chat.Error{Kind: chat.KindUnauthenticated, Message: "no"}
	}
	o.agents["a1"] = chat.AgentRecord{ID: "a1", WorkspaceID: "w1", PublicKey: in.PublicKey, Host: in.Host, Directory: in.Directory}
	return EnrolAnswer{AgentID: "a1", WorkspaceID: "w1"}, nil
}

func (o *office) note(_ context.Context, id chat.AgentID, _ *chat.AgentGreeting) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[id]++
	return nil
}

func (o *office) url() *url.URL {
	u, err := url.Parse(o.server.URL)
	if err != nil {
		o.t.Fatal(err)
	}
	return u
}

// desk is an Agent beside a real directory.
type desk struct {
	dir    string
	places *agentside.Workspaces
	agent  *Agent
	wire   *wiring
	stop   func()
}

// wiring makes an Agent's connections and cuts them.
type wiring struct {
	mu    sync.Mutex
	conns []net.Conn
	// down refuses new ones.
	down bool
}

func (w *wiring) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	return c, nil
}

// cut breaks what is there; down keeps it so.
func (w *wiring) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *wiring) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

type deskOptions struct {
	boot  string
	id    Identity
	dir   string
	hello func(*Hello)
	push  func(context.Context, *Pusher) error
	// box confines its commands; nil is an Agent without a sandbox.
	box *sandbox.Box
	// files is its context, which it then serves and pushes; nil is none.
	files *wctx.Manager
	// peer is where its MCP servers lead; nil is an Agent without any. held gets the profiles that it is told.
	peer *conformance.Peer
	held chan chat.Profile
}

// newDesk starts an Agent; the boot id names its run.
func newDesk(t *testing.T, o *office, d deskOptions) *desk {
	t.Helper()
	if d.dir == "" {
		d.dir = realDir(t)
	}
	state := realDir(t)
	places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "chats"), Sandbox: d.box, Log: o.log, Dial: dialOf(d.peer)})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: d.dir})
	if err != nil {
		t.Fatal(err)
	}
	hello := Hello{Capabilities: []string{CapProcesses, CapFiles, CapGit, CapRules, CapKeep}, BootID: d.boot, BinaryVersion: "test", OS: runtime.GOOS}
	api := NewAPI(ws, d.boot)
	if d.box != nil {
		level, reason := d.box.Level()
		hello.Sandbox, hello.SandboxReason, hello.SandboxOpen = string(level), reason, d.box.Report(chat.ProfileWorkspace).Open
		hello.Capabilities = append(hello.Capabilities, CapSandbox)
	}
	if d.peer != nil {
		hello.Capabilities = append(hello.Capabilities, CapServers)
		d.files = d.serve(t, places, api)
	}
	if d.files != nil {
		hello.Capabilities = append(hello.Capabilities, CapContext, CapPush)
		api.ServeContext(wctx.Handler(d.files, o.log))
		d.push = func(ctx context.Context, to *Pusher) error {
			return wctx.Push(ctx, d.files, to.Send, wctx.PushOptions{Log: o.log, Report: to.Report})
		}
	}
	w := &wiring{}
	a, err := NewAgent(AgentOptions{Dialling: Dialling{URL: o.url(), connect: w.dial}, Identity: d.id, API: api, Hello: hello, Push: d.push, Log: o.log, Times: o.times})
	if err != nil {
		t.Fatal(err)
	}
	if d.hello != nil {
		d.hello(&a.o.Hello)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
		late, end := context.WithTimeout(context.Background(), patience)
		defer end()
		if err := places.Close(late); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &desk{dir: d.dir, places: places, agent: a, wire: w, stop: stop}
}

// serve makes the context of a desk with its servers.
func (d deskOptions) serve(t *testing.T, places *agentside.Workspaces, api *API) *wctx.Manager {
	var files *wctx.Manager
	began := make(chan struct{})
	provider := places.Serve("w1", d.dir, func() {
		<-began
		files.Trigger()
	})
	files = contextOf(t, d.dir, d.boot, agentside.Watched(provider))
	close(began)
	t.Cleanup(provider.Close)
	api.ServeServers(provider, func(_ context.Context, p chat.Profile) error {
		if d.held != nil {
			d.held <- p
		}
		return nil
	})
	return files
}

func dialOf(p *conformance.Peer) server.Dial {
	if p == nil {
		return nil
	}
	return p.Dial
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// enrolled gives the identity of an Agent that the office knows.
func (o *office) enrolled(id chat.AgentID) Identity {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.agents[id] = chat.AgentRecord{ID: id, WorkspaceID: "w1", PublicKey: public}
	return Identity{AgentID: id, WorkspaceID: "w1", Seed: private.Seed()}
}

func (o *office) open(id chat.AgentID) chat.Workspace {
	o.t.Helper()
	ws, err := o.appliance.Open(o.t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceAgent, AgentID: id})
	if err != nil {
		o.t.Fatal(err)
	}
	return ws
}

// until waits for a state of an Agent's line.
func (o *office) until(id chat.AgentID, what string, holds func(chat.AgentState) bool) chat.AgentState {
	o.t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); runtime.Gosched() {
		if s := o.appliance.State(id); holds(s) {
			return s
		}
	}
	o.t.Fatalf("%s: never %s, but %+v", id, what, o.appliance.State(id))
	return chat.AgentState{}
}

func online(s chat.AgentState) bool  { return s.Online }
func offline(s chat.AgentState) bool { return !s.Online }

var _ http.Handler = (*API)(nil)
