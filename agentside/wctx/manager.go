package wctx

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// Options of a Manager.
type Options struct {
	// Dir is the working directory, "" when it is not known yet.
	Dir string
	// Home is the home directory; with BuiltIn its own roots are read, and may be added, too.
	Home    string
	BuiltIn bool
	// Allowed gives the directories in which Sources of users may lie; none is the default. It is asked at every check.
	Allowed func() []string
	// Denied are directories of our own that are never read.
	Denied []string
	// Keep is the file with the Sources of users, "" to forget them.
	Keep string
	// Key seals the hashes of MCP configs.
	Key []byte
	// BootID names the run of this program.
	BootID string
	// Getenv reads the environment; nil is that of no variables.
	Getenv func(string) string
	// Servers are the MCP servers; the zero value is none.
	Servers Servers
	Limits  Limits
	// Resolved is told how long each pass took; may be nil.
	Resolved func(time.Duration)
	Log      *slog.Logger
}

// Servers run what the MCP configs name.
type Servers struct {
	// List gives the servers and whether all of them have answered.
	List func() (list []chat.Resource, settled bool)
	// Load takes the configs that are valid, in the order in which their names count, after each pass that counts. It must not wait.
	Load func([]Config)
}

// Config is an MCP config as it was read. Its content goes nowhere else.
type Config struct {
	Path, SourcePath string
	Content          []byte
}

// Limits are the numbers of a Manager; zero is the default.
type Limits struct {
	Caps   Caps
	Timing Timing
}

// Manager keeps the Snapshot of one Workspace up to date.
type Manager struct {
	o        Options
	reach    reach
	resolver *resolver
	build    func() (notifier, error)
	// relative are the seeds that the working directory binds; changing is held by who changes the Sources.
	relative []Seed
	changing chan struct{}
	// walks bounds how many Resyncs walk at once.
	walks chan struct{}
	bell  bell

	// mu guards state. No file is touched under it.
	mu    sync.Mutex
	state state
}

// bell is how the loop and who waits for the end of a Manager are told.
type bell struct {
	trigger, quiet chan struct{}
	// life ends with stop, when the end begins; done is closed when Run has ended.
	life context.Context
	stop context.CancelFunc
	done chan struct{}
}

// state is what a Manager knows.
type state struct {
	sources  []source
	dir      string
	problem  string
	ready    bool
	running  bool
	closed   bool
	watcher  *watcher
	snapshot chat.Snapshot
	passes   passes
	watching map[*subscriber]struct{}
}

type subscriber struct{ touched chan struct{} }

var _ chat.Context = (*Manager)(nil)

// New makes a Manager that is not ready: it reads nothing before SetReady, and hears of no change before Run.
func New(o Options) *Manager {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolved == nil {
		o.Resolved = func(time.Duration) {}
	}
	o.Limits.Caps, o.Limits.Timing = o.Limits.Caps.orDefault(), o.Limits.Timing.orDefault()
	denied := make([]string, 0, len(o.Denied))
	for _, dir := range o.Denied {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = filepath.Clean(dir)
		}
		denied = append(denied, real)
	}
	m := &Manager{o: o, build: realNotifier,
		reach:    reach{home: o.Home, configured: o.Allowed, homely: o.BuiltIn, denied: denied},
		resolver: &resolver{disk: realDisk(), names: newNames(o.Getenv, o.Log), denied: denied, caps: o.Limits.Caps, key: o.Key},
		changing: make(chan struct{}, 1), walks: make(chan struct{}, 2),
		bell: bell{trigger: make(chan struct{}, 1), quiet: make(chan struct{}, 1), done: make(chan struct{})}}
	m.bell.life, m.bell.stop = context.WithCancel(context.Background())
	m.state = state{dir: o.Dir, watching: map[*subscriber]struct{}{}, passes: newPasses(),
		snapshot: finish(chat.Snapshot{BootID: o.BootID, MCPSettled: o.Servers.List == nil})}
	m.state.sources, m.state.problem = m.recall()
	seeds := Seeds(o.Getenv)
	m.remember(seeds)
	m.state.sources = m.seeded(m.state.sources, seeds, o.Dir)
	return m
}

// finish computes the hashes of a Snapshot.
func finish(s chat.Snapshot) chat.Snapshot {
	if s.Resources == nil {
		s.Resources = []chat.Resource{}
	}
	s.AggregateHash = chat.AggregateHash(s.Resources)
	s.FullHash = chat.FullHash(s.Resources, s.Error, s.MCPSettled)
	return s
}

