package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/notice"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/outbound"
	"holdfast/engine/runlog"
	"holdfast/engine/seal"
	"holdfast/engine/search"
	"holdfast/engine/snapshot"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
	"holdfast/ui"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// house is everything that is wired, ready to listen.
type house struct {
	keeper  *keeper
	engine  *engine.Engine
	account *account.Room
	models  *model.Room
	spaces  *workspace.Room
	search  *search.Room
	// ended ends what the rooms began by themselves.
	ended   func() error
	agents  *agentsDoor
	metrics *metric.Registry
	log     *slog.Logger
	// stopping: the graceful stop has begun.
	stopping atomic.Bool
	routes   func(listening []net.Listener) ([]gate.Route, *ui.Site, error)
}

// wire makes the rooms and hands each what it needs. It touches neither network nor store.
func wire(o serveOptions, store *kv.Store, hidden *secrets, places *agentside.Workspaces, asked *runs, metrics *metric.Registry, log *slog.Logger) (*house, error) {
	server, err := o.modelServer(log)
	if err != nil {
		return nil, err
	}
	demo, demoModel, err := demoServer(log)
	if err != nil {
		return nil, err
	}
	toolSet, err := tools.New(append(shell.Tools(shell.Options{MaxRuntime: o.reach.turns.maxRuntime}), fs.Tools(fs.Options{})...)...)
	if err != nil {
		return nil, err
	}
	accounts := account.New(store, log, time.Now)
	models, calls := o.models(store, server, demoModel, hidden)
	o.live.server, o.live.store, o.live.log = server, store, log
	spaces := workspace.New(store, places, time.Now).BoundBy(o.reach.turns.maxRuntime)
	agents := agent.New(store, time.Now)
	spaces.LogTo(log)
	costs, find := usage.New(store, log, time.Now), search.New(search.Options{Store: store, Log: log})
	told := notice.New(metrics, time.Now())
	told.Reach(o.live.pushes(store, hidden, log))
	servers, source := o.mcpServers(store, hidden, log)
	eng := engine.New(engine.Options{
		Store:       store,
		Model:       runlog.Record(calls, asked.Log),
		Traced:      asked.Trace,
		Clean:       hidden.known.Clean,
		Tools:       toolSet,
		Servers:     source,
		Configs:     model.Resolve,
		Workspaces:  spaces.Open,
		Spaces:      spaces,
		Forget:      asked.forgetting(places.Forget),
		HalveWindow: models.HalveWindow,
		FoundTools:  models.FoundTools,
		Seats:       server.seats,
		Limit:       costs.Check,
		Committed:   find.Committed,
		Notify:      told.Post, Keep: told.Keep,
		Metric: metrics,
		Log:    log,
		Bounds: o.bounds,
	})
	contexts := snapshot.New(snapshot.Options{
		Store:   store,
		Open:    spaces.Open,
		Window:  engine.Window(model.Resolve),
		Changed: eng.Changed,
		Moved:   eng.ContextMoved,
		Log:     log,
	})
	door := newAgentsDoor(agents, places, spaces, contexts, metrics, hidden.known, log)
	contexts.OwnChats(eng.NewestContext)
	places.OnChange(eng.Changed)
	places.PushTo(contexts)
	accounts.OwnChats(account.Chats{Stop: eng.StopPerson, Delete: eng.DeletePerson, Workspaces: spaces.DeletePerson})
	h := &house{keeper: &keeper{store: store, audit: audit.New(store, log), log: log}, engine: eng, account: accounts, models: models, spaces: spaces, search: find, ended: func() error { told.Close(); return demo.Close() }, agents: door, metrics: metrics,
		log: log}
	inside := rooms{
		stock:    stock{store, seal.NewRoom(hidden.key, o.data, store), metrics, hidden.known},
		engine:   eng,
		account:  accounts,
		models:   models,
		spaces:   spaces,
		agents:   agents,
		search:   find,
		usage:    costs,
		runs:     asked.room,
		notice:   told,
		outside:  outside{outbound: o.live.outbound, mcp: servers},
		contexts: contexts,
	}
	h.routes = func(listening []net.Listener) ([]gate.Route, *ui.Site, error) {
		guard := account.NewGuard(account.StoreOwners(store), metrics)
		guard.AuditTo(h.keeper.audit.Note)
		return inside.routes(o, guard, log, listening[0].Addr().String())
	}
	return h, nil
}

// modelServer is the model server at the address of the options; it is not asked anything.
func (o *serveOptions) modelServer(log *slog.Logger) (*modelServer, error) {
	client := o.live.outbound.Client(outbound.Purpose{Name: "model server", Model: true, Fixed: o.live.isFixed, Stream: true, Idle: 512})
	fetch := outbound.Purpose{Name: "model pull, by the model server", Declared: true}
	server := &modelServer{mayFetch: func(ctx context.Context, host string) (func(), error) {
		return o.live.outbound.Hand(ctx, fetch, host, 443)
	}, make: func(url string) (*ollama.Adapter, error) {
		address, err := ollama.ParseURL(url)
		if err != nil {
			return nil, err
		}
		return ollama.New(ollama.Options{URL: address, Client: client, Log: log, Slots: o.slots, TempDir: filepath.Join(o.data, "tmp")}), nil
	}}
	if err := server.connect(o.ollama); err != nil {
		return nil, &cli.Exit{Code: cli.CodeUsage, Message: "--ollama: " + err.Error()}
	}
	return server, nil
}

