package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
	"holdfast/ui"
	"holdfast/ui/api"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// shutdownTime bounds a graceful stop.
const shutdownTime = 10 * time.Second

// serveOptions are the flags and variables of serve.
type serveOptions struct {
	data   string
	listen list
	hosts  list
	// ollama is the model server's address; fixed when it was given at the start, so that pages cannot change it.
	ollama      string
	ollamaFixed bool
	noOpen      bool
	log         logOptions
	develop     developOptions
	// slots is how many calls of one model run at once.
	slots int
	// limits are what one person may have open at once.
	limits gate.Limits
	bounds engine.Bounds
}

// logOptions are level and format of the log.
type logOptions struct{ level, format string }

// developOptions serve the gallery, and static files from a directory.
type developOptions struct {
	gallery bool
	assets  string
}

// list is a flag that may be given several times.
type list []string

// String and Set make a list a flag.Value.
func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func parseServe(args []string, stderr io.Writer) (serveOptions, error) {
	var o serveOptions
	flags := flag.NewFlagSet("holdfast", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.data, "data", cli.DefaultData(), "data directory")
	flags.Var(&o.listen, "listen", "loopback address to listen on; may be repeated (default 127.0.0.1:8420)")
	flags.Var(&o.hosts, "host", "further name:port under which browsers reach this appliance; may be repeated")
	flags.StringVar(&o.ollama, "ollama", firstOf(os.Getenv("HOLDFAST_OLLAMA"), os.Getenv("OLLAMA_HOST")), "address of the model server (default http://127.0.0.1:11434)")
	flags.StringVar(&o.log.level, "log-level", firstOf(os.Getenv("HOLDFAST_LOG_LEVEL"), "info"), "debug, info, warn or error")
	flags.StringVar(&o.log.format, "log-format", "auto", "auto, text or json")
	flags.BoolVar(&o.noOpen, "no-open", false, "do not open the browser")
	flags.BoolVar(&o.develop.gallery, "dev", false, "serve the gallery of components, for development")
	flags.StringVar(&o.develop.assets, "assets", "", "directory with the static files, for development")
	flags.IntVar(&o.bounds.RunningTurns, "turns", 5, "how many turns run at once")
	flags.IntVar(&o.slots, "slots", 1, "how many calls of one model run at once")
	flags.IntVar(&o.limits.UserRequests, "user-requests", 256, "how many requests one person may have open at once")
	flags.IntVar(&o.limits.UserStreams, "user-streams", 64, "how many streams one person may have open at once")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.Usage()
		return o, &cli.Exit{Code: cli.CodeDone}
	} else if err != nil {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	if flags.NArg() > 0 {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "serve takes no arguments, got " + flags.Arg(0)}
	}
	o.ollamaFixed = o.ollama != ""
	if len(o.listen) == 0 {
		o.listen = list{firstOf(os.Getenv("HOLDFAST_LISTEN"), "127.0.0.1:8420")}
	}
	if len(o.hosts) == 0 && os.Getenv("HOLDFAST_HOSTS") != "" {
		o.hosts = strings.Split(os.Getenv("HOLDFAST_HOSTS"), ",")
	}
	if min(o.bounds.RunningTurns, o.slots, o.limits.UserRequests, o.limits.UserStreams) < 1 {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "--turns, --slots, --user-requests and --user-streams must be at least 1"}
	}
	return o, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// serve opens the store, recovers, listens and serves until ctx ends. The order is that of operations.md 1.