// Snapshot gives the published one.
func (m *Manager) Snapshot() chat.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.snapshot
}

// Watch subscribes to publications.
func (m *Manager) Watch() (<-chan struct{}, func()) {
	s := &subscriber{touched: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.watching[s] = struct{}{}
	return s.touched, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.state.watching, s)
	}
}

// Closed is closed when the Manager ends.
func (m *Manager) Closed() <-chan struct{} { return m.bell.life.Done() }

// SetReady opens the gate: the first call makes Version 1.
func (m *Manager) SetReady() {
	m.mu.Lock()
	first := !m.state.ready
	m.state.ready = true
	m.mu.Unlock()
	if first {
		m.Trigger()
	}
}

// Trigger asks for a pass and does not wait for it.
func (m *Manager) Trigger() { ring(m.bell.trigger) }

func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ErrRunning: a Manager runs once.
var ErrRunning = errors.New("workspace context: Run was called before")

// Run keeps the Snapshot up to date until ctx or the Manager ends. It may be called once.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.claimRun(); err != nil {
		return err
	}
	defer close(m.bell.done)
	defer m.end()
	life, cancel := m.lifetime(ctx)
	defer cancel()
	w, err := newWatcher(watchOptions{timing: m.o.Limits.Timing, build: m.build, surround: m.resolver.surround,
		relevant: func(base string) bool { return m.resolver.names.kind(base) != "" },
		changed:  m.Trigger, recovered: func() { ring(m.bell.quiet) }, log: m.o.Log})
	if err != nil {
		return err
	}
	var heard sync.WaitGroup
	heard.Go(func() { w.run(life) })
	defer heard.Wait()
	defer func() {
		if err := w.Close(); err != nil {
			m.o.Log.Warn("the watcher did not close", chat.LogError, err)
		}
	}()
	m.mu.Lock()
	m.state.watcher = w
	m.mu.Unlock()
	// What was published before was not watched.
	m.Trigger()
	return m.loop(ctx, life)
}

func (m *Manager) claimRun() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.state.closed:
		return chat.ErrContextClosed
	case m.state.running:
		return ErrRunning
	}
	m.state.running = true
	return nil
}

// loop makes the passes that nobody waits for. Close gives nil, ctx its error.
func (m *Manager) loop(ctx, life context.Context) error {
	for {
		quiet := false
		select {
		case <-m.bell.life.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-m.bell.trigger:
		case <-m.bell.quiet:
			quiet = true
		}
		if _, err := m.pass(life, quiet); err != nil && life.Err() == nil {
			m.o.Log.Warn("the workspace's context was not read", chat.LogError, err)
		}
	}
}

// lifetime is ctx until the Manager ends.
func (m *Manager) lifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	life, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.bell.life, cancel)
	return life, func() {
		stop()
		cancel()
	}
}

// end marks the Manager as closed.
func (m *Manager) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.closed = true
	m.bell.stop()
}

// Close ends what goes on and waits for Run.
func (m *Manager) Close() {
	m.end()
	m.mu.Lock()
	running := m.state.running
	m.mu.Unlock()
	if running {
		<-m.bell.done
	}
}

// roots gives what is to be read now, and which Sources are not.
func (m *Manager) roots(sources []source, dir string) (roots []root, problems []string) {
	for _, s := range sources {
		r := root{path: s.path, sourcePath: s.path, container: s.container}
		if !s.seeded {
			within, err := m.reach.allowed(s.path, dir)
			if err != nil {
				problems = append(problems, "a source is not read: "+detail(err))
				continue
			}
			r.within = within
		} else if _, in := below(filepath.Clean(dir), s.path); in && s.relative != "" {
			// What the environment names inside the working directory may be a link that the repository brought.
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				r.within = real
			}
		}
		roots = append(roots, r)
	}
	if m.o.BuiltIn && m.o.Home != "" {
		roots = append(roots, builtIn(m.o.Home)...)
	}
	if dir != "" {
		roots = append(roots, root{path: filepath.Clean(dir), children: true})
	}
	return mergeRoots(roots), slices.Compact(problems)
}

func detail(err error) string {
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Detail != "" {
		return refused.Detail
	}
	return reason(err)
}

// Home is the home directory of who runs this program, "" when it is not known.
func Home() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}
