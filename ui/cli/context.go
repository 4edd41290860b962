package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

const contextUsage = `holdfast context list               the paths that were added
holdfast context show [PATH]        what was found: status, kind, size, source, error
holdfast context add PATH...        add folders or files with instructions and skills
holdfast context remove PATH...     take them away again
holdfast context refresh            look again now

They speak to the agent beside the files: --agent URL, else $HOLDFAST_AGENT_URL, else its socket. With --workspace, an id or a name,
they speak to the appliance (--data, --server), wherever the files are. With --json they print the answer as it came.
`

// contextPlace is where a context is asked for: beside its files, or at the appliance. Answers are the bytes as they came.
type contextPlace interface {
	Sources(ctx context.Context) ([]byte, error)
	AddSource(ctx context.Context, path string) ([]byte, error)
	RemoveSource(ctx context.Context, path string) error
	Snapshot(ctx context.Context) ([]byte, error)
	Resync(ctx context.Context) ([]byte, error)
}

var (
	_ contextPlace = (*client.AgentContext)(nil)
	_ contextPlace = (*client.SpaceContext)(nil)
)

// contextCommand is what the flags of context say.
type contextCommand struct {
	address string
	json    bool
	std     IO
	agent   contextPlace
	space   spaceFlags
	// nobody says that nobody answers.
	nobody string
	// from is the directory from which relative paths count, "" for the caller's.
	from string
}

func runContext(ctx context.Context, args []string, std IO) error {
	if len(args) == 0 {
		return usage("context needs one of list, show, add, remove, refresh")
	}
	verb, args := args[0], args[1:]
	c := contextCommand{std: std}
	run, least, most := c.list, 0, 0
	switch verb {
	case "list":
	case "show":
		run, most = c.show, 1
	case "add":
		run, least, most = c.add, 1, len(args)
	case "remove":
		run, least, most = c.remove, 1, len(args)
	case "refresh":
		run = c.refresh
	case "help", "-h", "--help", "-help":
		_, err := io.WriteString(std.Out, contextUsage)
		return err
	default:
		return usage("context has no command " + verb + ", only list, show, add, remove, refresh")
	}
	set := flag.NewFlagSet("context "+verb, flag.ContinueOnError)
	set.StringVar(&c.address, "agent", os.Getenv("HOLDFAST_AGENT_URL"), "")
	set.BoolVar(&c.json, "json", false, "")
	c.space.flags(set)
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, contextUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) < least || len(rest) > most {
		return usage(fmt.Sprintf("context %s takes %s, got %d", verb, counted(least, most), len(rest)))
	}
	end, err := c.reach(ctx, set)
	if err != nil {
		return err
	}
	defer end()
	return run(ctx, rest)
}

func counted(least, most int) string {
	switch {
	case least > 0:
		return "one or more paths"
	case most > 0:
		return "at most one path"
	}
	return "no arguments"
}

// reach finds whom the flags name; end must be called.
func (c *contextCommand) reach(ctx context.Context, set *flag.FlagSet) (end func(), err error) {
	if c.space.name != "" {
		return c.reachAppliance(ctx, set)
	}
	agent, err := c.connect()
	if err != nil {
		return nil, err
	}
	c.agent, c.nobody = agent, "no agent answers at "+c.address+"; start one with: holdfast --agent, or name another with --agent URL, or a workspace with --workspace"
	return agent.Close, nil
}

// connect finds the Agent; nothing is asked yet.
func (c *contextCommand) connect() (*client.AgentContext, error) {
	if c.address == "" {
		state := DefaultAgentState()
		if state == "" {
			return nil, usage("there is no home directory; name the agent with --agent")
		}
		c.address = "unix://" + AgentSocket(state)
	}
	token := ""
	if !strings.HasPrefix(c.address, "unix://") {
		text, err := os.ReadFile(AgentTokenPath(DefaultAgentState()))
		// Without one the Agent says what it wants.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		token = strings.TrimSpace(string(text))
	}
	agent, err := client.NewAgentContext(c.address, token)
	if err != nil {
		return nil, usage("--agent: " + err.Error())
	}
	return agent, nil
}

// failed gives an error its exit code and its one line.
func (c *contextCommand) failed(doing string, err error) error {
	var refused *chat.Error
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Kind == chat.KindNotFound:
		return &Exit{Code: CodeNotFound, Message: doing + ": " + sentences(refused)}
	case errors.As(err, &refused) && refused.Kind == chat.KindUnreachable:
		return &Exit{Code: CodeNobody, Message: doing + ": " + sentences(refused)}
	case errors.As(err, &refused) && refused.Kind == chat.KindUnauthenticated && c.space.name == "":
		return &Exit{Code: CodeFailed, Message: doing + ": the token is missing or wrong; the agent keeps it in agent.token of its state directory"}
	case errors.As(err, &refused):
		return &Exit{Code: CodeFailed, Message: doing + ": " + sentences(refused)}
	case errors.Is(err, context.Canceled):
		return &Exit{Code: CodeCtrlC}
	case errors.As(err, &network) && network.Op == "dial" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &Exit{Code: CodeNobody, Message: c.nobody}
	}
	return &Exit{Code: CodeFailed, Message: doing + ": " + plain(err.Error())}
}

// write prints an answer as it came.
func (c *contextCommand) write(b []byte) error {
	_, err := c.std.Out.Write(b)
	return err
}

