package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// Times are how long things take; zero is the default.
type Times struct {
	Connect, Call time.Duration
	// Restart is the pause before a program that ended is started again; it doubles up to RestartMost, and begins anew with one that lived
	// as long as that.
	Restart, RestartMost time.Duration
}

func (t Times) orDefault() Times {
	set := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&t.Connect, 10*time.Second)
	set(&t.Call, time.Minute)
	set(&t.Restart, time.Second)
	set(&t.RestartMost, time.Minute)
	return t
}

// Options of a Provider.
type Options struct {
	// Dir is the Workspace's directory, absolute and real.
	Dir string
	// Keep is the file with the approvals, outside of the Workspace; "" forgets them. Key seals them.
	Keep string
	Key  []byte
	// Environ is what values of entries may take in, without secrets of our own.
	Environ []string
	// Start starts a program confined; Sandbox says by what.
	Start   func(Launch) (*Process, error)
	Sandbox func() chat.Sandbox
	Dial    Dial
	// Changed is told when servers, their tools or their errors differ. It must not wait.
	Changed func()
	Times   Times
	Log     *slog.Logger
	Now     func() time.Time
}

// Provider runs the servers of one Workspace.
type Provider struct {
	o         Options
	approvals *approvals
	sums      *sums
	life      context.Context
	end       context.CancelFunc
	running   sync.WaitGroup
	// wake has room for one: the loop looks again.
	wake chan struct{}

	// mu guards state. No file is touched, and nothing is waited for, under it.
	mu    sync.Mutex
	state state
}

type state struct {
	configs []Config
	loaded  bool
	closed  bool
	// asked counts the looks that were asked for, seen those that were made. looked is closed, and replaced, after each.
	asked, seen uint64
	looked      chan struct{}
	servers     map[string]*server
}

var _ chat.Servers = (*Provider)(nil)

// New gives a Provider that has nothing to run before Load.
func New(o Options) *Provider {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Sandbox == nil {
		o.Sandbox = chat.NoSandbox
	}
	o.Times = o.Times.orDefault()
	p := &Provider{o: o, sums: newSums(), wake: make(chan struct{}, 1)}
	p.life, p.end = context.WithCancel(context.Background())
	p.state = state{looked: make(chan struct{}), servers: map[string]*server{}}
	var err error
	if p.approvals, err = openApprovals(o.Keep, o.Key); err != nil {
		o.Log.Error("the approvals of MCP servers cannot be read, so nothing is approved", chat.LogFile, o.Keep, chat.LogError, err)
	}
	p.running.Go(p.loop)
	return p
}

// Load takes the configs as they are now, in the order in which their names count. It does not wait.
func (p *Provider) Load(configs []Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.closed {
		return
	}
	p.state.configs, p.state.loaded = configs, true
	p.lookLocked()
}

func (p *Provider) lookLocked() uint64 {
	p.state.asked++
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return p.state.asked
}

// again waits until entries and programs were looked at once more.
func (p *Provider) again(ctx context.Context) error {
	p.mu.Lock()
	if p.state.closed {
		p.mu.Unlock()
		return chat.ErrContextClosed
	}
	mine := p.lookLocked()
	for {
		if p.state.seen >= mine {
			p.mu.Unlock()
			return nil
		}
		looked := p.state.looked
		p.mu.Unlock()
		select {
		case <-looked:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.life.Done():
			return chat.ErrContextClosed
		}
		p.mu.Lock()
	}
}

// loop makes the looks, one at a time.
func (p *Provider) loop() {
	for {
		select {
		case <-p.life.Done():
			return
		case <-p.wake:
		}
		p.mu.Lock()
		configs, loaded, asked := p.state.configs, p.state.loaded, p.state.asked
		p.mu.Unlock()
		var changed bool
		if loaded {
			changed = p.reload(configs)
		}
		p.mu.Lock()
		p.state.seen = asked
		close(p.state.looked)
		p.state.looked = make(chan struct{})
		p.mu.Unlock()
		if changed {
			p.o.Changed()
		}
	}
}

// lookup finds a variable that entries may take in.
func (p *Provider) lookup(name string) (string, bool) {
	for i := len(p.o.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.o.Environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// wanted is an entry with what it resolves to.
type wanted struct {
	entry
	program program
	shown   chat.ServerEntry
	hash    chat.Hash
}

// want resolves and seals an entry. What is wrong with it is its fault.
func (p *Provider) want(e entry) wanted {
	w := wanted{entry: e}
	if e.fault == "" {
		var err error
		if w.program, err = p.resolve(&e); err != nil {
			w.fault = err.Error()
		}
	}
	if w.entry.canonical == nil {
		return w
	}
	w.shown = e.shown(p.approvals.seal)
	w.shown.Files = w.program.files
	if w.fault == "" {
		parts := [][]byte{[]byte("entry"), []byte(e.name), e.canonical, []byte(w.program.path), []byte(w.program.dir)}
		for _, f := range w.program.files {
			parts = append(parts, []byte(f.Path), f.Hash[:])
		}
		w.hash = p.approvals.seal(parts...)
	}
	return w
}

// reload makes what runs equal to what the configs and approvals say. It says whether anything that is shown differs.
func (p *Provider) reload(configs []Config) bool {
	before := p.fingerprint()
	names := map[string]bool{}
	for _, e := range parse(configs) {
		names[e.name] = true
		p.settle(p.want(e))
	}
	p.mu.Lock()
	for name, s := range p.state.servers {
		if !names[name] {
			s.stop()
			delete(p.state.servers, name)
		}
	}
	p.mu.Unlock()
	return before != p.fingerprint()
}

// settle gives a server what it is to be now.
func (p *Provider) settle(w wanted) {
	approved, before := false, (*chat.ServerEntry)(nil)
	if w.hash != (chat.Hash{}) {
		approved, before = p.approvals.has(w.name, w.hash)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state.servers[w.name]
	if s == nil {
		s = &server{}
		p.state.servers[w.name] = s
	}
	running := s.run != nil && s.run.w.hash == w.hash
	s.want, s.approved, s.before = w, approved, before
	s.refused = !approved && w.hash != (chat.Hash{}) && p.approvals.refused(w.name, w.hash)
	switch {
	case !approved:
		s.stop()
	case !running && !p.state.closed:
		fresh := newRun(p, w)
		// What is connected stays so until the new one is.
		if s.run != nil && s.run.session == nil {
			s.run.cancel()
		} else if s.run != nil {
			s.fallback.stop()
			s.fallback = s.run
		}
		s.run = fresh
		p.running.Go(fresh.live)
	}
}

// sortedLocked gives the servers by name.
func (p *Provider) sortedLocked() []*server {
	out := make([]*server, 0, len(p.state.servers))
	for _, s := range p.state.servers {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *server) int { return strings.Compare(a.want.name, b.want.name) })
	return out
}

// Close ends all servers and waits for them.
func (p *Provider) Close() {
	p.mu.Lock()
	p.state.closed = true
	p.mu.Unlock()
	p.end()
	p.running.Wait()
}