// models is the room of the Model configs, and the one way to call any of them.
func (o *serveOptions) models(store *kv.Store, server *modelServer, demo chat.Model, hidden *secrets) (*model.Room, *call.Model) {
	models := model.New(store, server, time.Now)
	models.AllowConnect(func(url string) error {
		if o.live.isFixed() {
			return model.AddressFixed()
		}
		return server.connect(url)
	})
	elsewhere := newOthers(o.slots, o.live.outbound.Client(outbound.Purpose{Name: "model", Declared: true, Stream: true, Idle: 64}))
	elsewhere.serve(models, hidden)
	calls := call.New(providers{chat.ProviderOllama: server, chat.ProviderDemo: demo, chat.ProviderOpenAI: elsewhere}, call.Options{FreeMemory: server.freeMemory})
	models.AllowProbe(prober(calls))
	return models, calls
}

// demoServer is the scripted demo model, in memory.
func demoServer(log *slog.Logger) (*scripted.Running, *ollama.Adapter, error) {
	demo := scripted.Memory(scripted.New(scripted.Options{Models: []scripted.Model{scripted.Demo()}}))
	url, err := ollama.ParseURL(demo.URL)
	if err != nil {
		return nil, nil, err
	}
	return demo, ollama.New(ollama.Options{URL: url, Client: demo.Client, Log: log, Slots: 4, Memory: func(context.Context) int64 { return 0 }}), nil
}

func (h *house) gate(o serveOptions, listeners []net.Listener) (*gate.Gate, *ui.Site, error) {
	routes, site, err := h.routes(listeners)
	if err != nil {
		return nil, nil, err
	}
	var addresses []net.Addr
	for _, l := range listeners {
		addresses = append(addresses, l.Addr())
	}
	o.live.outbound.Listening(append(addresses, h.agents.addresses()...))
	g, err := gate.New(gate.Options{Account: h.account, Metrics: h.metrics, Log: h.log, Addresses: addresses, Hosts: o.reach.hosts, Limits: o.limits,
		LoginPage: site.LoginPage, ErrorPage: site.ErrorPage, StreamAway: site.StreamAway, Ready: h.ready}, routes...)
	return g, site, err
}

func (h *house) ready() gate.Readiness {
	if h.stopping.Load() {
		return gate.Readiness{NotReady: []string{"stopping"}}
	}
	if state, reason := h.keeper.store.State(); state != kv.StateOK {
		return gate.Readiness{NotReady: []string{state + ": " + reason}}
	}
	if space, err := h.keeper.store.Space(); err == nil && space.Low {
		return gate.Readiness{NotReady: []string{fmt.Sprintf("%s: %d bytes are free in %s", kv.StateNoSpace, space.Free, space.Path)}}
	}
	return gate.Readiness{}
}

// greet prints the address, and a one-time login link unless a service manager reads the output; then asked is false.
func (h *house) greet(ctx context.Context, url string, stdout io.Writer) (asked bool, err error) {
	if _, err := fmt.Fprintln(stdout, "Holdfast", version, "is at", url); err != nil {
		return false, err
	}
	if os.Getenv("JOURNAL_STREAM") != "" || os.Getenv("NOTIFY_SOCKET") != "" {
		return false, nil
	}
	owner, err := h.account.EnsureOwner(ctx)
	if err != nil {
		return false, err
	}
	login, err := h.account.CreateLogin(ctx, owner, account.CreateLoginInput{Lifetime: 10 * time.Minute})
	if err != nil {
		return false, err
	}
	link := url + "/login?code=" + login.Code
	_, err = fmt.Fprintf(stdout, "Open this link to sign in (once, within 10 minutes):\n\n  %s\n\nCtrl-C stops it. A new link: holdfast token login\n", link)
	return err == nil, err
}

// open opens the browser at the address, without the code: what is an argument of a program, every user of the machine can read. The link
// is printed, so that a machine without a browser is no failure.
func (h *house) open(ctx context.Context, url string) {
	if err := cli.OpenBrowser(ctx, url); err != nil && ctx.Err() == nil {
		h.log.Debug("the browser was not opened", chat.LogError, err)
	}
}

func closeAll(listeners []net.Listener) error {
	var err error
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

func closePlaces(places *agentside.Workspaces, by time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	return places.Close(ctx)
}

// bootID names this boot of the machine; a machine without one gets a new one each time.
func bootID() string {
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(b))
	}
	return uuid.NewString()
}
