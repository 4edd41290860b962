package agentside

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/agentside/server"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// contexts are the contexts of the open Workspaces; each begins with its first use and ends with its Workspace.
type contexts struct {
	options wctx.Options
	serve   func(id chat.WorkspaceID, dir string, changed func()) *server.Provider
	// keep is the directory for the Sources of users.
	keep string
	log  *slog.Logger
	// allowed gives directories that Sources may lie in beside the Workspace's own.
	allowed func() []string

	// mu guards what follows.
	mu   sync.Mutex
	open map[chat.WorkspaceID]*living
	// setup are Workspaces that are being made or set up: what is in them is not looked at yet.
	setup   map[chat.WorkspaceID]bool
	sink    chat.AgentSink
	closed  bool
	running sync.WaitGroup
}

// living is the context of one Workspace.
type living struct {
	id  chat.WorkspaceID
	dir string
	// begin makes the manager and the provider of its servers once.
	begin    sync.Once
	manager  *wctx.Manager
	provider *server.Provider
	// pushing: the Snapshots are handed on.
	pushing sync.Once
	// ready is closed when the Workspace is set up.
	ready func()
	gate  chan struct{}
}

// setupTime is how long at most a Workspace that is being set up is not looked at.
const setupTime = 10 * time.Minute

// stands notes whether a Workspace is still being set up.
func (c *contexts) stands(rec chat.WorkspaceRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := rec.Standing(); s == chat.WorkspaceCreating || s == chat.WorkspaceSetup {
		c.setup[rec.ID] = true
		return
	}
	delete(c.setup, rec.ID)
	if l := c.open[rec.ID]; l != nil {
		l.ready()
	}
}

// newContexts reads or makes the key of this appliance.
func newContexts(w *Workspaces, o Options) (*contexts, error) {
	key, err := wctx.LoadKey(filepath.Join(w.own.state, "context.key"))
	if err != nil {
		return nil, err
	}
	return &contexts{serve: w.Serve, keep: filepath.Join(w.own.state, "context"), log: o.Log, allowed: o.ContextRoots, open: map[chat.WorkspaceID]*living{}, setup: map[chat.WorkspaceID]bool{},
		options: wctx.Options{Home: wctx.Home(), Denied: []string{w.own.data, w.own.state}, Key: key, BootID: cmp.Or(o.BootID, rand.Text()), Getenv: lookup(o.Environ), Resolved: o.Resolved, Log: o.Log}}, nil
}

// lookup finds variables in an environment; nil is this process's own.
func lookup(environ []string) func(string) string {
	if environ == nil {
		return os.Getenv
	}
	return func(name string) string {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// of gives the context of a Workspace; none where nobody takes its Snapshots. After the end it is one that has ended.
func (c *contexts) of(id chat.WorkspaceID, dir string) chat.Context {
	if !c.taken() {
		return nil
	}
	if l := c.begun(id, dir); l != nil {
		return l.manager
	}
	ended := wctx.New(wctx.Options{})
	ended.Close()
	return ended
}

// servers gives the MCP servers of a Workspace, which live as long as its context.
func (c *contexts) servers(id chat.WorkspaceID, dir string) chat.Servers {
	if !c.taken() {
		return nil
	}
	l := c.begun(id, dir)
	if l == nil || l.provider == nil {
		return nil
	}
	return l.provider
}

// begun gives the context, which runs; nil after the end.
func (c *contexts) begun(id chat.WorkspaceID, dir string) *living {
	l, old, sink := c.claim(id, dir)
	if old != nil {
		old.close(c)
	}
	if l == nil {
		return nil
	}
	l.start(c)
	l.push(c, sink)
	return l
}

func (c *contexts) taken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sink != nil
}

// claim finds or adds the context; old is one of another directory, whose end is the caller's to wait for.
func (c *contexts) claim(id chat.WorkspaceID, dir string) (l, old *living, sink chat.AgentSink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, nil
	}
	l = c.open[id]
	if l != nil && l.dir != dir {
		l, old = nil, l
	}
	if l == nil {
		l = &living{id: id, dir: dir, gate: make(chan struct{})}
		l.ready = sync.OnceFunc(func() { close(l.gate) })
		if !c.setup[id] {
			l.ready()
		}
		c.open[id] = l
	}
	return l, old, c.sink
}

// goes runs f until the contexts end; false when they have.
func (c *contexts) goes(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(f)
	return true
}

func (l *living) start(c *contexts) {
	l.begin.Do(func() {
		o := c.options
		o.Dir, o.Keep = l.dir, filepath.Join(c.keep, filepath.Base(string(l.id))+".json")
		o.Allowed = func() []string {
			roots := []string{l.dir}
			if c.allowed != nil {
				roots = append(roots, c.allowed()...)
			}
			return roots
		}
		l.provider = c.serve(l.id, l.dir, func() { l.manager.Trigger() })
		o.Servers = Watched(l.provider)
		l.manager = wctx.New(o)
		if !c.goes(func() {
			// Its only error is that of a context which does not end.
			if err := l.manager.Run(context.Background()); err != nil && !c.ended() {
				c.log.Error("the context of a workspace is not watched", chat.LogWorkspace, l.id, chat.LogError, err)
			}
		}) {
			l.manager.Close()
			return
		}
		select {
		case <-l.gate:
			l.manager.SetReady()
		default:
			c.goes(func() { l.await() })
		}
	})
}

// await opens the gate when the Workspace is set up, or has been at it for too long.
func (l *living) await() {
	late := time.NewTimer(setupTime)
	defer late.Stop()
	select {
	case <-l.gate:
	case <-late.C:
	case <-l.manager.Closed():
		return
	}
	l.manager.SetReady()
}

func (l *living) push(c *contexts, sink chat.AgentSink) {
	l.pushing.Do(func() {
		send := func(ctx context.Context, s chat.Snapshot, initial bool) (bool, string, error) {
			return sink.Push(ctx, l.id, s, initial)
		}
		c.goes(func() {
			if err := wctx.Push(context.Background(), l.manager, send, wctx.PushOptions{Log: c.log.With(chat.LogWorkspace, l.id)}); err != nil {
				c.log.Error("the context of a workspace is not handed on", chat.LogWorkspace, l.id, chat.LogError, err)
			}
		})
	})
}

// close ends a context, also one that is just beginning.
func (l *living) close(c *contexts) {
	l.start(c)
	l.manager.Close()
	if l.provider != nil {
		l.provider.Close()
	}
}

func (c *contexts) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// pushTo hands all Snapshots to the sink from now on.
func (c *contexts) pushTo(sink chat.AgentSink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink = sink
}

// stop ends the context of one Workspace; its next use begins anew.
func (c *contexts) stop(id chat.WorkspaceID) {
	c.mu.Lock()
	l := c.open[id]
	delete(c.open, id)
	delete(c.setup, id)
	c.mu.Unlock()
	if l != nil {
		l.close(c)
	}
}

// close ends all contexts and waits until they are gone or ctx ends.
func (c *contexts) close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	all := c.open
	c.open = map[chat.WorkspaceID]*living{}
	c.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for _, l := range all {
			l.close(c)
		}
		c.running.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
