package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/chat"
)

// maxLeft is how many lost connections are kept for those who still wait.
const maxLeft = 4

// session is one server in one Turn.
type session struct {
	source *Source
	target chat.MCPTarget
	tools  []*tool
	// looking has room for one: whoever is in it may look at seen, and lists anew where that is out of date.
	looking chan struct{}
	seen    seenTools

	mu   sync.Mutex // guards the rest
	conn *Conn
	// left are connections that a Call has lost and others may still wait on.
	left   []*Conn
	closed bool
}

// seenTools are the tools that may be called over a connection, as they were listed after that many announcements. nil: all of the Turn.
type seenTools struct {
	conn      *Conn
	announced int64
	usable    map[chat.Hash]bool
	names     map[string]bool
}

func (s *session) key() listKey {
	return listKey{s.target.Server.ID, s.target.Server.Version, s.target.User}
}

// begin connects, and lists where no list is kept.
func (s *session) begin(ctx context.Context) (List, error) {
	c, err := Dial(ctx, s.source.reach(s.target), s.source.o.Limits)
	if err != nil {
		return List{}, err
	}
	s.conn, s.looking, s.seen = c, make(chan struct{}, 1), seenTools{conn: c, announced: c.Announced()}
	if list, found := s.source.kept(s.key()); found {
		return list, nil
	}
	list, err := c.Tools(ctx)
	if err == nil {
		s.source.keep(s.key(), list)
	}
	return list, err
}

// offer makes Tools of what is listed, allowed and accepted; what is left out is noted.
func (s *session) offer(ctx context.Context, list List) (notes []string) {
	usable, waiting, err := s.source.o.Judge(ctx, s.target.Server.ID, toolsOf(list))
	if err != nil {
		return []string{"its tools could not be held against what was accepted: " + reasonOf(err)}
	}
	waiting = slices.DeleteFunc(waiting, func(name string) bool { return !allowed(s.target.Server, name) })
	if len(waiting) > 0 {
		notes = append(notes, fmt.Sprintf("%s not what was accepted, and disabled until an admin accepts the difference: %s",
			map[bool]string{true: "a tool is", false: "tools are"}[len(waiting) == 1], someNames(waiting)))
	}
	removed := 0
	for _, t := range usable {
		if !allowed(s.target.Server, t.Name) {
			continue
		}
		made, n, err := s.tool(t)
		removed += n
		if err != nil {
			notes = append(notes, "the tool "+quoted(t.Name)+" is left out: it "+err.Error())
			continue
		}
		s.tools = append(s.tools, made)
	}
	if removed > 0 {
		notes = append(notes, fmt.Sprintf("%d unseen characters were removed from descriptions", removed))
	}
	return notes
}

func someNames(names []string) string {
	const most = 5
	out := make([]string, 0, most)
	for i, name := range names {
		if i == most {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(names)-most)
		}
		out = append(out, quoted(name))
	}
	return strings.Join(out, ", ")
}

// allowed: a list of what is allowed decides alone; else what is denied is left out.
func allowed(s chat.MCPServer, name string) bool {
	if len(s.ToolAllowList) > 0 {
		return slices.Contains(s.ToolAllowList, name)
	}
	return !slices.Contains(s.ToolDenyList, name)
}

// tool makes the Tool of an accepted definition.
func (s *session) tool(t chat.MCPTool) (*tool, int, error) {
	schema, inFields, err := shaped(t.Schema)
	if err != nil {
		return nil, 0, err
	}
	about, removed := Clean(t.Description)
	server := s.target.Server
	// Whose words these are: the server's, not ours.
	text := fmt.Sprintf("[Described by the MCP server %s] %s", server.Slug, cut(strings.TrimSpace(about), maxDescription))
	var hints struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	// Annotations that cannot be read hint at nothing.
	_ = json.Unmarshal(t.Annotations, &hints)
	trusted := slices.Contains(server.ReadOnlyTools, t.Name)
	def := chat.ToolDef{Name: ToolName(server.Slug, t.Name), Description: text, Schema: schema, Effect: chat.ClassEffect, Server: server.Slug,
		NeedsApproval: !trusted, InPlan: server.AllowInPlanMode}
	if trusted && hints.ReadOnly {
		def.Effect = chat.ClassRead
	}
	return &tool{session: s, own: t, def: def}, removed + inFields, nil
}

// connection is the one that is open now.
func (s *session) connection() *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// redial replaces a connection that was lost, unless another Call has done so already.
func (s *session) redial(ctx context.Context, lost *Conn) (*Conn, error) {
	if now := s.connection(); now != lost {
		return now, nil
	}
	own, cancel := context.WithTimeout(ctx, s.source.o.Open)
	defer cancel()
	fresh, err := Dial(own, s.source.reach(s.target), s.source.o.Limits)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	keep := s.conn == lost && !s.closed
	var over []*Conn
	if keep {
		s.conn = fresh
		if s.left = append(s.left, lost); len(s.left) > maxLeft {
			over, s.left = s.left[:1:1], s.left[1:]
		}
	}
	now := s.conn
	s.mu.Unlock()
	if !keep {
		_ = fresh.Close()
		return now, nil
	}
	for _, c := range over {
		_ = c.Close()
	}
	return fresh, nil
}

func (s *session) close() {
	s.mu.Lock()
	open := s.left
	if s.conn != nil {
		open = append(open, s.conn)
	}
	s.closed, s.left = true, nil
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range open {
		all.Go(func() { _ = c.Close() })
	}
	all.Wait()
}

// still fails unless a tool is offered as it was accepted. After an announcement, and over a connection that was made anew, the server is
// listed first, and all Calls wait for that.
func (s *session) still(ctx context.Context, c *Conn, t chat.MCPTool) error {
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return unlisted{c.failure(ctx, context.Cause(ctx), outcome{})}
	}
	if announced := c.Announced(); s.seen.conn != c || s.seen.announced != announced {
		fresh, err := s.look(ctx, c)
		if err != nil {
			return unlisted{err}
		}
		fresh.announced, s.seen = announced, fresh
	}
	switch {
	case s.seen.usable == nil || s.seen.usable[t.Pin()]:
		return nil
	case s.seen.names[t.Name]:
		return changedTool{t.Name}
	}
	return goneTool{t.Name}
}

// look lists the tools anew and holds them against what was accepted.
func (s *session) look(ctx context.Context, c *Conn) (seenTools, error) {
	s.source.forget(s.key())
	own, cancel := context.WithTimeout(ctx, s.source.o.Open)
	defer cancel()
	list, err := c.Tools(own)
	if err != nil {
		return seenTools{}, err
	}
	usable, _, err := s.source.o.Judge(own, s.target.Server.ID, toolsOf(list))
	if err != nil {
		return seenTools{}, err
	}
	out := seenTools{conn: c, usable: map[chat.Hash]bool{}, names: map[string]bool{}}
	for _, t := range usable {
		out.usable[t.Pin()] = true
	}
	for _, t := range list.Tools {
		out.names[t.Name] = true
	}
	return out, nil
}
