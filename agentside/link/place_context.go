package link

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// published is what an Agent has published of its context, without Payloads, and who waits for more.
type published struct {
	snapshot chat.Snapshot
	watching map[*subscription]struct{}
}

type subscription struct{ touched chan struct{} }

// of gives what is published of a Workspace. It needs mu.
func (l *line) of(space chat.WorkspaceID) *published {
	p := l.contexts[space]
	if p == nil {
		p = &published{watching: map[*subscription]struct{}{}}
		if l.contexts == nil {
			l.contexts = map[chat.WorkspaceID]*published{}
		}
		l.contexts[space] = p
	}
	return p
}

// publish keeps what the store has taken and wakes who waits for it.
func (l *line) publish(space chat.WorkspaceID, s chat.Snapshot) {
	s.Resources = slices.Clone(s.Resources)
	for i := range s.Resources {
		s.Resources[i].Payload, s.Resources[i].Tools = nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of(space)
	of.snapshot = s
	for w := range of.watching {
		select {
		case w.touched <- struct{}{}:
		default:
		}
	}
}

// Context is the live context beside the Agent; nil while the Agent is away, or pushes none: what is stored serves then.
func (p *place) Context() chat.Context {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	if c := p.line.current; c == nil || !c.terms.Has(CapPush) {
		return nil
	}
	return &remoteContext{line: p.line}
}

// remoteContext is the Context beside an Agent.
type remoteContext struct{ line way }

// Snapshot gives the newest that the store has taken over this link; until the Agent has sent one it is not ready.
func (c *remoteContext) Snapshot() chat.Snapshot {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	of := c.line.of(c.line.space)
	if now := c.line.current; now == nil || of.snapshot.BootID != now.hello.BootID {
		return chat.Snapshot{}
	}
	return of.snapshot
}

// Watch is touched after each Snapshot that was taken.
func (c *remoteContext) Watch() (<-chan struct{}, func()) {
	w := &subscription{touched: make(chan struct{}, 1)}
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	watching := c.line.of(c.line.space).watching
	watching[w] = struct{}{}
	return w.touched, func() {
		c.line.mu.Lock()
		defer c.line.mu.Unlock()
		delete(watching, w)
	}
}

// Resync has the Agent look anew; what it finds comes to the store on its own way.
func (c *remoteContext) Resync(ctx context.Context) (chat.Snapshot, error) {
	got, err := c.ask(ctx, call{method: http.MethodPost, path: "/context/resync"})
	if err != nil {
		return c.Snapshot(), err
	}
	return wctx.ReadShown(got.body)
}

// Sources gives the paths that were added beside the Agent.
func (c *remoteContext) Sources(ctx context.Context) ([]string, error) {
	got, err := c.ask(ctx, call{method: http.MethodGet, path: "/context/sources"})
	if err != nil {
		return nil, err
	}
	return wctx.ReadSources(got.body)
}

// Source finds, adds or removes a path beside the Agent, which says which ones it takes.
func (c *remoteContext) Source(ctx context.Context, path string, act chat.SourceAct) (string, error) {
	in := call{path: "/context/sources", query: url.Values{"path": {path}}}
	switch act {
	case chat.SourceFind:
		in.method = http.MethodGet
	case chat.SourceRemove:
		in.method, in.header = http.MethodDelete, map[string]string{headerKey: uuid.NewString()}
	case chat.SourceAdd:
		body, err := wctx.WriteSource(path)
		if err != nil {
			return "", err
		}
		in.method, in.query, in.body = http.MethodPost, nil, body
	}
	got, err := c.ask(ctx, in)
	if err != nil || act == chat.SourceRemove {
		return path, err
	}
	return wctx.ReadSource(got.body)
}

// ask gives an answer that is none of a refusal; a refusal is an error as the port has it.
func (c *remoteContext) ask(ctx context.Context, in call) (*reply, error) {
	got, err := c.line.ask(ctx, CapContext, in)
	var known *chat.Error
	if err != nil {
		if _, message, ok := refusedBy(err); ok && !errors.As(err, &known) {
			return nil, &chat.Error{Kind: chat.KindUnreachable, Message: message}
		}
		return nil, err
	}
	if got.status < 400 {
		return got, nil
	}
	return nil, wctx.ReadRefusal(got.status, got.body)
}
