package proc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// Limits of a Manager and times it takes.
const (
	maxRunning  = 64
	maxPerChat  = 16
	maxExited   = 128
	keepExited  = 30 * time.Minute
	maxReceipts = 10_000
	maxListed   = 100
	maxWait     = 5 * time.Minute
	giveUp      = 5 * time.Second
	grace       = 5 * time.Second
	groupLook   = 25 * time.Millisecond
	idleLook    = time.Second
)

// Options say where a Manager keeps what it must.
type Options struct {
	// Temp holds the directories of Chats with the whole outputs of their processes; "" keeps none.
	Temp string
	// Caches holds a directory per Workspace with what its confined commands can make anew; "" keeps none.
	Caches string
	// State is the directory for the list that the next start reads after a crash; "" keeps none.
	State string
	// Environ is what commands inherit, without its secrets; nil is this process's own.
	Environ []string
	Log     *slog.Logger
	// Now tells how old what has ended is; nil is time.Now.
	Now func() time.Time
	// Sandbox confines the commands of Scopes that have a profile; nil confines none.
	Sandbox *sandbox.Box
	// MaxRuntime is how long a process may run whatever it was given, 0 for ever; nil is for ever.
	MaxRuntime func() time.Duration
	// Ended is told of a Workspace whose process has ended, and must not wait; may be nil.
	Ended func(chat.WorkspaceID)
	// giveUp and grace are the times of that name; 0 is the default.
	giveUp, grace time.Duration
}

// Manager holds the processes of all Workspaces.
type Manager struct {
	opts Options

	// spawning is held for reading over the last look at closing and the spawn, so that Close misses nothing that was started.
	spawning sync.RWMutex
	closing  chan struct{}
	running  sync.WaitGroup

	// mu guards processes and receipts; a buffer's mu may be taken under it, never the other way round.
	mu        sync.Mutex
	processes map[string]*process
	receipts  receipts

	watchers watchers
	records  *records
	caches   caches
	ledger   *ledger
}

// New gives a Manager, having ended what a crashed one with the same State left running.
func New(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{opts: o.filled(), closing: make(chan struct{}), processes: map[string]*process{}}
	m.records, m.caches = &records{root: o.Temp, log: m.opts.Log}, caches{o.Caches}
	m.ledger = newLedger(o.State)
	left, err := m.ledger.load()
	if err != nil {
		return nil, fmt.Errorf("read the list of processes: %w", err)
	}
	if len(left) > 0 {
		m.opts.Log.Info("ending processes that a crash left", chat.LogListed, len(left))
		if err := endOrphans(ctx, m.ledger.name, left, m.opts.grace); err != nil {
			return nil, err
		}
		if err := m.ledger.clear(); err != nil {
			return nil, fmt.Errorf("write the list of processes: %w", err)
		}
	}
	if o.Temp != "" {
		if err := m.records.sweep(m.opts.Now()); err != nil {
			return nil, fmt.Errorf("sweep old output: %w", err)
		}
	}
	old, err := m.caches.stale(m.opts.Now())
	if err != nil {
		return nil, fmt.Errorf("list old caches: %w", err)
	}
	for _, id := range old {
		m.ForgetCache(id)
	}
	return m, nil
}

func (o Options) filled() Options {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ended == nil {
		o.Ended = func(chat.WorkspaceID) {}
	}
	if o.MaxRuntime == nil {
		o.MaxRuntime = func() time.Duration { return 0 }
	}
	o.giveUp, o.grace = cmp.Or(o.giveUp, giveUp), cmp.Or(o.grace, grace)
	return o
}

// Scope is the processes of one Workspace.
type Scope struct {
	manager   *Manager
	workspace chat.WorkspaceID
	dir       string
	confine   Confinement
}

// Confinement is how the commands of a Scope are confined. The zero value confines nothing.
type Confinement struct {
	Profile chat.Profile
	// Variables are in the environment of each.
	Variables map[string]string
	// Protected gives the paths below the directory that commands may only read; nil is none.
	Protected func() []string
}

// Sandbox tells what would confine a command with this profile.
func (s *Scope) Sandbox(p chat.Profile) chat.Sandbox { return s.manager.opts.Sandbox.Report(p) }

var _ chat.Processes = (*Scope)(nil)

// Scope gives the processes of a Workspace, whose directory is absolute and real.
func (m *Manager) Scope(id chat.WorkspaceID, dir string, c Confinement) *Scope {
	if c.Profile == chat.ProfileDefault {
		c.Profile = chat.ProfileOff
	}
	return &Scope{manager: m, workspace: id, dir: filepath.Clean(dir), confine: c}
}

