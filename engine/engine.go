package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/skill"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// Options are what the Engine is made of. Zero numbers take the defaults of engine.md 1.
type Options struct {
	Store *kv.Store
	// Model makes the calls, with retries and guards already around it.
	Model chat.Model
	Tools Tools
	// Servers gives each Turn the Tools of MCP servers; may be nil.
	Servers chat.ToolSource
	// ExclusiveToolNames are Tools that run only when a model calls them by themselves. An empty set changes nothing.
	ExclusiveToolNames []string
	// Configs resolves model configs; Workspaces opens workspaces by id.
	Configs    Configs
	Workspaces OpenWorkspace
	// Spaces starts Workspaces that were stopped; may be nil.
	Spaces *workspace.Room
	// Forget removes what a deleted Chat left beside the files; may be nil.
	Forget func(chat.ID) error
	// Committed is told after each commit that changed a Chat, and must not wait; may be nil.
	Committed func(chat.ID)
	// HalveWindow makes a config's window half as large, once, after out_of_memory; may be nil.
	HalveWindow func(context.Context, chat.ModelConfigID) (tokens int64, halved bool, err error)
	// Seats says where a small generation's model would sit in memory; nil knows of none, so that the Chat's own model makes them.
	Seats chat.Seats
	// FoundTools keeps with a config how its model calls tools, chat.ToolsText or chat.ToolsJSON, found out in a Turn; may be nil.
	FoundTools func(ctx context.Context, id chat.ModelConfigID, protocol string) error
	// Limit refuses what a person may no longer start; it is asked inside the transaction, and may be nil.
	Limit func(tx *kv.Tx, user chat.UserID) error
	// Notify is handed what a person may want to hear of while they look elsewhere, after the commit; it must not wait, and may be nil.
	Notify func(chat.Notice)
	// Keep stores a Notice in the transaction that takes it out of what is owed, before Notify is handed it; nil keeps nothing.
	Keep func(*kv.Tx, *chat.Notice) error
	// Traced is handed what each run spent its time on; it must not wait, and may be nil.
	Traced func(chat.Trace)
	// Clean takes known secrets out of what Tools say and of what is exported; nil takes out nothing.
	Clean  func(string) string
	Metric *metric.Registry
	Log    *slog.Logger
	Now    func() time.Time
	Bounds Bounds
}

// Configs finds the Model config of a Turn inside a transaction: the named one, or the default where it is empty, gone or disabled.
type Configs func(tx *kv.Tx, id chat.ModelConfigID) (chat.ModelConfig, error)

// OpenWorkspace gives the live Workspace of an id.
type OpenWorkspace func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error)

// Tools is the ordered set of Tools that main hands in.
type Tools interface {
	// Tool gives the Tool of that exact name.
	Tool(name string) (chat.Tool, bool)
	// Defs lists the definitions to offer for a window in tokens, in their order.
	Defs(window int) []chat.ToolDef
}

// Bounds are the numbers of engine.md 1 that a site may set.
type Bounds struct {
	// RunningTurns is how many root Chats run at once, ChildTurns how many Sub-agents; AcquireBatch how many are taken from the store in one look.
	RunningTurns int
	ChildTurns   int
	AcquireBatch int
	// FixedTurns: the site does not change RunningTurns.
	FixedTurns bool
	// StepCap ends a Turn normally; values below 1 mean 1.
	StepCap int
	// ActionTimeout is how long the program that made a Chat may take to answer its Calls.
	ActionTimeout time.Duration
	// ToolGrace is how long interrupted Tools may take to return.
	ToolGrace time.Duration
	// TouchEvery and CheckpointEvery pace the Draft; CheckpointBytes is how much may be unsaved.
	TouchEvery      time.Duration
	CheckpointEvery time.Duration
	CheckpointBytes int
	// DiffEvery is how long changes of files are gathered before repositories are read.
	DiffEvery time.Duration
	// HoldAfterRestart makes every recovered Turn rest instead of resuming.
	HoldAfterRestart bool
}

