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
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/agentside/sandbox"
	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/health"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/notice"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/runlog"
	"holdfast/engine/search"
	"holdfast/engine/site"
	"holdfast/engine/snapshot"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
	"holdfast/ui"
	"holdfast/ui/api"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// gcPercent trades some memory for the collector's time; what lives is small.
const gcPercent = 140

// shutdownTime bounds a graceful stop.
const shutdownTime = 10 * time.Second

// serveOptions are the flags and variables of serve.
type serveOptions struct {
	data string
	// networkFS takes a data directory on a network file system.
	networkFS bool
	listen    list
	reach     reachOptions
	// ollama is the model server's address.
	ollama  string
	noOpen  bool
	log     logOptions
	develop developOptions
	// live says where the settings came from.
	live *live
	// slots is how many calls of one model run at once.
	slots int
	// limits are what one person may have open at once.
	limits gate.Limits
	bounds engine.Bounds
}

// reachOptions say under which further names browsers reach the appliance, and on which address Agents do.
type reachOptions struct {
	hosts  list
	agents string
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

// parseServe takes each setting from its flag, else its variable, else the configuration file, else the default.
func parseServe(args []string, stderr io.Writer) (serveOptions, error) {
	var o serveOptions
	var configPath string
	flags := flag.NewFlagSet("holdfast", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&configPath, "config", os.Getenv("HOLDFAST_CONFIG"), "configuration file, in JSON (default "+defaultConfig()+")")
	flags.StringVar(&o.data, "data", os.Getenv("HOLDFAST_DATA"), "data directory (default "+cli.DefaultData()+")")
	flags.BoolVar(&o.networkFS, "allow-network-fs", false, "take a data directory on a network file system")
	flags.Var(&o.listen, "listen", "loopback address to listen on; may be repeated (default 127.0.0.1:8420)")
	flags.Var(&o.reach.hosts, "host", "further name:port under which browsers reach this appliance; may be repeated")
	flags.StringVar(&o.reach.agents, "agents-listen", os.Getenv("HOLDFAST_AGENTS_LISTEN"), "address on which agents call, over TLS (default none)")
	flags.StringVar(&o.ollama, "ollama", os.Getenv("HOLDFAST_OLLAMA"), "address of the model server (default http://127.0.0.1:11434)")
	flags.StringVar(&o.log.level, "log-level", os.Getenv("HOLDFAST_LOG_LEVEL"), "debug, info, warn or error (default info)")
	flags.StringVar(&o.log.format, "log-format", "", "auto, text or json (default auto)")
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
	if min(o.bounds.RunningTurns, o.slots, o.limits.UserRequests, o.limits.UserStreams) < 1 {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "--turns, --slots, --user-requests and --user-streams must be at least 1"}
	}
	file, err := readConfig(configPath)
	if err != nil {
		return o, err
	}
	o.live = &live{args: args}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	err = o.fill(file)
	o.live.settings = o.sources(given, file)
	return o, err
}

// sources lists the settings that count, each with where it came from: flag, variable, file, page or default.
func (o *serveOptions) sources(given map[string]bool, file config) []client.Setting {
	from := func(key, value, name string, inFile bool, variables ...string) client.Setting {
		s := client.Setting{Key: key, Value: value, Source: "default"}
		set := func(variable string) bool { return os.Getenv(variable) != "" }
		switch {
		case name != "" && given[name]:
			s.Source = "flag"
		case len(variables) > 0 && set(variables[0]):
			s.Source = "variable"
		case inFile:
			s.Source = "file"
		case len(variables) > 1 && set(variables[1]):
			s.Source = "variable"
		}
		return s
	}
	server := from("model_server.url", o.ollama, "ollama", file.modelServer != "", "HOLDFAST_OLLAMA", "OLLAMA_HOST")
	if server.Source == "default" {
		// A page may set it; what no page has set is the adapter's default.
		server.Source = "page"
	}
	return []client.Setting{
		from("data", o.data, "data", file.data != "", "HOLDFAST_DATA"),
		from("listen", strings.Join(o.listen, ","), "listen", len(file.listen) > 0, "HOLDFAST_LISTEN"),
		from("hosts", strings.Join(o.reach.hosts, ","), "host", len(file.hosts) > 0, "HOLDFAST_HOSTS"),
		server,
		from("agents.listen", o.reach.agents, "agents-listen", file.agentsListen != "", "HOLDFAST_AGENTS_LISTEN"),
		from("engine.acquire_batch", strconv.Itoa(o.bounds.AcquireBatch), "", file.acquireBatch > 0, "HOLDFAST_ACQUIRE_BATCH"),
		from("log.level", o.log.level, "log-level", file.log.level != "", "HOLDFAST_LOG_LEVEL"),
		from("log.format", o.log.format, "log-format", file.log.format != ""),
	}
}