func serve(ctx context.Context, o serveOptions, stdout, stderr io.Writer) (err error) {
	log, err := newLogger(o.log.level, o.log.format, stderr)
	if err != nil {
		return &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	if err := kv.PrepareDir(o.data, false); err != nil {
		return err
	}
	lock, err := kv.LockDir(o.data, kv.LockInfo{PID: os.Getpid(), Started: time.Now(), BootID: bootID(), Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	store, err := kv.Open(ctx, o.data, kv.Options{Log: log, Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := o.readSite(ctx, store); err != nil {
		return err
	}
	metrics := metric.New()
	places, err := agentside.New(ctx, agentside.Options{Data: o.data, State: o.data, Log: log})
	if err != nil {
		return err
	}
	h, err := wire(o, store, places, metrics, log)
	if err != nil {
		return errors.Join(err, closePlaces(places))
	}
	return errors.Join(h.serve(ctx, o, lock, stdout), closePlaces(places), h.demo.Close())
}

// readSite takes what the site configuration says where no flag or variable does.
func (o *serveOptions) readSite(ctx context.Context, store *kv.Store) error {
	if o.ollamaFixed {
		return nil
	}
	var setting model.ServerSetting
	err := store.View(ctx, func(tx *kv.Tx) error {
		_, err := tx.Site(model.ServerKey, &setting)
		return err
	})
	o.ollama = setting.URL
	return err
}

// house is everything that is wired, ready to listen.
type house struct {
	store   *kv.Store
	engine  *engine.Engine
	account *account.Room
	models  *model.Room
	demo    *scripted.Running
	metrics *metric.Registry
	log     *slog.Logger
	routes  func(listening []net.Listener) ([]gate.Route, *ui.Site, error)
}

// wire makes the rooms and hands each what it needs. It touches neither network nor store.
func wire(o serveOptions, store *kv.Store, places *agentside.Workspaces, metrics *metric.Registry, log *slog.Logger) (*house, error) {
	server := &modelServer{make: func(url string) (*ollama.Adapter, error) {
		address, err := ollama.ParseURL(url)
		if err != nil {
			return nil, err
		}
		return ollama.New(ollama.Options{URL: address, Log: log, Slots: o.slots, TempDir: filepath.Join(o.data, "tmp")}), nil
	}}
	if err := server.connect(o.ollama); err != nil {
		return nil, &cli.Exit{Code: cli.CodeUsage, Message: "--ollama: " + err.Error()}
	}
	demo := scripted.Memory(scripted.New(scripted.Options{Models: []scripted.Model{scripted.Demo()}}))
	demoURL, err := ollama.ParseURL(demo.URL)
	if err != nil {
		return nil, err
	}
	demoModel := ollama.New(ollama.Options{URL: demoURL, Client: demo.Client, Log: log, Slots: 4, Memory: func(context.Context) int64 { return 0 }})
	toolSet, err := tools.New(append(shell.Tools(shell.Options{}), fs.Tools(fs.Options{})...)...)
	if err != nil {
		return nil, err
	}
	accounts := account.New(store, log, time.Now)
	models := model.New(store, server, time.Now)
	if !o.ollamaFixed {
		models.AllowConnect(server.connect)
	}
	spaces := workspace.New(store, places, time.Now)
	calls := call.New(providers{chat.ProviderOllama: server, chat.ProviderDemo: demoModel}, call.Options{FreeMemory: server.freeMemory})
	eng := engine.New(engine.Options{Store: store, Model: calls, Tools: toolSet, Configs: model.Resolve, Workspaces: spaces.Open,
		Forget: places.Forget, HalveWindow: models.HalveWindow,
		Metric: metrics, Log: log, Bounds: o.bounds})
	guard := account.NewGuard(account.StoreOwners(store), metrics)
	h := &house{store: store, engine: eng, account: accounts, models: models, demo: demo, metrics: metrics, log: log}
	h.routes = func(listening []net.Listener) ([]gate.Route, *ui.Site, error) {
		chats, people := engine.NewGuarded(eng, guard), account.NewGuarded(accounts, guard)
		configs, folders := model.NewGuarded(models, guard), workspace.NewGuarded(spaces, guard)
		site, err := ui.New(ui.Options{Chats: chats, Account: people, Models: configs, Workspaces: folders, Log: log, Dev: o.develop.gallery,
			Assets: o.develop.assets, Version: version, Host: listening[0].Addr().String()})
		if err != nil {
			return nil, nil, err
		}
		routes := append(site.Routes(), api.New(api.Options{Chats: chats, Account: people, Models: configs, Workspaces: folders, Log: log,
			Version: version, Store: store.State, URL: "http://" + listening[0].Addr().String()}).Routes()...)
		return routes, site, nil
	}
	return h, nil
}

// serve binds, recovers, prints where it is, and serves until ctx ends.
func (h *house) serve(ctx context.Context, o serveOptions, lock *kv.DirLock, stdout io.Writer) error {
	listeners, err := gate.Listen(ctx, o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	socket, err := gate.ListenSocket(ctx, cli.SocketPath(o.data))
	if err != nil {
		return errors.Join(fmt.Errorf("listen on the socket: %w", err), closeAll(listeners))
	}
	all := append(listeners, socket)
	base, end := context.WithCancelCause(context.Background())
	defer end(nil)
	g, site, err := h.gate(o, listeners)
	if err != nil {
		return errors.Join(err, closeAll(all))
	}
	if err := errors.Join(h.account.EnsureCLIToken(ctx, cli.TokenPath(o.data)), h.engine.Start(ctx)); err != nil {
		return errors.Join(err, closeAll(all))
	}
	var kept sync.WaitGroup
	defer kept.Wait()
	kept.Go(func() { h.keep(base) })
	server := g.Server(base)
	failed := make(chan error, len(all))
	for _, l := range all {
		go func() { failed <- server.Serve(l) }()
	}
	url := "http://" + listeners[0].Addr().String()
	if err := lock.SetAddress(url); err != nil {
		h.log.Warn("the lock file does not name the address", "error", err)
	}
	if err := h.greet(ctx, o, url, stdout); err != nil {
		h.log.Warn("no login link was printed", "error", err)
	}
	var broken error
	select {
	case <-ctx.Done():
		h.log.Info("stopping")
	case broken = <-failed:
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	err = h.engine.Close(stopCtx)
	end(chat.CauseShutdown)
	site.Close()
	err = errors.Join(broken, err, server.Shutdown(stopCtx))
	if broken == nil {
		<-failed
	}
	for range len(all) - 1 {
		<-failed
	}
	return err
}

// sweepEvery is how often what has had its time is removed from the store.
const sweepEvery = time.Hour

// keep sweeps the store at the start and then hourly, until ctx ends.
func (h *house) keep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if _, err := h.store.Sweep(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("the store could not be swept", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
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
	g, err := gate.New(gate.Options{Account: h.account, Metrics: h.metrics, Log: h.log, Addresses: addresses, Hosts: o.hosts, Limits: o.limits,
		LoginPage: site.LoginPage, ErrorPage: site.ErrorPage, Ready: h.ready}, routes...)
	return g, site, err
}

func (h *house) ready() gate.Readiness {
	state, reason := h.store.State()
	if state == "ok" {
		return gate.Readiness{}
	}
	return gate.Readiness{NotReady: []string{state + ": " + reason}}
}

// greet prints the address, and a one-time login link unless a service manager reads the output.
func (h *house) greet(ctx context.Context, o serveOptions, url string, stdout io.Writer) error {
	if _, err := fmt.Fprintln(stdout, "Holdfast", version, "is at", url); err != nil {
		return err
	}
	if os.Getenv("JOURNAL_STREAM") != "" || os.Getenv("NOTIFY_SOCKET") != "" {
		return nil
	}
	owner, err := h.account.EnsureOwner(ctx)
	if err != nil {
		return err
	}
	login, err := h.account.CreateLogin(ctx, owner, account.CreateLoginInput{Lifetime: 10 * time.Minute})
	if err != nil {
		return err
	}
	link := url + "/login?code=" + login.Code
	if _, err := fmt.Fprintf(stdout, "Open this link to sign in (once, within 10 minutes):\n\n  %s\n\nCtrl-C stops it. A new link: holdfast token login\n", link); err != nil {
		return err
	}
	if o.noOpen || !cli.IsTerminal(stdout) {
		return nil
	}
	return cli.OpenBrowser(ctx, link)
}

func closeAll(listeners []net.Listener) error {
	var err error
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

func closePlaces(places *agentside.Workspaces) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
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

// newLogger writes text on a terminal and JSON elsewhere, unless told otherwise.
func newLogger(level, format string, w io.Writer) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	if format == "auto" {
		format = "json"
		if cli.IsTerminal(w) {
			format = "text"
		}
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
			}
			return a
		}
		return slog.New(gate.LogHandler(slog.NewTextHandler(w, o))), nil
	case "json":
		return slog.New(gate.LogHandler(slog.NewJSONHandler(w, o))), nil
	}
	return nil, errors.New("--log-format must be auto, text or json")
}
