package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/agentside/link"
	"holdfast/agentside/sandbox"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
	"holdfast/ui/cli"
)

// agentOptions are the flags and variables of --agent.
type agentOptions struct {
	url, dir, enrolFile string
	pins                list
	// makeIn are the directories in which the appliance may make Workspaces.
	makeIn list
	// calls are the hosts, with ports, where MCP servers of the files may be reached.
	calls          list
	insecure, unit bool
	state          string
	// listen is a loopback port for the commands beside the Agent, "" for its socket.
	listen string
	log    logOptions
}

// isAgent says whether the arguments ask for an Agent.
func isAgent(args []string) bool {
	return len(args) > 0 && (args[0] == "--agent" || args[0] == "-agent")
}

func parseAgent(args []string, stderr io.Writer) (agentOptions, error) {
	var o agentOptions
	flags := flag.NewFlagSet("holdfast --agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Bool("agent", true, "serve a workspace to an appliance elsewhere")
	flags.StringVar(&o.url, "url", "", "address of the appliance, as its Agents page shows it")
	flags.StringVar(&o.dir, "dir", "", "directory of the workspace")
	flags.Var(&o.pins, "pin", "key of the appliance, sha256:HEX; may be repeated")
	flags.StringVar(&o.enrolFile, "enrol-file", "", "file with the enrolment token, - for standard input (default the variable HOLDFAST_ENROL_TOKEN)")
	flags.BoolVar(&o.insecure, "insecure-http", false, "reach another machine over plain http")
	flags.BoolVar(&o.unit, "unit", false, "print a systemd unit that starts this agent, and do nothing else")
	flags.StringVar(&o.state, "state", "", "directory for the agent's key (default "+cli.DefaultAgentState()+")")
	flags.StringVar(&o.listen, "listen", "", "loopback address for the commands beside the agent (default the socket agent.sock in the state directory)")
	flags.Var(&o.makeIn, "make-in", "directory in which the appliance may make workspaces; may be repeated (default none)")
	flags.Var(&o.calls, "allow-call", "HOST:PORT where an MCP server that the files name may be reached; may be repeated (default none)")
	flags.StringVar(&o.log.level, "log-level", firstOf(os.Getenv("HOLDFAST_LOG_LEVEL"), "info"), "debug, info, warn or error")
	flags.StringVar(&o.log.format, "log-format", "auto", "auto, text or json")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.Usage()
		return o, &cli.Exit{Code: cli.CodeDone}
	} else if err != nil {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	if flags.NArg() > 0 {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "--agent takes no arguments, got " + flags.Arg(0)}
	}
	calls, err := checkCalls(o.calls)
	if err != nil {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	o.calls, o.state = calls, firstOf(o.state, cli.DefaultAgentState())
	if o.url == "" || o.dir == "" || o.state == "" {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "usage: holdfast --agent --url URL --dir DIR [--pin sha256:HEX] [--enrol-file FILE]"}
	}
	return o, nil
}

func (o agentOptions) dialling() (link.Dialling, error) {
	target, err := url.Parse(o.url)
	if err != nil {
		return link.Dialling{}, &cli.Exit{Code: cli.CodeUsage, Message: "--url is not an address"}
	}
	d := link.Dialling{URL: target, Insecure: o.insecure}
	for _, text := range o.pins {
		pin, err := link.ParsePin(text)
		if err != nil {
			return d, &cli.Exit{Code: cli.CodeUsage, Message: "--pin: " + err.Error()}
		}
		d.Pins = append(d.Pins, pin)
	}
	return d, refusedAs(d.Check())
}

// refusedAs gives what is refused for safety its exit code, and what the other side refuses or does not answer theirs.
func refusedAs(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, link.ErrRefused):
		return &cli.Exit{Code: cli.CodeRefused, Message: err.Error()}
	case errors.Is(err, link.ErrNotTaken):
		return &cli.Exit{Code: cli.CodeFailed, Message: err.Error()}
	}
	return err
}

