// Command holdfast is an appliance on which people run coding agents with local models: one binary with a web interface, a store, and
// the tools that act in a workspace. Without a command it serves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"holdfast/agentside/sandbox"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// version is set by the linker.
var version = "dev"

func main() {
	err := start(os.Args[1:])
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, "holdfast:", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	os.Exit(exitCode(err))
}

// start runs what was asked for until it ends or a signal ends it.
func start(args []string) error {
	if !serves(args) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		// A second signal is heard by the command itself, or ends it: the handler is taken off with the first.
		context.AfterFunc(ctx, stop)
		return run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, os.Stdin, os.Stdout, os.Stderr) }()
	select {
	case err := <-ended:
		return err
	case <-signals:
		stop()
	}
	select {
	case err := <-ended:
		return err
	case <-signals:
		return &cli.Exit{Code: cli.CodeFailed}
	}
}

// serves says whether what is started is the appliance or an Agent, which stop gracefully until they are told twice.
func serves(args []string) bool {
	return isAgent(args) || len(args) == 0 || args[0] == "serve" || strings.HasPrefix(args[0], "-")
}

// run is the only entrance. args are without the program's name.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if isAgent(args) {
		return serveAgent(ctx, args, stdin, stdout, stderr)
	}
	command := "serve"
	if len(args) == 1 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
		command, args = "help", nil
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	switch command {
	case sandbox.ChildCommand:
		return sandbox.Child()
	case "serve":
		hups, stop := hearHangups()
		defer stop()
		o, err := parseServe(args, stderr)
		if err != nil {
			return err
		}
		o.live.hups = hups
		return serve(ctx, o, stdout, stderr)
	case "mcp":
		return serveMCP(ctx, args, stdin, stdout, stderr)
	case "service":
		return serveService(ctx, args, stdout, stderr)
	case "version":
		return printVersion(args, stdout)
	case "help":
		if len(args) == 1 {
			return printHelp(args[0], stdout)
		}
	}
	return cli.Run(ctx, command, args, cli.IO{In: stdin, Out: stdout, Err: stderr, Salvage: salvage, Doctor: examine, Compact: compact, Bundle: bundled})
}

func printVersion(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("version", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	modules := flags.Bool("modules", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return &cli.Exit{Code: cli.CodeUsage, Message: "usage: holdfast version [--json|--modules]"}
	}
	info, _ := debug.ReadBuildInfo()
	commit := "unknown"
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	if *modules {
		if info == nil {
			return errors.New("this binary has no build information")
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				continue // what stands in for it is ours
			}
			if _, err := fmt.Fprintf(stdout, "%s %s %s\n", m.Path, m.Version, m.Sum); err != nil {
				return err
			}
		}
		return nil
	}
	format := "holdfast %s, commit %s, %s, %s/%s, schema %d\n"
	if *asJSON {
		format = `{"version":%q,"commit":%q,"go":%q,"platform":"%s/%s","schema":%d}` + "\n"
	}
	_, err := fmt.Fprintf(stdout, format, version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, kv.Schema)
	return err
}

// exitCode is the one table of exit codes.
func exitCode(err error) int {
	var exit *cli.Exit
	var inUse *kv.ErrInUse
	switch {
	case err == nil:
		return cli.CodeDone
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &inUse):
		return cli.CodeInUse
	case errors.Is(err, kv.ErrDamaged), errors.Is(err, seal.ErrWrongKey):
		return cli.CodeDamaged
	case errors.Is(err, kv.ErrNewer):
		return cli.CodeNewer
	case errors.Is(err, gate.ErrExposed), errors.Is(err, kv.ErrUnsafeDir):
		return cli.CodeRefused
	case errors.Is(err, kv.ErrNoSpace), errors.Is(err, kv.ErrReadOnly), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS):
		return cli.CodeNoSpace
	}
	return cli.CodeFailed
}
