package agentside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/agentside/files"
	"holdfast/agentside/git"
	"holdfast/agentside/proc"
	"holdfast/agentside/sandbox"
	"holdfast/agentside/server"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// Options say where the appliance keeps its own things.
type Options struct {
	// Data is the appliance's data directory: no Workspace may hold it or lie in it.
	Data string
	// Temp holds a directory per Chat with the whole outputs of its processes; "" is holdfast/chats in the user's cache
	// directory. It is made when it is not there, and so is caches beside it, with a directory per Workspace for what its confined
	// commands can make anew.
	Temp string
	// State is the directory for the list of running processes; "" is Data.
	State string
	// Made is where Workspaces are made whose Template does not say where; "" is holdfast-workspaces in the home directory.
	Made string
	// Environ is what commands inherit, without the appliance's secrets; nil is this process's own.
	Environ []string
	// ContextRoots gives directories in which people may add Sources, beside that of the Workspace; nil is none.
	ContextRoots func() []string
	// MayCall says whether git may call a host to clone from it; nil lets it call any.
	MayCall func(ctx context.Context, host string, port int) error
	// MaxRuntime is how long a process may run whatever it was given, 0 for ever; nil is for ever.
	MaxRuntime func() time.Duration
	// Resolved is told how long each reading of a Workspace's context took; may be nil.
	Resolved func(time.Duration)
	// Sandbox confines the commands of Workspaces whose profile asks for it; nil confines none.
	Sandbox *sandbox.Box
	// Dial reaches the MCP servers that files of Workspaces name; nil runs none.
	Dial server.Dial
	// Unwatched: the file system is not watched for what others change. Tests with a clock of their own cannot wait beside the kernel.
	Unwatched bool
	// Roots are the directories in which Workspaces may be; nil is anywhere.
	Roots []string
	// BootID names this run in the Snapshots; "" is one of its own.
	BootID string
	// Beside: Workspaces are beside Agents only; no folder of this machine is one.
	Beside bool
	Log    *slog.Logger
	Now    func() time.Time
}

// Beyond opens and stops Workspaces that are beside an Agent.
type Beyond struct {
	Open func(ctx context.Context, rec chat.WorkspaceRecord) (chat.Workspace, error)
	// Stop ends what runs there. Of a Workspace that is not beside an Agent it does nothing; an Agent that is away is KindUnreachable.
	Stop func(ctx context.Context, id chat.WorkspaceID) error
	// Make makes the directory of a Workspace there, and Remove removes what was made, as chat.Maker has them.
	Make   func(ctx context.Context, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error)
	Remove func(ctx context.Context, rec chat.WorkspaceRecord, discard bool) error
	// Sandbox tells what confines the commands there, and why that is not all there could be.
	Sandbox func(ctx context.Context, rec chat.WorkspaceRecord) (chat.Sandbox, string)
}

// Shell is the program that runs commands here.
func Shell() string { return proc.Shell(os.Environ()) }

// Reach says how Workspaces beside an Agent are reached; before, there are none. It is called before the first Open.
func (w *Workspaces) Reach(b Beyond) { w.beyond = b }

// Workspaces are the open Workspaces of this machine, and the way to those beside Agents.
type Workspaces struct {
	beyond Beyond
	// own are the directories of the appliance, and how it makes others.
	own struct {
		data, temp, caches, state string
		making                    making
		roots                     []string
		// beside: no folder of this machine is a Workspace.
		beside bool
	}
	gate     *files.Gate
	manager  *proc.Manager
	box      *sandbox.Box
	git      *git.Program
	changes  changes
	contexts *contexts
	serving

	// mu guards open and closed.
	mu     sync.Mutex
	open   map[chat.WorkspaceID]*workspace
	closed bool
}

// serving is what MCP servers need.
type serving struct {
	dial    server.Dial
	environ []string
	now     func() time.Time
}

var (
	_ chat.Workspaces    = (*Workspaces)(nil)
	_ chat.ContextKeeper = (*workspace)(nil)
)

