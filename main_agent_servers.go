package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"holdfast/agentside"
	"holdfast/agentside/server"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
	"holdfast/engine/outbound"
)

// agentServers run the MCP servers that the files beside an Agent name, confined as the appliance's record of the Workspace says. That is
// kept, so that they run in the same way when the Agent starts before the appliance has said it again.
type agentServers struct {
	places *agentside.Workspaces
	record chat.WorkspaceRecord
	// kept is the file with the profile.
	kept string

	// holding is held by who changes the profile, and waits for what ran with the old one.
	holding sync.Mutex
	// mu guards the rest.
	mu       sync.Mutex
	profile  chat.Profile
	provider *server.Provider
	configs  []wctx.Config
	// changed tells the context, which is made after the first Provider.
	changed func()
}

var _ chat.Servers = (*agentServers)(nil)

// openServers opens the Agent's Workspace with the profile that it had last, and begins to serve.
func openServers(ctx context.Context, places *agentside.Workspaces, rec chat.WorkspaceRecord, state string) (*agentServers, chat.Workspace, error) {
	s := &agentServers{places: places, record: rec, kept: filepath.Join(state, "profile"), changed: func() {}}
	text, err := os.ReadFile(s.kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if s.profile = chat.Profile(text); !s.profile.Known() {
		s.profile = chat.ProfileDefault
	}
	s.record.Sandbox = s.profile
	ws, err := places.Open(ctx, s.record)
	if err != nil {
		return nil, nil, err
	}
	s.provider = s.begin()
	return s, ws, nil
}

func (s *agentServers) begin() *server.Provider {
	return s.places.Serve(s.record.ID, s.record.Directory, func() {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		changed()
	})
}

// now is the Provider that serves.
func (s *agentServers) now() *server.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider
}

// Hold confines the servers as the appliance says; those that ran with another profile are started anew.
func (s *agentServers) Hold(ctx context.Context, p chat.Profile) error {
	s.holding.Lock()
	defer s.holding.Unlock()
	s.mu.Lock()
	same := s.profile == p
	s.mu.Unlock()
	if same {
		return nil
	}
	if err := os.WriteFile(s.kept, []byte(p), 0o600); err != nil {
		return err
	}
	s.record.Sandbox = p
	if _, err := s.places.Open(ctx, s.record); err != nil {
		return err
	}
	s.now().Close()
	fresh := s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profile, s.provider = p, fresh
	// Under the lock, so that configs which are newer are not loaded before. It does not wait.
	agentside.Watched(fresh).Load(s.configs)
	return nil
}

// watched is how the context takes the servers.
func (s *agentServers) watched() wctx.Servers {
	return wctx.Servers{
		List: func() ([]chat.Resource, bool) { return s.now().Resources() },
		Load: func(all []wctx.Config) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.configs = all
			agentside.Watched(s.provider).Load(all)
		}}
}

// tell says whom to tell of another list of servers or tools.
func (s *agentServers) tell(files *wctx.Manager) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = files.Trigger
}

// List, Call and Approve are those of the Provider that serves now.
func (s *agentServers) List(ctx context.Context) ([]chat.Server, error) { return s.now().List(ctx) }

// Call calls a tool.
func (s *agentServers) Call(ctx context.Context, name, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	return s.now().Call(ctx, name, tool, args)
}

// Approve keeps a person's yes.
func (s *agentServers) Approve(ctx context.Context, a chat.ServerApproval) error {
	return s.now().Approve(ctx, a)
}

// close ends all servers and waits for them.
func (s *agentServers) close() {
	s.holding.Lock()
	defer s.holding.Unlock()
	s.now().Close()
}

// agentCalls gives a client for MCP servers that are no programs. It reaches only hosts that whoever started the Agent has allowed: what a
// repository names is no reason for a machine to call anybody.
func agentCalls(allowed []string) *http.Client {
	return outbound.Only(allowed, func(address string) error {
		return fmt.Errorf("this agent may not call %s; start it with --allow-call %s to let it", address, address)
	})
}

// checkCalls refuses what --allow-call cannot mean.
func checkCalls(all []string) ([]string, error) {
	out := make([]string, 0, len(all))
	for _, text := range all {
		host, port, err := net.SplitHostPort(text)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("--allow-call: %q is no host and port, such as tools.example.org:443", text)
		}
		out = append(out, strings.ToLower(text))
	}
	return out, nil
}