func fail(kind, format string, args ...any) *chat.ProcessError {
	return &chat.ProcessError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func unknown(id string) *chat.ProcessError {
	return fail("not_found", "There is no process %q in this chat.", id)
}

// Start begins a process, or attaches to the one that was started with the same id, Chat and parameters.
func (s *Scope) Start(ctx context.Context, req chat.ProcessStart) (chat.ProcessInfo, error) {
	if !chat.PlainName(req.ID) || req.ChatID != "" && !chat.PlainName(string(req.ChatID)) {
		return chat.ProcessInfo{}, fail("invalid", "The id of a process or chat has letters, digits, - and _, at most 64.")
	}
	if ctx.Err() != nil {
		return chat.ProcessInfo{}, fmt.Errorf("start of process %s: %w", req.ID, context.Cause(ctx))
	}
	m := s.manager
	m.reap()
	p, info, mine, err := m.claim(s, req)
	if err != nil || p == nil {
		return info, err
	}
	if mine {
		m.begin(p)
	}
	select {
	case <-p.ready:
	default:
		select {
		case <-p.ready:
		case <-ctx.Done():
			return chat.ProcessInfo{}, fmt.Errorf("start of process %s: %w", req.ID, context.Cause(ctx))
		}
	}
	if p.err != nil {
		return chat.ProcessInfo{}, p.err
	}
	return p.info(), nil
}

// begin spawns a claimed process and tells all who want it how that went. Close waits for it, and then finds it ready.
func (m *Manager) begin(p *process) {
	m.spawning.RLock()
	defer m.spawning.RUnlock()
	defer close(p.ready)
	if p.err = m.spawn(p); p.err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.processes, p.req.ID)
}

func digest(req chat.ProcessStart) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %t %t %d %q %q", req.Command, req.Workdir, req.Background, req.ReadOnly, req.Deadline, req.Profile, req.Env))
}

// list gives the processes of a Workspace and Chat ("" is all), running first, newest start first.
func (m *Manager) list(s *Scope, id chat.ID) []chat.ProcessInfo {
	m.mu.Lock()
	var some []*process
	for _, p := range m.processes {
		if p.isIn(s, id) && p.isReady() {
			some = append(some, p)
		}
	}
	m.mu.Unlock()
	infos := make([]chat.ProcessInfo, 0, len(some))
	for _, p := range some {
		infos = append(infos, p.info())
	}
	slices.SortFunc(infos, func(a, b chat.ProcessInfo) int {
		if a.Running != b.Running {
			if a.Running {
				return -1
			}
			return 1
		}
		return b.StartedAt.Compare(a.StartedAt)
	})
	return infos[:min(len(infos), maxListed)]
}

// Running counts the processes that run, of all Workspaces.
func (m *Manager) Running() int {
	m.mu.Lock()
	some := slices.Collect(maps.Values(m.processes))
	m.mu.Unlock()
	n := 0
	for _, p := range some {
		if p.isReady() && p.info().Running {
			n++
		}
	}
	return n
}

// List gives at most 100 processes of a Chat, or of the Workspace with an empty one.
func (s *Scope) List(_ context.Context, id chat.ID) ([]chat.ProcessInfo, error) {
	s.manager.reap()
	return s.manager.list(s, id), nil
}

// find gives a process of the Workspace and Chat, or what is remembered of it.
func (m *Manager) find(s *Scope, chatID chat.ID, id string) (*process, receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.processes[id]; p != nil && p.isIn(s, chatID) && p.isReady() {
		return p, receipt{}, nil
	}
	if r, ok := m.receipts.get(id); ok && r.isIn(s, chatID) {
		return nil, r, nil
	}
	return nil, receipt{}, unknown(id)
}

// Output waits at most five minutes. Of a process whose output is not kept any more it gives the end and an "exited" error.
func (s *Scope) Output(ctx context.Context, chatID chat.ID, id string, since int64, wait time.Duration) (chat.ProcessOutput, error) {
	if since < 0 || wait < 0 {
		return chat.ProcessOutput{}, fail("invalid", "The offset and the time to wait must not be negative.")
	}
	m := s.manager
	m.reap()
	p, old, err := m.find(s, chatID, id)
	if err != nil {
		return chat.ProcessOutput{}, err
	}
	if p == nil {
		return chat.ProcessOutput{ProcessInfo: old.info},
			fail("exited", "Process %s ended with exit code %d; its output is not kept any more.", id, old.info.ExitCode)
	}
	if wait > 0 {
		m.hold(p, 1)
		p.buffer.wait(ctx, min(wait, maxWait))
		m.hold(p, -1)
	}
	v := p.buffer.view()
	r := v.render(since)
	return chat.ProcessOutput{ProcessInfo: p.infoAt(v.ended, v.exit), Output: r.text, NextOffset: r.next, GapBytes: r.gap,
		TotalBytes: v.total, OmittedBytes: r.gap, Log: p.recordName()}, nil
}

func (m *Manager) hold(p *process, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.holders += n
}

// Signal sends terminate or kill to the process group.
func (s *Scope) Signal(_ context.Context, chatID chat.ID, id string, signal string) error {
	if signal != "terminate" && signal != "kill" {
		return fail("invalid", "The signal %q is not known; it is terminate or kill.", signal)
	}
	p, _, err := s.manager.find(s, chatID, id)
	if err != nil {
		return err
	}
	if p != nil {
		if ended, _ := p.buffer.state(); !ended && signalGroup(p.pid, signal == "kill") == nil {
			return nil
		}
	}
	return fail("exited", "Process %s has already ended.", id)
}

// Watch is touched when the process prints or ends; "" is any of the Workspace.
func (s *Scope) Watch(id string) (<-chan struct{}, func()) {
	if id == "" {
		return s.manager.watchers.watch("w:" + string(s.workspace))
	}
	return s.manager.watchers.watch("p:" + string(s.workspace) + ":" + id)
}

func (m *Manager) touch(p *process) {
	m.watchers.touch("w:" + string(p.scope.workspace))
	m.watchers.touch("p:" + string(p.scope.workspace) + ":" + p.req.ID)
}