type workspace struct {
	record    chat.WorkspaceRecord
	files     *files.Files
	processes *proc.Scope
	git       *git.Repositories
	context   func() chat.Context
	servers   func() chat.Servers
}

func (w *workspace) Files() chat.Files         { return w.files }
func (w *workspace) Processes() chat.Processes { return w.processes }
func (w *workspace) Git() chat.Git             { return w.git }
func (w *workspace) Context() chat.Context     { return w.context() }

var (
	_ chat.Sandboxed    = (*workspace)(nil)
	_ chat.OutputKeeper = (*workspace)(nil)
)

// KeepOutput keeps a text beside the outputs of the Chat's processes.
func (w *workspace) KeepOutput(id chat.ID, text []byte) (string, error) {
	return w.processes.KeepOutput(id, text)
}

// Sandbox tells what would confine a command here.
func (w *workspace) Sandbox(p chat.Profile) chat.Sandbox {
	if p == chat.ProfileDefault {
		p = w.record.Profile()
	}
	return w.processes.Sandbox(p)
}

var _ chat.SandboxMeter = (*Workspaces)(nil)

// Sandbox tells what confines the commands of a Workspace with this record. Beside an Agent it is what the Agent said last.
func (w *Workspaces) Sandbox(ctx context.Context, rec chat.WorkspaceRecord) (chat.Sandbox, string) {
	switch {
	case rec.Kind == chat.WorkspaceAgent && w.beyond.Sandbox != nil:
		return w.beyond.Sandbox(ctx, rec)
	case rec.Kind != chat.WorkspaceLocal:
		return chat.NoSandbox(), "nothing is known of the machine"
	case w.box == nil:
		return w.box.Report(rec.Profile()), "no sandbox was set up"
	}
	_, reason := w.box.Level()
	return w.box.Report(rec.Profile()), reason
}

// New ends what an appliance that crashed with the same State left running, which can take five seconds.
func New(ctx context.Context, o Options) (*Workspaces, error) {
	if o.Data == "" {
		return nil, errors.New("workspaces: no data directory is given")
	}
	if o.Temp == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("workspaces: %w", err)
		}
		o.Temp = filepath.Join(cache, "holdfast", "chats")
	}
	if o.State == "" {
		o.State = o.Data
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Workspaces{serving: serving{o.Dial, o.Environ, o.Now}, gate: files.NewGate(), box: o.Sandbox, open: map[chat.WorkspaceID]*workspace{}}
	for _, root := range o.Roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, fmt.Errorf("workspaces: %w", err)
		}
		w.own.roots = append(w.own.roots, real)
	}
	w.own.making, w.own.beside = making{dir: o.Made, mayCall: o.MayCall}, o.Beside
	for _, dir := range []struct {
		real *string
		path string
	}{{&w.own.data, o.Data}, {&w.own.temp, o.Temp}, {&w.own.state, o.State},
		{&w.own.caches, filepath.Join(filepath.Dir(o.Temp), "caches")}} {
		real, err := makeReal(dir.path)
		if err != nil {
			return nil, fmt.Errorf("workspaces: %w", err)
		}
		*dir.real = real
	}
	contexts, err := newContexts(w, o)
	if err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	w.contexts, w.changes.trees = contexts, wctx.NewTrees(wctx.TreeOptions{Log: o.Log})
	if o.Unwatched {
		w.changes.trees.Close()
	}
	manager, err := proc.New(ctx, proc.Options{Temp: w.own.temp, Caches: w.own.caches, State: w.own.state, Environ: o.Environ, Log: o.Log, Now: o.Now,
		Sandbox: o.Sandbox, MaxRuntime: o.MaxRuntime, Ended: w.changes.touch})
	if err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	w.manager = manager
	w.git = git.New(git.Options{Temp: w.own.temp, Environ: o.Environ, Sandbox: o.Sandbox, Log: o.Log})
	return w, nil
}

