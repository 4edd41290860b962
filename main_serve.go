package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/agentside"
	"holdfast/agentside/sandbox"
	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/outbound"
	"holdfast/engine/site"
	"holdfast/kv"
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

// reachOptions say under which further names browsers reach the appliance, on which address Agents do, and how far it may call out: ""
// leaves that to the pages.
type reachOptions struct {
	hosts    list
	agents   string
	offline  bool
	outbound chat.OutboundMode
	// turns is what the site says of Turns.
	turns *behaving
	// beside: Workspaces are beside Agents only, none is a folder of this machine.
	beside bool
}

// logOptions are level and format of the log; tail, unless nil, keeps its last lines.
type logOptions struct {
	level, format string
	tail          *logTail
}

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
	flags.BoolVar(&o.reach.offline, "offline", false, "call nobody but the model server and local addresses that an admin has allowed")
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
	o.bounds.FixedTurns = given["turns"]
	err = o.fill(file)
	o.live.settings, o.live.site = o.sources(given, file), file.site
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
	way := from("outbound", string(o.reach.outbound), "offline", file.outbound != "", "HOLDFAST_OFFLINE")
	if way.Source == "default" {
		way.Source = "page"
	}
	return []client.Setting{
		from("data", o.data, "data", file.data != "", "HOLDFAST_DATA"),
		from("listen", strings.Join(o.listen, ","), "listen", len(file.listen) > 0, "HOLDFAST_LISTEN"),
		from("hosts", strings.Join(o.reach.hosts, ","), "host", len(file.hosts) > 0, "HOLDFAST_HOSTS"),
		server,
		from("agents.listen", o.reach.agents, "agents-listen", file.agentsListen != "", "HOLDFAST_AGENTS_LISTEN"),
		way,
		from("local_workspaces", map[bool]string{false: "on", true: "off"}[o.reach.beside], "", file.localWorkspaces != "", "HOLDFAST_LOCAL_WORKSPACES"),
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
	if err := o.fillOutbound(file); err != nil {
		return err
	}
	o.ollama = firstOf(o.ollama, file.modelServer, os.Getenv("OLLAMA_HOST"))
	o.live.fixed = o.ollama != ""
	switch v := firstOf(os.Getenv("HOLDFAST_LOCAL_WORKSPACES"), file.localWorkspaces, "on"); v {
	case "on", "off":
		o.reach.beside = v == "off"
	default:
		return &cli.Exit{Code: cli.CodeUsage, Message: fmt.Sprintf("HOLDFAST_LOCAL_WORKSPACES must be on or off, got %q", v)}
	}
	o.log = logOptions{tail: o.log.tail, level: firstOf(o.log.level, file.log.level, "info"), format: firstOf(o.log.format, file.log.format, "auto")}
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

// fillOutbound says how far pages may let the appliance call out.
func (o *serveOptions) fillOutbound(file config) error {
	o.reach.outbound = file.outbound
	switch v := os.Getenv("HOLDFAST_OFFLINE"); v {
	case "", "0":
	case "1":
		o.reach.outbound = chat.OutboundDeny
	default:
		return &cli.Exit{Code: cli.CodeUsage, Message: fmt.Sprintf("HOLDFAST_OFFLINE must be 1 or 0, got %q", v)}
	}
	if o.reach.offline {
		o.reach.outbound = chat.OutboundDeny
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
	o.log.tail = new(logTail)
	log, err := newLogger(o.log, &o.live.level, stderr, crashes)
	if err != nil {
		return &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	hidden := newSecrets()
	log = hidden.log(log)
	if unknown := unknownVariables(os.Environ()); len(unknown) > 0 {
		log.Warn("variables that nothing reads", chat.LogNames, strings.Join(unknown, ", "))
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
		return salvageable(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	store.FixSite(o.live.site)
	if err := errors.Join(hidden.open(ctx, o.data, store), o.readSite(ctx, store)); err != nil {
		return err
	}
	storeMeters(metrics, store)
	if o.live.outbound, err = outbound.New(ctx, outbound.Options{Store: store, Log: log, Metric: metrics}); err != nil {
		return err
	}
	o.live.outbound.Bound(o.reach.outbound)
	o.reach.turns = &behaving{room: site.New(store)}
	box, err := sandbox.New(ctx, sandbox.Options{Hidden: []string{o.data}})
	if err != nil {
		return err
	}
	if level, reason := box.Level(); reason != "" {
		log.Info("commands are not fully confined", chat.LogLevel, level, chat.LogReason, reason)
	}
	places, err := agentside.New(ctx, agentside.Options{Data: o.data, State: o.data, Beside: o.reach.beside, MayCall: o.live.mayClone, ContextRoots: o.reach.turns.contextRoots, MaxRuntime: o.reach.turns.maxRuntime, Resolved: resolveMeter(metrics), Sandbox: box, Log: log,
		Dial: dialServers(o.live.outbound.Client(outbound.Purpose{Name: "MCP server of a workspace", Stream: true}))})
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
	return errors.Join(err, closePlaces(places, stopBy), h.ended())
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

// salvageable says of a store that is too broken to start what can still be done with it.
func salvageable(err error) error {
	if errors.Is(err, kv.ErrDamaged) {
		return fmt.Errorf("%w; holdfast export --all DIR --salvage reads what can be read", err)
	}
	return err
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
	if err := errors.Join(h.account.EnsureCLIToken(ctx, cli.TokenPath(o.data)), h.spaces.Begin(ctx), o.reach.turns.begin(ctx, h.engine.Behave), h.engine.Start(ctx)); err != nil {
		return early, errors.Join(err, closeAll(all))
	}
	h.search.Start()
	defer h.search.Close()
	h.agents.serve()
	var kept sync.WaitGroup
	defer kept.Wait()
	kept.Go(func() { h.keeper.run(base) })
	kept.Go(func() { newRest().run(base) })
	o.live.taken = func(ctx context.Context, hosts []string) error {
		g.SetHosts(hosts)
		return o.reach.turns.room.Retell(ctx)
	}
	kept.Go(func() { o.live.hangups(base) })
	server := g.Server(base)
	failed := make(chan error, len(all))
	for _, l := range all {
		go func() { failed <- server.Serve(l) }()
	}
	url := "http://" + listeners[0].Addr().String()
	if err := lock.SetAddress(url); err != nil {
		h.log.Warn("the lock file does not name the address", chat.LogError, err)
	}
	if asked, err := h.greet(ctx, url, stdout); err != nil {
		h.log.Warn("no login link was printed", chat.LogError, err)
	} else if asked && !o.noOpen && cli.IsTerminal(stdout) {
		// A browser may stay with the command that opened it.
		kept.Go(func() { h.open(base, url) })
	}
	told := notifyManager(applianceAlive(g, listeners[0].Addr().String(), h.keeper.store), h.log)
	var broken error
	select {
	case <-ctx.Done():
		h.log.Info("stopping")
	case broken = <-failed:
	}
	told()
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
