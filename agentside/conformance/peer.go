package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"holdfast/agentside/server"
	"holdfast/engine/chat"
)

// Peer is an MCP server in memory, which every address of an entry leads to. Its zero value has no tools.
type Peer struct {
	mu    sync.Mutex // guards the rest
	tools []chat.ResourceTool
	tell  func()
	calls int
	// stuck, unless nil, is closed to let calls end; entered and left are touched as one begins and is cancelled.
	stuck         chan struct{}
	entered, left chan struct{}
}

// NewPeer gives one with a tool, hello, that says its arguments, and another, broken, that fails.
func NewPeer() *Peer {
	return &Peer{tools: []chat.ResourceTool{{Name: "hello", Description: "Say hello.", InputSchema: []byte(`{"type":"object","properties":{}}`)},
		{Name: "broken", Description: "Fail.", InputSchema: []byte(`{"type":"object"}`)}}, entered: make(chan struct{}, 100), left: make(chan struct{}, 100)}
}

// Dial is a server.Dial.
func (p *Peer) Dial(_ context.Context, t server.Target) (server.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = t.Changed
	return peered{p}, nil
}

// Describe gives the tool hello another description, and announces it.
func (p *Peer) Describe(text string) {
	p.mu.Lock()
	p.tools = slices.Clone(p.tools)
	p.tools[0].Description = text
	tell := p.tell
	p.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// Hold makes calls wait until release; entered is touched as each begins, left as each is cancelled.
func (p *Peer) Hold() (entered, left <-chan struct{}, release func()) {
	stuck := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = stuck
	return p.entered, p.left, sync.OnceFunc(func() {
		p.mu.Lock()
		p.stuck = nil
		p.mu.Unlock()
		close(stuck)
	})
}

// Calls counts the calls that have begun.
func (p *Peer) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

type peered struct{ p *Peer }

// Tools lists them.
func (s peered) Tools(context.Context) ([]chat.ResourceTool, []string, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return slices.Clone(s.p.tools), nil, nil
}

// Call answers with the arguments.
func (s peered) Call(ctx context.Context, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	s.p.mu.Lock()
	s.p.calls++
	stuck := s.p.stuck
	s.p.mu.Unlock()
	s.p.entered <- struct{}{}
	if stuck != nil {
		select {
		case <-stuck:
		case <-ctx.Done():
			s.p.left <- struct{}{}
			return chat.ServerAnswer{}, ctx.Err()
		}
	}
	return chat.ServerAnswer{Text: tool + " " + string(args), IsError: tool == "broken"}, nil
}

// Close ends nothing.
func (s peered) Close() error { return nil }