// fill takes what no flag has set from its variable, else from the file, else the default.
func (o *serveOptions) fill(file config) error {
	o.data = firstOf(o.data, file.data, cli.DefaultData())
	if o.data == "" {
		return &cli.Exit{Code: cli.CodeUsage, Message: "no data directory is known on this machine; give one with --data"}
	}
	o.listen = firstList(o.listen, commaList("HOLDFAST_LISTEN"), file.listen, list{"127.0.0.1:8420"})
	o.reach.hosts = firstList(o.reach.hosts, commaList("HOLDFAST_HOSTS"), file.hosts)
	o.reach.agents = firstOf(o.reach.agents, file.agentsListen)
	o.ollama = firstOf(o.ollama, file.modelServer, os.Getenv("OLLAMA_HOST"))
	o.live.fixed = o.ollama != ""
	o.log = logOptions{level: firstOf(o.log.level, file.log.level, "info"), format: firstOf(o.log.format, file.log.format, "auto")}
	o.bounds.AcquireBatch = file.acquireBatch
	if v := os.Getenv("HOLDFAST_ACQUIRE_BATCH"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return &cli.Exit{Code: cli.CodeUsage, Message: fmt.Sprintf("HOLDFAST_ACQUIRE_BATCH must be a whole number, got %q", v)}
		}
		// Zero would be the default; what is out of bounds goes to the nearest one.
		o.bounds.AcquireBatch = max(n, 1)
	}
	return nil
}

func commaList(variable string) list {
	var some list
	for v := range strings.SplitSeq(os.Getenv(variable), ",") {
		if v = strings.TrimSpace(v); v != "" {
			some = append(some, v)
		}
	}
	return some
}