// serveAgent serves a directory to an appliance until ctx ends.
func serveAgent(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	o, err := parseAgent(args, stderr)
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return &cli.Exit{Code: cli.CodeFailed, Message: "--agent is not supported on Windows yet"}
	}
	dial, err := o.dialling()
	if err != nil {
		return err
	}
	if o.unit {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		return o.printUnit(stdout, program)
	}
	log, err := newLogger(o.log, new(slog.LevelVar), stderr, filepath.Join(o.state, "crash"))
	if err != nil {
		return &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	local, err := o.listenBeside(ctx)
	if err != nil {
		return err
	}
	defer local.listener.Close()
	box, err := sandbox.New(ctx, sandbox.Options{Hidden: []string{o.state}})
	if err != nil {
		return err
	}
	if level, reason := box.Level(); reason != "" {
		log.Info("commands are not fully confined", chat.LogLevel, level, chat.LogReason, reason)
	}
	places, err := agentside.New(ctx, agentside.Options{Data: o.state, State: o.state, Sandbox: box, Log: log, Environ: append(os.Environ(), "HOLDFAST_AGENT_URL="+local.url),
		Dial: dialServers(agentCalls(o.calls))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePlaces(places, time.Now().Add(shutdownTime))) }()
	dir, err := filepath.Abs(o.dir)
	if err == nil {
		dir, err = places.Resolve(ctx, dir)
	}
	var invalid *chat.Error
	if errors.As(err, &invalid) {
		return &cli.Exit{Code: cli.CodeUsage, Message: "--dir: " + firstOf(invalid.Detail, invalid.Message)}
	}
	if err != nil {
		return err
	}
	roots, err := o.roots(ctx, places)
	if err != nil {
		return err
	}
	identity, err := link.ReadIdentity(o.state)
	if err != nil {
		return refusedAs(err)
	}
	if identity, err = o.enrol(ctx, dial, identity, dir, stdin, stdout); err != nil {
		return err
	}
	return o.run(ctx, ground{places: places, box: box, local: local, dir: dir, roots: roots}, dial, identity, stdout, log)
}

