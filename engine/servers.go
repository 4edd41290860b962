package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/kv"
)

// serverTools is what a run has of MCP servers. ready is closed when opened is there; nil where there are no servers at all.
type serverTools struct {
	ready  chan struct{}
	opened chat.OpenedTools
	err    error
}

// openServers begins to connect to the Turn's MCP servers, while the rest of the Turn is read; collect waits for them.
func (r *run) openServers() (collect func() error) {
	if r.e.ports.servers == nil || r.t.config.Tools == chat.ToolsOff {
		return func() error { return nil }
	}
	s := &r.t.servers
	s.ready = make(chan struct{})
	scope := chat.ToolScope{ChatID: r.id, OwnerID: r.t.chat.OwnerID, Mode: r.t.extra.mode}
	for _, id := range r.t.chat.MCPServerIDs {
		scope.Servers = append(scope.Servers, chat.MCPServerID(id))
	}
	r.e.runner.joined.Go(func() {
		defer close(s.ready)
		defer func() {
			if v := recover(); v != nil {
				r.log().Error("opening MCP servers panicked", chat.LogPanic, fmt.Sprint(v), chat.LogStack, string(debug.Stack()))
				s.opened.Warnings = append(s.opened.Warnings, chat.ToolWarning{Server: "of this chat", Reason: "could not be opened", At: r.e.now()})
			}
		}()
		s.opened, s.err = r.e.ports.servers.Open(r.ctx, scope)
	})
	return r.collectServers
}

// addServerTools adds the Tools of the admins' servers, then those of the Workspace's: of two with one name the first counts.
func (r *run) addServerTools(collect func() error) error {
	if err := collect(); err != nil {
		return err
	}
	return r.addServers()
}

// collectServers takes the Tools of the servers that have answered; what the Turn goes on without is said in the Chat.
func (r *run) collectServers() error {
	s := &r.t.servers
	select {
	case <-s.ready:
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	if s.err != nil {
		return s.err
	}
	warnings := s.opened.Warnings
	for _, tool := range s.opened.Tools {
		name := tool.Def().Name
		if _, taken := r.e.tools.Tool(name); taken {
			warnings = append(warnings, chat.ToolWarning{Server: tool.Def().Server, Reason: "its tool " + name + " has the name of a built-in one and is left out", At: r.e.now()})
			continue
		}
		if r.t.allows(tool.Def()) {
			r.t.extra.tools = append(r.t.extra.tools, tool)
		}
	}
	return r.warnServers(warnings)
}

// warnServers keeps warnings with the Turn. A run that goes on with a Turn does not say the same again.
func (r *run) warnServers(warnings []chat.ToolWarning) error {
	said := func(all []string, w chat.ToolWarning) bool {
		about, _, _ := strings.Cut(w.Text(), " (")
		return slices.ContainsFunc(all, func(text string) bool { return strings.HasPrefix(text, about) })
	}
	fresh := slices.DeleteFunc(slices.Clone(warnings), func(w chat.ToolWarning) bool { return said(r.t.chat.Turn.Warnings, w) })
	if len(fresh) == 0 {
		return nil
	}
	lease := r.lease
	out, err := r.e.change(r.ctx, change{chat: r.id, fence: &lease, quiet: true, event: kindOf(chat.Amend),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			for _, w := range fresh {
				c.Turn.Warnings = append(c.Turn.Warnings, w.Text())
			}
			return nil
		}})
	if err == nil {
		r.t.chat = out.chat
	}
	return err
}

// closeServers ends what was opened. Nobody waits for it but the runner at its own end.
func (r *run) closeServers() {
	s := &r.t.servers
	if s.ready == nil {
		return
	}
	select {
	case <-s.ready:
		if s.opened.Close == nil {
			return
		}
	default:
	}
	r.e.runner.joined.Go(func() {
		<-s.ready
		if s.opened.Close != nil {
			s.opened.Close()
		}
	})
}

// idsOf is a list that may be nil, to be checked.
func idsOf(ids *[]string) []string {
	if ids == nil {
		return nil
	}
	return *ids
}

// chosenServers are those of a new Chat: what was asked for, else what is preselected.
func chosenServers(tx *kv.Tx, asked *[]string) ([]string, error) {
	if asked != nil {
		return *asked, nil
	}
	return mcp.Preselected(tx)
}