func (b Bounds) withDefaults() Bounds {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	setTime := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&b.RunningTurns, 5)
	set(&b.ChildTurns, 10)
	set(&b.AcquireBatch, 10)
	b.AcquireBatch = min(max(b.AcquireBatch, 1), 1000)
	set(&b.StepCap, 1200)
	b.StepCap = max(b.StepCap, 1)
	setTime(&b.ActionTimeout, 5*time.Minute)
	setTime(&b.ToolGrace, 5*time.Second)
	setTime(&b.TouchEvery, 50*time.Millisecond)
	setTime(&b.CheckpointEvery, 400*time.Millisecond)
	set(&b.CheckpointBytes, 4096)
	setTime(&b.DiffEvery, 500*time.Millisecond)
	return b
}

// Engine runs Turns. Make it with New, Start it, and Close it; Close joins everything that it started.
type Engine struct {
	store  *kv.Store
	model  chat.Model
	tools  *toolbox
	ports  ports
	log    *slog.Logger
	now    func() time.Time
	bounds Bounds
	meters *meters

	feed      *feed
	runner    *runner
	histories histories
	deadlines deadlines
}

// ports are the single functions that other rooms hand in.
type ports struct {
	configs     Configs
	workspaces  OpenWorkspace
	forget      func(chat.ID) error
	committed   func(chat.ID)
	halveWindow func(context.Context, chat.ModelConfigID) (int64, bool, error)
	limit       func(*kv.Tx, chat.UserID) error
	exclusive   []string
	notify      func(chat.Notice)
	keep        func(*kv.Tx, *chat.Notice) error
	seats       chat.Seats
	foundTools  func(context.Context, chat.ModelConfigID, string) error
	spaces      *workspace.Room
	servers     chat.ToolSource
	traces      *traces
}

// New makes an Engine; nothing runs before Start.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Notify == nil {
		o.Notify = func(chat.Notice) {}
	}
	if o.Keep == nil {
		o.Keep = func(*kv.Tx, *chat.Notice) error { return nil }
	}
	if o.Committed == nil {
		o.Committed = func(chat.ID) {}
	}
	e := &Engine{store: o.Store, model: o.Model, log: o.Log, now: o.Now,
		ports: ports{configs: o.Configs, workspaces: o.Workspaces, forget: o.Forget, committed: o.Committed, halveWindow: o.HalveWindow, limit: o.Limit, seats: o.Seats, foundTools: o.FoundTools,
			exclusive: o.ExclusiveToolNames, notify: o.Notify, keep: o.Keep, spaces: o.Spaces, servers: o.Servers, traces: &traces{hand: o.Traced}},
		bounds: o.Bounds.withDefaults(), meters: newMeters(o.Metric)}
	e.tools = &toolbox{hide: o.Clean, Tools: o.Tools, own: slices.Concat(e.makeTools(), e.personTools(), e.agentTools(), []chat.Tool{giveTool()}, skill.Tools())}
	e.feed = newFeed()
	e.runner = newRunner(e)
	return e
}

// Start recovers the Chats of a dead process and begins to take pending ones. It returns when recovery is done.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.recoverAll(ctx); err != nil {
		return err
	}
	if err := e.noteActive(ctx); err != nil {
		return err
	}
	if err := e.meetAll(ctx); err != nil {
		return err
	}
	if err := e.tellOwed(ctx); err != nil {
		return err
	}
	e.runner.start()
	return nil
}

// Close stops taking Chats, ends running Turns with cause shutdown (partials kept, Chats pending) and joins every goroutine. It gives up
// waiting when ctx ends; the store is consistent then too.
func (e *Engine) Close(ctx context.Context) error { return e.runner.close(ctx) }

// workspaceLocks lets Tools that write run one at a time per Workspace.
type workspaceLocks struct {
	mu    sync.Mutex // guards locks
	locks map[chat.WorkspaceID]*workspaceLock
}

type workspaceLock struct {
	held    chan struct{}
	waiters int
}

// lock waits for the Workspace's turn; the func gives it back. It fails with the context's cause.
func (w *workspaceLocks) lock(ctx context.Context, id chat.WorkspaceID) (func(), error) {
	w.mu.Lock()
	if w.locks == nil {
		w.locks = map[chat.WorkspaceID]*workspaceLock{}
	}
	l := w.locks[id]
	if l == nil {
		l = &workspaceLock{held: make(chan struct{}, 1)}
		w.locks[id] = l
	}
	l.waiters++
	w.mu.Unlock()
	leave := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.waiters--
		if l.waiters == 0 {
			delete(w.locks, id)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
