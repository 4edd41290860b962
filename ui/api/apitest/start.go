package apitest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/agentside/server"
	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/health"
	"holdfast/engine/mcp"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/notice"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/openai"
	"holdfast/engine/outbound"
	"holdfast/engine/probe"
	"holdfast/engine/rule"
	"holdfast/engine/runlog"
	"holdfast/engine/seal"
	"holdfast/engine/search"
	"holdfast/engine/site"
	"holdfast/engine/snapshot"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/kv/kvtest"
	"holdfast/tools"
	"holdfast/tools/fs"
	servers "holdfast/tools/mcp"
	"holdfast/tools/shell"
	"holdfast/ui/api"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// Model is the name of the model that an Appliance has.
const Model = "scripted:latest"

// Options of Start; the zero value is an appliance whose model answers every Message with scripted.Fallback.
type Options struct {
	// Dir is the data directory, "" a new one.
	Dir string
	// Scripts of the model, then Answer where none matches.
	Scripts []scripted.Script
	Answer  func(*scripted.Prompt) scripted.Reply
	// Server holds more models, and what can be pulled.
	Server scripted.Options
	Bounds engine.Bounds
	Calls  call.Options
	// Keepalive of streams, 0 is the API's own.
	Keepalive time.Duration
	Log       *slog.Logger
	// Clean takes secrets out of the run log; nil leaves all in.
	Clean func(string) string
	// MCP bounds MCP servers; the zero value has the appliance's own bounds.
	MCP servers.SourceOptions
	// Judged lets finished Turns be judged, which asks the model once more; else the classifier is off.
	Judged bool
	// Socket listens on this path, too; "" listens on none.
	Socket string
}

// Appliance is one that runs.
type Appliance struct {
	// URL is its address, Dir its data directory, Token the owner's.
	URL, Dir, Token string
	Client          *client.Client
	Store           *kv.Store
	Engine          *engine.Engine
	Usage           *usage.Room
	// Scripted is the model server; Models wires more of them into it.
	Scripted *scripted.Server
	Metrics  *metric.Registry
	Contexts *snapshot.Room

	account *account.Room
	parts   parts
}

// parts are what Stop ends.
type parts struct {
	key     *seal.Key
	places  *agentside.Workspaces
	search  *search.Room
	spaces  *workspace.Room
	runs    *runlog.Room
	out     *outbound.Room
	told    *notice.Room
	mcp     *mcp.Room
	running *scripted.Running
	server  *http.Server
	served  chan error
	// listening is how many answers served gives.
	listening int
	end       context.CancelCauseFunc
	stopped   bool
}