// makeReal makes a directory for us alone where there is none, and resolves its links.
func makeReal(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// Open gives the Workspace of a record. A record that has changed since gives one with the new record over the same processes.
func (w *Workspaces) Open(ctx context.Context, rec chat.WorkspaceRecord) (chat.Workspace, error) {
	if rec.Kind == chat.WorkspaceAgent && w.beyond.Open != nil {
		return w.beyond.Open(ctx, rec)
	}
	if rec.Kind != chat.WorkspaceLocal {
		return nil, chat.Invalid("kind", fmt.Sprintf("a workspace of kind %q cannot be opened here", rec.Kind))
	}
	real, err := w.Resolve(ctx, rec.Directory)
	if gone(rec.Directory) {
		return nil, &chat.Error{Kind: chat.KindNotFound, Message: "The directory of the workspace is not there any more.",
			Detail: rec.Directory}
	}
	if err != nil {
		return nil, err
	}
	// A command may have put a link in the directory's place.
	if real != filepath.Clean(rec.Directory) {
		return nil, chat.Invalid("directory", fmt.Sprintf("%q leads to another place than when it was added", rec.Directory))
	}
	opened, reined, err := w.enter(rec, real)
	if reined {
		// Its servers run with another profile from now on.
		w.contexts.stop(rec.ID)
	}
	w.contexts.stands(rec)
	return opened, err
}

// enter gives the open Workspace, and whether it had another profile before.
func (w *Workspaces) enter(rec chat.WorkspaceRecord, real string) (ws chat.Workspace, reined bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, false, &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."}
	}
	if old := w.open[rec.ID]; old != nil && same(old.record, rec) {
		return old, false, nil
	}
	held := files.New(files.Options{Dir: real, Temp: w.own.temp, Refused: []string{w.own.data, w.own.state}, Gate: w.gate, Now: w.now,
		Changed: func() { w.changes.touch(rec.ID) }})
	opened := &workspace{record: rec, files: held,
		processes: w.manager.Scope(rec.ID, real, proc.Confinement{Profile: rec.Profile(), Protected: held.Protected, Variables: rec.Made.Variables}),
		git:       w.git.Repositories(real, func() (<-chan struct{}, func()) { return w.changes.watch(rec.ID) }),
		context:   func() chat.Context { return w.contexts.of(rec.ID, real) },
		servers:   func() chat.Servers { return w.contexts.servers(rec.ID, real) }}
	old := w.open[rec.ID]
	w.open[rec.ID] = opened
	w.changes.trees.Follow(string(rec.ID), real, func() { w.changes.touch(rec.ID) })
	return opened, old != nil && old.record.Profile() != rec.Profile(), nil
}

// same says whether a record is opened as the other was; how a Workspace is used and where it stands opens nothing anew.
func same(a, b chat.WorkspaceRecord) bool {
	equal := a.CreatedAt.Equal(b.CreatedAt) && maps.Equal(a.Made.Variables, b.Made.Variables)
	for _, r := range []*chat.WorkspaceRecord{&a, &b} {
		r.CreatedAt, r.UsedAt, r.State, r.Made = time.Time{}, time.Time{}, "", chat.Making{}
	}
	return equal && reflect.DeepEqual(a, b)
}

func gone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// onlyBeside is that folders of this machine are no Workspaces.
func onlyBeside() error {
	return &chat.Error{Kind: chat.KindWrongState, Message: "This appliance works in no folders of its own machine.",
		Detail: "It was started with local_workspaces off: put an agent beside the files, also of this machine, and use its workspace."}
}