// enrol uses a token, which one that has enrolled already needs only to enrol anew.
func (o agentOptions) enrol(ctx context.Context, dial link.Dialling, i link.Identity, dir string, stdin io.Reader, stdout io.Writer) (link.Identity, error) {
	token, err := o.token(i.Enrolled(), stdin, stdout)
	if err != nil || token == "" && i.Enrolled() {
		return i, err
	}
	if token == "" {
		return i, &cli.Exit{Code: cli.CodeUsage, Message: "this agent has not enrolled; give a token from the appliance's Agents page with --enrol-file, or in HOLDFAST_ENROL_TOKEN"}
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	enrolled, err := link.Enrol(ctx, dial, i, o.state, token, host, dir)
	if err != nil {
		// A service is started with the same token again and again; it is good for the first time only.
		if i.Enrolled() && errors.Is(err, link.ErrNotTaken) {
			return i, nil
		}
		return i, refusedAs(unanswered(err))
	}
	_, err = fmt.Fprintln(stdout, "Enrolled as", enrolled.AgentID)
	return enrolled, err
}

// unanswered tells an appliance that does not answer from other failures.
func unanswered(err error) error {
	var dial *url.Error
	if errors.As(err, &dial) && !errors.Is(err, link.ErrRefused) {
		return &cli.Exit{Code: cli.CodeNobody, Message: err.Error()}
	}
	return err
}

// token reads it where it is, "" for none. It is never an argument: every user of the machine could read it.
func (o agentOptions) token(enrolled bool, stdin io.Reader, stdout io.Writer) (string, error) {
	if o.enrolFile == "-" {
		if !enrolled {
			if _, err := fmt.Fprint(stdout, "Enrolment token: "); err != nil {
				return "", err
			}
		}
		line, err := bufio.NewReader(io.LimitReader(stdin, 1<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the token: %w", err)
		}
		return strings.TrimSpace(line), nil
	}
	if o.enrolFile == "" {
		return strings.TrimSpace(os.Getenv("HOLDFAST_ENROL_TOKEN")), nil
	}
	text, err := os.ReadFile(o.enrolFile)
	if errors.Is(err, os.ErrNotExist) && enrolled {
		return "", nil
	}
	if err != nil {
		return "", &cli.Exit{Code: cli.CodeUsage, Message: "--enrol-file: " + err.Error()}
	}
	return strings.TrimSpace(string(text)), nil
}

// ground is what an Agent serves.
type ground struct {
	places *agentside.Workspaces
	box    *sandbox.Box
	local  *beside
	dir    string
	// roots are where Workspaces may be made.
	roots []string
}

func (o agentOptions) run(ctx context.Context, at ground, dial link.Dialling, i link.Identity, stdout io.Writer, log *slog.Logger) (err error) {
	dir := at.dir
	servers, ws, err := openServers(ctx, at.places, chat.WorkspaceRecord{ID: i.WorkspaceID, Kind: chat.WorkspaceLocal, Directory: dir}, o.state)
	if err != nil {
		return err
	}
	defer servers.close()
	boot := uuid.NewString()
	files, end, err := watchContext(o.state, dir, boot, servers, log)
	if err != nil {
		return err
	}
	defer end()
	api := link.NewAPI(ws, boot)
	api.ServeContext(wctx.Handler(files, log))
	api.ServeServers(servers, servers.Hold)
	spaces, err := o.openSpaces(ctx, at, boot, api, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spaces.close()) }()
	defer at.local.serve(files, spaces.context, log)()
	level, reason := at.box.Level()
	agent, err := link.NewAgent(link.AgentOptions{Dialling: dial, Identity: i, API: spaces.handler, Log: log,
		Stats: func() chat.AgentStats { return spaces.count(ctx, machineStats(ctx, ws, dir)) },
		Push: func(ctx context.Context, to *link.Pusher) error {
			return spaces.push(ctx, to, func() error { return wctx.Push(ctx, files, to.Send, wctx.PushOptions{Log: log, Report: to.Report}) })
		},
		Hello: link.Hello{Capabilities: spaces.capabilities(), BootID: boot,
			BinaryVersion: version, OS: runtime.GOOS, Arch: runtime.GOARCH, Shell: agentside.Shell(), Sandbox: string(level),
			SandboxOpen: at.box.Report(chat.ProfileWorkspace).Open, SandboxReason: reason}})
	if err != nil {
		return refusedAs(err)
	}
	if _, err := fmt.Fprintln(stdout, "Holdfast agent", version, "serves", dir, "to", dial.URL); err != nil {
		return err
	}
	defer notifyManager(agentAlive(api), log)()
	agent.Run(ctx)
	log.Info("stopping")
	return nil
}

// watchContext keeps the context of the Agent's directory until end is called.
func watchContext(state, dir, boot string, servers *agentServers, log *slog.Logger) (files *wctx.Manager, end func(), err error) {
	key, err := wctx.LoadKey(filepath.Join(state, "context.key"))
	if err != nil {
		return nil, nil, err
	}
	files = wctx.New(wctx.Options{Dir: dir, Home: wctx.Home(), BuiltIn: true, Denied: []string{state}, Keep: filepath.Join(state, "context.json"), Key: key,
		BootID: boot, Getenv: os.Getenv, Servers: servers.watched(), Log: log})
	servers.tell(files)
	var running sync.WaitGroup
	running.Go(func() {
		// Its only other error is that of a context which does not end.
		if err := files.Run(context.Background()); err != nil {
			log.Error("the context is not watched", chat.LogError, err)
		}
	})
	files.SetReady()
	return files, func() {
		files.Close()
		running.Wait()
	}, nil
}