// Start starts an appliance and stops it when the test ends.
func Start(t testing.TB, o Options) *Appliance {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Appliance{Dir: o.Dir, Store: kvtest.OpenDir(t, o.Dir), Metrics: metric.New()}
	t.Cleanup(func() { a.Stop(t) })
	o.Server.Models = append([]scripted.Model{{Name: Model, Scripts: o.Scripts, Answer: o.Answer}}, o.Server.Models...)
	a.Scripted = scripted.New(o.Server)
	a.parts.running = scripted.Memory(a.Scripted)
	address, err := ollama.ParseURL(a.parts.running.URL)
	must(t, err)
	// Without a known memory every model gets the same window on every machine.
	adapter := ollama.New(ollama.Options{URL: address, Client: a.parts.running.Client, Log: o.Log, Slots: 16, TempDir: t.TempDir(),
		Memory: func(context.Context) int64 { return 0 }})
	a.parts.places, err = agentside.New(t.Context(), agentside.Options{Data: o.Dir, State: o.Dir, Temp: t.TempDir(), Log: o.Log,
		Dial: func(context.Context, server.Target) (server.Session, error) {
			return nil, errors.New("no MCP server is reached from here")
		}})
	must(t, err)
	a.account = account.New(a.Store, o.Log, nil)
	models, spaces := model.New(a.Store, adapter, nil), workspace.New(a.Store, a.parts.places, nil)
	set, err := tools.New(append(shell.Tools(shell.Options{}), fs.Tools(fs.Options{})...)...)
	must(t, err)
	a.Usage = usage.New(a.Store, o.Log, nil)
	a.parts.search = search.New(search.Options{Store: a.Store, Log: o.Log})
	runs, err := runlog.Open(filepath.Join(o.Dir, "runlog"), runlog.Options{Clean: o.Clean, Log: o.Log})
	must(t, err)
	t.Cleanup(runs.Close)
	a.parts.runs, err = runlog.New(t.Context(), a.Store, runs)
	must(t, err)
	calls := call.New(adapter, o.Calls)
	models.AllowProbe(func(ctx context.Context, c chat.ModelConfig, window int64, progress func(chat.Progress)) (chat.Probe, error) {
		return probe.Run(ctx, calls, probe.Input{Config: c, Window: window}, progress)
	})
	a.parts.out, err = outbound.New(t.Context(), outbound.Options{Store: a.Store, Log: o.Log, Metric: a.Metrics})
	must(t, err)
	source := a.mcpServers(t, o)
	a.parts.told = notice.New(a.Metrics, time.Now())
	a.Engine = engine.New(engine.Options{Store: a.Store, Model: runlog.Record(calls, runs), Traced: runs.Trace, Tools: set, Servers: source, FoundTools: models.FoundTools, Configs: model.Resolve,
		Committed: a.parts.search.Committed, Forget: runs.Forget, Notify: a.parts.told.Post, Keep: a.parts.told.Keep,
		Workspaces: spaces.Open, Spaces: spaces, Limit: a.Usage.Check, Metric: a.Metrics, Log: o.Log, Bounds: o.Bounds})
	a.parts.places.OnChange(a.Engine.Changed)
	a.Contexts = snapshot.New(snapshot.Options{Store: a.Store, Open: spaces.Open, Window: engine.Window(model.Resolve), Log: o.Log})
	a.Contexts.OwnChats(a.Engine.NewestContext)
	a.parts.places.PushTo(a.Contexts)
	a.account.OwnChats(account.Chats{Stop: a.Engine.StopPerson, Delete: a.Engine.DeletePerson})
	a.parts.key = allowOthers(t, a.Dir, models, a.parts.out.Client(outbound.Purpose{Name: "model", Declared: true, Stream: true}))
	a.reach(o)
	if !o.Judged {
		must(t, a.Store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutSite(site.ClassifierKey, chat.ClassifierConfig{}) }))
	}
	must(t, models.EnsureConfigs(t.Context()))
	a.parts.spaces = spaces
	a.serve(t, o, models, spaces)
	return a
}

// allowOthers lets configs name servers of the OpenAI protocol, as main does.
func allowOthers(t testing.TB, dir string, models *model.Room, client *http.Client) *seal.Key {
	t.Helper()
	key, _, err := seal.Load(dir)
	must(t, err)
	models.AllowOthers(model.Others{Key: key, Known: func(chat.Secret) {}, Server: func(base string, key chat.Secret) (chat.ModelServer, error) {
		u, err := url.Parse(base)
		if err != nil {
			return nil, err
		}
		return openai.New(openai.Options{URL: u, Client: client}).Server(key), nil
	}})
	return key
}

// agents is the room of Agents as main has it, but nobody listens for them.
func (a *Appliance) agents() *agent.Room {
	room := agent.New(a.Store, nil)
	room.Link(nil, agent.Address{URL: "https://127.0.0.1:1", Pin: "sha256:00"})
	return room
}