func firstList(lists ...list) list {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
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
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	crashes := filepath.Join(o.data, "crash")
	log, err := newLogger(o.log, &o.live.level, stderr, crashes)
	if err != nil {
		return &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	hidden := newSecrets()
	log = hidden.log(log)
	if unknown := unknownVariables(os.Environ()); len(unknown) > 0 {
		log.Warn("variables that nothing reads", "names", strings.Join(unknown, ", "))
	}
	if err := kv.PrepareDir(o.data, o.networkFS); err != nil {
		return err
	}
	lock, err := kv.LockDir(o.data, kv.LockInfo{PID: os.Getpid(), Started: time.Now(), BootID: bootID(), Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := watchCrash(crashes, log); err != nil {
		return fmt.Errorf("prepare the crash files: %w", err)
	}
	metrics := metric.New()
	store, err := kv.Open(ctx, o.data, kv.Options{Log: log, Version: version, Committed: commitMeter(metrics)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := errors.Join(hidden.open(ctx, o.data, store), o.readSite(ctx, store)); err != nil {
		return err
	}
	storeMeters(metrics, store)
	box, err := sandbox.New(ctx, sandbox.Options{Hidden: []string{o.data}})
	if err != nil {
		return err
	}
	if level, reason := box.Level(); reason != "" {
		log.Info("commands are not fully confined", "level", level, "reason", reason)
	}
	places, err := agentside.New(ctx, agentside.Options{Data: o.data, State: o.data, Sandbox: box, Log: log})
	if err != nil {
		return err
	}
	asked, err := openRuns(ctx, o.data, store, hidden, log)
	if err != nil {
		return errors.Join(err, closePlaces(places, time.Now().Add(shutdownTime)))
	}
	defer asked.Close()
	h, err := wire(o, store, hidden, places, asked, metrics, log)
	if err != nil {
		return errors.Join(err, closePlaces(places, time.Now().Add(shutdownTime)))
	}
	stopBy, err := h.serve(ctx, o, lock, stdout)
	return errors.Join(err, closePlaces(places, stopBy), h.demo.Close())
}

// readSite takes what the site configuration says where no flag or variable does.
func (o *serveOptions) readSite(ctx context.Context, store *kv.Store) error {
	if o.live.fixed {
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
	spaces  *workspace.Room
	search  *search.Room
	demo    *scripted.Running
	agents  *agentsDoor
	metrics *metric.Registry
	log     *slog.Logger
	// stopping: the graceful stop has begun.
	stopping atomic.Bool
	routes   func(listening []net.Listener) ([]gate.Route, *ui.Site, error)
}

// wire makes the rooms and hands each what it needs. It touches neither network nor store.
func wire(o serveOptions, store *kv.Store, hidden *secrets, places *agentside.Workspaces, asked *runs, metrics *metric.Registry, log *slog.Logger) (*house, error) {
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
	models.AllowConnect(func(url string) error {
		if o.live.isFixed() {
			return model.AddressFixed()
		}
		return server.connect(url)
	})
	o.live.server, o.live.store, o.live.log = server, store, log
	spaces := workspace.New(store, places, time.Now)
	agents := agent.New(store, time.Now)
	spaces.LogTo(log)
	costs := usage.New(store, log, time.Now)
	elsewhere := newOthers(o.slots)
	elsewhere.serve(models, hidden)
	calls := call.New(providers{chat.ProviderOllama: server, chat.ProviderDemo: demoModel, chat.ProviderOpenAI: elsewhere}, call.Options{FreeMemory: server.freeMemory})
	models.AllowProbe(prober(calls))
	find := search.New(search.Options{Store: store, Log: log})
	told := notice.New(metrics, time.Now())
	eng := engine.New(engine.Options{Store: store, Model: runlog.Record(calls, asked.Log), Traced: asked.Trace, Tools: toolSet, Configs: model.Resolve, Workspaces: spaces.Open, Spaces: spaces,
		Forget: asked.forgetting(places.Forget), HalveWindow: models.HalveWindow, FoundTools: models.FoundTools, Seats: server.seats, Limit: costs.Check,
		Committed: find.Committed, Notify: told.Post, Metric: metrics, Log: log, Bounds: o.bounds})
	contexts := snapshot.New(snapshot.Options{Store: store, Open: spaces.Open, Window: engine.Window(model.Resolve), Changed: eng.Changed, Log: log, Now: time.Now})
	door := newAgentsDoor(agents, places, spaces, contexts, log)
	contexts.OwnChats(eng.NewestContext)
	places.OnChange(eng.Changed)
	places.PushTo(contexts)
	accounts.OwnChats(account.Chats{Stop: eng.StopPerson, Delete: eng.DeletePerson})
	guard := account.NewGuard(account.StoreOwners(store), metrics)
	h := &house{store: store, engine: eng, account: accounts, models: models, spaces: spaces, search: find, demo: demo, agents: door, metrics: metrics, log: log}
	h.routes = func(listening []net.Listener) ([]gate.Route, *ui.Site, error) {
		chats, people := engine.NewGuarded(eng, guard), account.NewGuarded(accounts, guard)
		configs, folders, beside := model.NewGuarded(models, guard), workspace.NewGuarded(spaces, guard), agent.NewGuarded(agents, guard)
		used, finding := usage.NewGuarded(costs, guard), search.NewGuarded(find, guard)
		setting, files := site.NewGuarded(site.New(store), guard), file.NewGuarded(file.New(store, time.Now), guard)
		asks := runlog.NewGuarded(asked.room, guard)
		known := snapshot.NewGuarded(contexts, guard)
		news, well := notice.NewGuarded(told, guard), health.NewGuarded(health.New(store), guard)
		pages, err := ui.New(ui.Options{Chats: chats, Account: people, Models: configs, Workspaces: folders, Agents: beside, Search: finding, Usage: used, Settings: setting, Files: files, Runs: asks, Notices: news, Health: well, Contexts: known, Log: log, Dev: o.develop.gallery,
			Assets: o.develop.assets, Version: version, Host: listening[0].Addr().String()})
		if err != nil {
			return nil, nil, err
		}
		routes := append(pages.Routes(), api.New(api.Options{Chats: chats, Account: people, Models: configs, Workspaces: folders, Agents: beside, Search: finding, Usage: used, Settings: setting, Files: files, Runs: asks, Health: well, Contexts: known, Log: log,
			Version: version, Configuration: o.live.all, Store: store.State, URL: "http://" + listening[0].Addr().String()}).Routes()...)
		return routes, pages, nil
	}
	return h, nil
}

// serve binds, recovers, prints where it is, and serves until ctx ends. What is left to end then has until stopBy.
func (h *house) serve(ctx context.Context, o serveOptions, lock *kv.DirLock, stdout io.Writer) (stopBy time.Time, err error) {
	early := time.Now().Add(shutdownTime)
	listeners, err := gate.Listen(ctx, o.listen)
	if err != nil {
		return early, fmt.Errorf("listen: %w", err)
	}
	socket, err := gate.ListenSocket(ctx, cli.SocketPath(o.data))
	if err != nil {
		return early, errors.Join(fmt.Errorf("listen on the socket: %w", err), closeAll(listeners))
	}
	all := append(listeners, socket)
	if err := h.agents.listen(ctx, o.reach.agents, o.data); err != nil {
		return early, errors.Join(err, closeAll(all))
	}
	defer func() { err = errors.Join(err, h.agents.close()) }()
	base, end := context.WithCancelCause(context.Background())
	defer end(nil)
	g, site, err := h.gate(o, listeners)
	if err != nil {
		return early, errors.Join(err, closeAll(all))
	}
	defer h.spaces.Close()
	if err := errors.Join(h.account.EnsureCLIToken(ctx, cli.TokenPath(o.data)), h.spaces.Begin(ctx), h.engine.Start(ctx)); err != nil {
		return early, errors.Join(err, closeAll(all))
	}
	h.search.Start()
	defer h.search.Close()
	h.agents.serve()
	var kept sync.WaitGroup
	defer kept.Wait()
	kept.Go(func() { h.keep(base) })
	o.live.hosts = g.SetHosts
	kept.Go(func() { o.live.hangups(base) })
	server := g.Server(base)
	failed := make(chan error, len(all))
	for _, l := range all {
		go func() { failed <- server.Serve(l) }()
	}
	url := "http://" + listeners[0].Addr().String()
	if err := lock.SetAddress(url); err != nil {
		h.log.Warn("the lock file does not name the address", "error", err)
	}
	if asked, err := h.greet(ctx, url, stdout); err != nil {
		h.log.Warn("no login link was printed", "error", err)
	} else if asked && !o.noOpen && cli.IsTerminal(stdout) {
		// A browser may stay with the command that opened it.
		kept.Go(func() { h.open(base, url) })
	}
	var broken error
	select {
	case <-ctx.Done():
		h.log.Info("stopping")
	case broken = <-failed:
	}
	h.stopping.Store(true)
	stopBy = time.Now().Add(shutdownTime)
	stopCtx, cancel := context.WithDeadline(context.Background(), stopBy)
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
	return stopBy, err
}

// sweepEvery is how often what has had its time is removed from the store; scrubEvery how often an idle one reads a Chat for damage.
const (
	sweepEvery = time.Hour
	scrubEvery = time.Minute
)

// keep sweeps the store at the start and then hourly, and scrubs it while no Turn runs, until ctx ends.
func (h *house) keep(ctx context.Context) {
	sweep, scrub := time.NewTicker(sweepEvery), time.NewTicker(scrubEvery)
	defer sweep.Stop()
	defer scrub.Stop()
	h.sweep(ctx)
	var last chat.ID
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			h.sweep(ctx)
		case <-scrub.C:
			last = h.scrub(ctx, last)
		}
	}
}

func (h *house) sweep(ctx context.Context) {
	if _, err := h.store.Sweep(ctx); err != nil && ctx.Err() == nil {
		h.log.Warn("the store could not be swept", "error", err)
	}
}

// scrub reads the Chat behind last and gives its id; the store itself tells of damage.
func (h *house) scrub(ctx context.Context, last chat.ID) chat.ID {
	busy := false
	err := h.store.View(ctx, func(tx *kv.Tx) error {
		active, err := tx.ActiveChats()
		busy = len(active) > 0
		return err
	})
	if err == nil && !busy {
		last, _, err = h.store.Scrub(ctx, last)
	}
	if err != nil && ctx.Err() == nil {
		h.log.Warn("the store could not be scrubbed", "error", err)
	}
	return last
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
	g, err := gate.New(gate.Options{Account: h.account, Metrics: h.metrics, Log: h.log, Addresses: addresses, Hosts: o.reach.hosts, Limits: o.limits,
		LoginPage: site.LoginPage, ErrorPage: site.ErrorPage, StreamAway: site.StreamAway, Ready: h.ready}, routes...)
	return g, site, err
}

func (h *house) ready() gate.Readiness {
	if h.stopping.Load() {
		return gate.Readiness{NotReady: []string{"stopping"}}
	}
	if state, reason := h.store.State(); state != kv.StateOK {
		return gate.Readiness{NotReady: []string{state + ": " + reason}}
	}
	if space, err := h.store.Space(); err == nil && space.Low {
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
		h.log.Debug("the browser was not opened", "error", err)
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