func (c *contextCommand) line(text string) error {
	_, err := fmt.Fprintln(c.std.Out, revealed(text))
	return err
}

func (c *contextCommand) list(ctx context.Context, _ []string) error {
	b, err := c.agent.Sources(ctx)
	if err != nil {
		return c.failed("context list", err)
	}
	if c.json {
		return c.write(b)
	}
	var sources []struct{ Path string }
	if err := json.Unmarshal(b, &sources); err != nil {
		return c.failed("context list", err)
	}
	for _, s := range sources {
		if err := c.line(s.Path); err != nil {
			return err
		}
	}
	return nil
}

// contextShown is what show prints of a Snapshot.
type contextShown struct {
	Version       uint64            `json:"version"`
	Ready         bool              `json:"ready"`
	Resources     []json.RawMessage `json:"resources"`
	SnapshotError string            `json:"snapshot_error"`
}

// resourceShown is what show prints of a Resource.
type resourceShown struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Source      string `json:"source"`
	SourcePath  string `json:"source_path"`
	Status      string `json:"status"`
	Error       string `json:"error"`
	Name        string `json:"name"`
	Description string `json:"description"`
	SizeBytes   int64  `json:"size_bytes"`
}

func (c *contextCommand) show(ctx context.Context, args []string) error {
	b, err := c.agent.Snapshot(ctx)
	if err != nil {
		return c.failed("context show", err)
	}
	if c.json && len(args) == 0 {
		return c.write(b)
	}
	var s contextShown
	if err := json.Unmarshal(b, &s); err != nil {
		return c.failed("context show", err)
	}
	if len(args) == 1 {
		return c.showOne(s, args[0])
	}
	return c.table(s)
}

func (c *contextCommand) table(s contextShown) error {
	w := tabwriter.NewWriter(c.std.Out, 0, 4, 2, ' ', 0)
	for _, raw := range s.Resources {
		var r resourceShown
		if err := json.Unmarshal(raw, &r); err != nil {
			return c.failed("context show", err)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", revealed(r.Status), revealed(r.Kind), r.SizeBytes, revealed(r.Source), revealed(r.Error))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !s.Ready {
		return c.line("The workspace is not ready yet; nothing has been read.")
	}
	if s.SnapshotError != "" {
		return c.line(s.SnapshotError)
	}
	return nil
}

func (c *contextCommand) showOne(s contextShown, path string) error {
	whole, err := c.absolute(path)
	if err != nil {
		return err
	}
	for _, raw := range s.Resources {
		var r resourceShown
		if err := json.Unmarshal(raw, &r); err != nil {
			return c.failed("context show", err)
		}
		if r.Source != filepath.ToSlash(whole) && r.Source != path && r.ID != path {
			continue
		}
		if c.json {
			return c.write(append(raw, '\n'))
		}
		for _, f := range [][2]string{{"status", r.Status}, {"kind", r.Kind}, {"source", r.Source}, {"from", r.SourcePath}, {"size", strconv.FormatInt(r.SizeBytes, 10)},
			{"name", r.Name}, {"description", r.Description}, {"error", r.Error}} {
			if f[1] == "" {
				continue
			}
			if err := c.line(fmt.Sprintf("%-12s %s", f[0], f[1])); err != nil {
				return err
			}
		}
		return nil
	}
	return &Exit{Code: CodeNotFound, Message: "context show: nothing was found at " + revealed(whole) + "; holdfast context show lists all"}
}

// absolute makes a path whole, from the caller's directory where the files are this machine's. A home is the Agent's to find.
func (c *contextCommand) absolute(name string) (string, error) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		return name, nil
	case c.from == "":
		return filepath.Abs(name)
	case path.IsAbs(filepath.ToSlash(name)):
		return name, nil
	}
	return path.Join(c.from, filepath.ToSlash(name)), nil
}

// each tries every path; the first failure decides the code.
func (c *contextCommand) each(doing string, paths []string, act func(path string) error) error {
	var first error
	for _, path := range paths {
		whole, err := c.absolute(path)
		if err == nil {
			err = c.failed(doing+" "+revealed(path), act(whole))
		}
		if err == nil {
			continue
		}
		if first == nil {
			first = err
			continue
		}
		fmt.Fprintln(c.std.Err, "holdfast:", err)
	}
	return first
}

func (c *contextCommand) add(ctx context.Context, paths []string) error {
	return c.each("context add", paths, func(path string) error {
		b, err := c.agent.AddSource(ctx, path)
		if err != nil {
			return err
		}
		if c.json {
			return c.write(b)
		}
		var added struct{ Path string }
		if err := json.Unmarshal(b, &added); err != nil {
			return err
		}
		return c.line(added.Path)
	})
}

func (c *contextCommand) remove(ctx context.Context, paths []string) error {
	return c.each("context remove", paths, func(path string) error { return c.agent.RemoveSource(ctx, path) })
}

func (c *contextCommand) refresh(ctx context.Context, _ []string) error {
	b, err := c.agent.Resync(ctx)
	if err != nil {
		return c.failed("context refresh", err)
	}
	if c.json {
		return c.write(b)
	}
	var s contextShown
	if err := json.Unmarshal(b, &s); err != nil {
		return c.failed("context refresh", err)
	}
	return c.table(s)
}