// Resolve gives the real path of a directory that can be a Workspace. A leading ~ is the home directory.
func (w *Workspaces) Resolve(_ context.Context, directory string) (string, error) {
	if w.own.beside {
		return "", onlyBeside()
	}
	invalid := func(format string, args ...any) (string, error) {
		return "", chat.Invalid("directory", fmt.Sprintf(format, args...))
	}
	dir := strings.TrimSpace(directory)
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return invalid("the home directory is not known; give the whole path")
		}
		dir = filepath.Join(home, dir[1:])
	}
	if dir == "" {
		return invalid("give the path of a directory")
	}
	if strings.ContainsRune(dir, 0) || !filepath.IsAbs(dir) {
		return invalid("%q is not an absolute path, which begins with /", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return invalid("there is no directory %q", dir)
	}
	if err != nil {
		return invalid("%q cannot be reached: %v", dir, reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return invalid("%q cannot be reached: %v", dir, reason(err))
	}
	if !info.IsDir() {
		return invalid("%q is not a directory", dir)
	}
	if real == filepath.Dir(real) {
		return invalid("the root of the file system cannot be a workspace; choose a directory in it")
	}
	for _, system := range []string{"/proc", "/sys", "/dev"} {
		if real == system || system != "/dev" && strings.HasPrefix(real, system+"/") {
			return invalid("%q shows the system and its processes, the appliance's own too; choose a directory with files", dir)
		}
	}
	for _, own := range []string{w.own.data, w.own.state, w.own.temp, w.own.caches} {
		if lies, err := overlap(own, real); err != nil {
			return invalid("%q cannot be compared with the appliance's own directories: %v", dir, reason(err))
		} else if lies {
			return invalid("%q is, holds or lies in the appliance's own directory %q; choose another", dir, own)
		}
	}
	if !w.inRoots(real) {
		return invalid("%q does not lie in a directory where workspaces may be made on that machine", dir)
	}
	if err := readable(real); err != nil {
		return invalid("%q cannot be read: %v", dir, reason(err))
	}
	return real, nil
}

// inRoots says whether a real directory lies where Workspaces may be.
func (w *Workspaces) inRoots(real string) bool {
	if w.own.roots == nil {
		return true
	}
	return slices.ContainsFunc(w.own.roots, func(root string) bool {
		return real == root || strings.HasPrefix(real, root+string(filepath.Separator))
	})
}

func readable(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// overlap: one of two real directories is the other or lies in it. Files decide, not names, because names may differ in case.
func overlap(a, b string) (bool, error) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		top, err := os.Stat(pair[0])
		if err != nil {
			return false, err
		}
		for at := pair[1]; ; at = filepath.Dir(at) {
			info, err := os.Stat(at)
			if err != nil {
				return false, err
			}
			if os.SameFile(top, info) {
				return true, nil
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return false, nil
}

func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Forget removes the temporary directory of a Chat that is deleted.
func (w *Workspaces) Forget(id chat.ID) error {
	root, err := os.OpenRoot(w.own.temp)
	if err != nil {
		return fmt.Errorf("forget the files of a chat: %w", err)
	}
	defer root.Close()
	if id == "" || strings.ContainsAny(string(id), `/\`) || strings.HasPrefix(string(id), ".") {
		return chat.NotFound("chat")
	}
	if err := root.RemoveAll(string(id)); err != nil {
		return fmt.Errorf("forget the files of a chat: %w", err)
	}
	return nil
}

// PushTo hands each Snapshot of each Workspace to the sink. Before it is called no Workspace has a Context.
func (w *Workspaces) PushTo(sink chat.AgentSink) { w.contexts.pushTo(sink) }

// Stop ends the processes and the context of a Workspace and forgets that it was open.
func (w *Workspaces) Stop(ctx context.Context, id chat.WorkspaceID) error {
	w.mu.Lock()
	delete(w.open, id)
	w.mu.Unlock()
	w.changes.trees.Forget(string(id))
	w.contexts.stop(id)
	if w.beyond.Stop != nil {
		if err := w.beyond.Stop(ctx, id); err != nil {
			return err
		}
	}
	return w.manager.End(ctx, id)
}

// Close ends all processes and contexts and waits until they are gone or ctx ends.
func (w *Workspaces) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	clear(w.open)
	w.mu.Unlock()
	w.changes.trees.Close()
	return errors.Join(w.contexts.close(ctx), w.manager.Close(ctx), w.git.Close(ctx))
}

// Running counts the processes of all Workspaces.
func (w *Workspaces) Running() int { return w.manager.Running() }