// serve puts the API behind the Gate on its addresses.
func (a *Appliance) serve(t testing.TB, o Options, models *model.Room, spaces *workspace.Room) {
	t.Helper()
	listeners, err := gate.Listen(t.Context(), []string{"127.0.0.1:0"})
	must(t, err)
	addresses := []net.Addr{listeners[0].Addr()}
	a.URL = "http://" + addresses[0].String()
	if o.Socket != "" {
		l, err := gate.ListenSocket(t.Context(), o.Socket)
		must(t, err)
		listeners = append(listeners, l)
	}
	guard := account.NewGuard(account.StoreOwners(a.Store), a.Metrics)
	records := audit.New(a.Store, o.Log)
	guard.AuditTo(records.Note)
	routes := api.New(api.Options{Chats: engine.NewGuarded(a.Engine, guard), Account: account.NewGuarded(a.account, guard),
		Search: search.NewGuarded(a.parts.search, guard), Models: model.NewGuarded(models, guard), Workspaces: workspace.NewGuarded(spaces, guard), Agents: agent.NewGuarded(a.agents(), guard), Usage: usage.NewGuarded(a.Usage, guard), Settings: site.NewGuarded(site.New(a.Store), guard), Rules: rule.NewGuarded(rule.New(a.Store, spaces.Open), guard), Files: file.NewGuarded(file.New(a.Store, nil), guard), Runs: runlog.NewGuarded(a.parts.runs, guard), Health: health.NewGuarded(health.New(a.Store), guard), Audit: audit.NewGuarded(records, guard), Keys: seal.NewGuarded(seal.NewRoom(a.parts.key, a.Dir, a.Store), guard), Outbound: outbound.NewGuarded(a.parts.out, guard), Notices: notice.NewGuarded(a.parts.told, guard), Contexts: snapshot.NewGuarded(a.Contexts, guard), MCP: mcp.NewGuarded(a.parts.mcp, guard), FinishSignIn: a.parts.mcp.Finish, Log: o.Log, Version: "test",
		Store: a.Store.State, URL: a.URL, Keepalive: o.Keepalive}).Routes()
	g, err := gate.New(gate.Options{Account: a.account, Metrics: a.Metrics, Log: o.Log, Addresses: addresses}, routes...)
	must(t, err)
	tokenFile := filepath.Join(o.Dir, "cli.token")
	must(t, a.account.EnsureCLIToken(t.Context(), tokenFile))
	text, err := os.ReadFile(tokenFile)
	must(t, err)
	a.Token = strings.TrimSpace(string(text))
	must(t, spaces.Begin(t.Context()))
	must(t, a.Engine.Start(t.Context()))
	a.parts.search.Start()
	base, end := context.WithCancelCause(context.Background())
	p := &a.parts
	p.end, p.server, p.served, p.listening = end, g.Server(base), make(chan error, len(listeners)), len(listeners)
	for _, l := range listeners {
		go func() { p.served <- p.server.Serve(l) }()
	}
	a.Client = a.As(t, a.Token)
}

// As gives a Client with another token.
func (a *Appliance) As(t testing.TB, token string) *client.Client {
	t.Helper()
	c, err := client.New(a.URL, token)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// AddUser makes a person and gives their token.
func (a *Appliance) AddUser(t testing.TB, name string, role chat.UserRole) (chat.UserID, string) {
	t.Helper()
	owner, err := a.account.EnsureOwner(t.Context())
	must(t, err)
	u := &chat.User{ID: newUserID(), Name: name, Role: role, CreatedAt: time.Now().UTC()}
	must(t, a.Store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutUser(u) }))
	out, err := a.account.CreateToken(t.Context(), owner, account.CreateTokenInput{Name: "test", UserID: u.ID})
	must(t, err)
	return u.ID, out.Token
}

// Stop ends the appliance gracefully, as a signal would; the store is checked and closed. Stopping twice is once.
func (a *Appliance) Stop(t testing.TB) {
	t.Helper()
	if a.parts.stopped {
		return
	}
	a.parts.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := a.Engine.Close(ctx)
	a.parts.told.Close()
	if a.parts.spaces != nil {
		a.parts.spaces.Close()
	}
	a.parts.search.Close()
	if a.parts.server != nil {
		a.parts.end(chat.CauseShutdown)
		a.Client.Close()
		err = errors.Join(err, a.parts.server.Shutdown(ctx))
		for range a.parts.listening {
			if e := <-a.parts.served; !errors.Is(e, http.ErrServerClosed) {
				err = errors.Join(err, e)
			}
		}
	}
	must(t, errors.Join(err, a.parts.places.Close(ctx), a.parts.running.Close()))
	kvtest.Finish(t, a.Store)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
