package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// SourceOptions are what a Source is made of. Zero times take the defaults.
type SourceOptions struct {
	// Targets gives the servers of a Turn, Judge what of a list may be used; Failed is told why a server is left out.
	Targets func(context.Context, chat.ToolScope) ([]chat.MCPTarget, []chat.ToolWarning, error)
	Judge   func(context.Context, chat.MCPServerID, []chat.MCPTool) (usable []chat.MCPTool, waiting []string, err error)
	Failed  func(ctx context.Context, id chat.MCPServerID, reason string) error
	// HTTP is the way out.
	HTTP   *http.Client
	Limits Limits
	// Open is how long connecting and listing may take, Keep how long a list is good, Slow after how long a Call says that it waits.
	Open, Keep, Slow time.Duration
	Log              *slog.Logger
	Now              func() time.Time
}

// Source gives Turns the Tools of the servers that admins have configured.
type Source struct {
	o SourceOptions

	mu    sync.Mutex // guards lists
	lists map[listKey]keptList
}

var _ chat.ToolSource = (*Source)(nil)

// listKey: another version of a config, or another person, may see another list.
type listKey struct {
	server  chat.MCPServerID
	version int64
	user    chat.UserID
}

type keptList struct {
	list List
	at   time.Time
}

// maxKept bounds the lists that are kept.
const maxKept = 64

// NewSource makes a Source.
func NewSource(o SourceOptions) *Source {
	set := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Open, 10*time.Second)
	set(&o.Keep, 5*time.Minute)
	set(&o.Slow, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failed == nil {
		o.Failed = func(context.Context, chat.MCPServerID, string) error { return nil }
	}
	return &Source{o: o, lists: map[listKey]keptList{}}
}

// Open connects to the servers of a scope at once, each within its time.
func (s *Source) Open(ctx context.Context, scope chat.ToolScope) (chat.OpenedTools, error) {
	targets, warnings, err := s.o.Targets(ctx, scope)
	if err != nil {
		return chat.OpenedTools{Close: func() {}}, err
	}
	if len(targets) == 0 {
		return chat.OpenedTools{Warnings: warnings}, ctx.Err()
	}
	sessions := make([]*session, len(targets))
	notes := make([][]string, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { sessions[i], notes[i] = s.open(ctx, t) })
	}
	all.Wait()
	var tools []*tool
	for i, open := range sessions {
		for _, note := range notes[i] {
			warnings = append(warnings, chat.ToolWarning{Server: targets[i].Server.DisplayName, Reason: note, At: s.o.Now()})
		}
		if open != nil {
			tools = append(tools, open.tools...)
		}
	}
	out := chat.OpenedTools{Close: sync.OnceFunc(func() { closeAll(sessions) })}
	// By name, then config: where two are called the same the order decides who stays.
	slices.SortFunc(tools, func(a, b *tool) int {
		return strings.Compare(a.def.Name+"\x00"+string(a.session.target.Server.ID), b.def.Name+"\x00"+string(b.session.target.Server.ID))
	})
	for i, t := range tools {
		if i > 0 && tools[i-1].def.Name == t.def.Name {
			warnings = append(warnings, chat.ToolWarning{Server: t.session.target.Server.DisplayName,
				Reason: "its tool " + t.own.Name + " has the same name as another one and is left out", At: s.o.Now()})
			continue
		}
		out.Tools = append(out.Tools, t)
	}
	out.Warnings = warnings
	return out, ctx.Err()
}

func closeAll(sessions []*session) {
	var all sync.WaitGroup
	for _, open := range sessions {
		if open != nil {
			all.Go(open.close)
		}
	}
	all.Wait()
}

// open connects to one server. What goes wrong there is a note, and costs its own tools alone.
func (s *Source) open(ctx context.Context, t chat.MCPTarget) (open *session, notes []string) {
	defer func() {
		if v := recover(); v != nil {
			s.o.Log.Error("an MCP server made the client panic", chat.LogServer, t.Server.Slug, chat.LogPanic, fmt.Sprint(v), chat.LogStack, string(debug.Stack()))
			notes = append(notes, "made the client fail")
		}
	}()
	began := s.o.Now()
	own, cancel := context.WithTimeout(ctx, s.o.Open)
	defer cancel()
	open = &session{source: s, target: t}
	list, err := open.begin(own)
	if err != nil {
		open.close()
		if ctx.Err() != nil {
			return nil, nil
		}
		reason := reasonOf(err)
		if err := s.o.Failed(ctx, t.Server.ID, reason); err != nil {
			s.o.Log.Warn("why an MCP server failed could not be kept", chat.LogServer, t.Server.Slug, chat.LogError, err)
		}
		if took := s.o.Now().Sub(began); took >= time.Second {
			reason += fmt.Sprintf("; tried for %.1f s", took.Seconds())
		}
		return nil, []string{reason}
	}
	notes = append(notes, list.Notes...)
	notes = append(notes, open.offer(own, list)...)
	if len(open.tools) == 0 {
		open.close()
		return nil, append(notes, "offers no tool that may be used")
	}
	return open, notes
}

// reasonOf is why a server failed, for a person.
func reasonOf(err error) string {
	var e interface{ Reason() string }
	if errors.As(err, &e) {
		return e.Reason()
	}
	var told *chat.Error
	if errors.As(err, &told) {
		return told.Message
	}
	return Line(err.Error(), 300)
}

func (s *Source) kept(k listKey) (List, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.lists[k]
	return l.list, found && s.o.Now().Sub(l.at) < s.o.Keep
}

func (s *Source) keep(k listKey, l List) {
	if len(l.Tools) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lists) >= maxKept {
		clear(s.lists)
	}
	s.lists[k] = keptList{l, s.o.Now()}
}

func (s *Source) forget(k listKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, k)
}

// Reach makes a Server of a target: where it stands, and with which credentials.
func (s *Source) reach(t chat.MCPTarget) Server {
	out := Server{Transport: t.Server.Transport, URL: t.Server.URL, HTTP: s.o.HTTP, Secrets: t.Secrets, Refused: t.Refused}
	if t.Headers != nil {
		out.Headers = func(ctx context.Context) (http.Header, error) {
			all, err := t.Headers(ctx)
			if err != nil {
				return nil, err
			}
			h := http.Header{}
			for name, value := range all {
				h.Set(name, value)
			}
			return h, nil
		}
	}
	return out
}

// Probed is what a test of a server found.
type Probed struct {
	Name  string
	Tools []chat.MCPTool
	Notes []string
	Took  time.Duration
}

// Probe connects to a server, lists its tools and closes it. The error is a text for a person.
func (s *Source) Probe(ctx context.Context, t chat.MCPTarget) (Probed, error) {
	own, cancel := context.WithTimeout(ctx, s.o.Open)
	defer cancel()
	began := s.o.Now()
	c, err := Dial(own, s.reach(t), s.o.Limits)
	if err != nil {
		return Probed{}, errors.New(reasonOf(err))
	}
	defer c.Close()
	list, err := c.Tools(own)
	if err != nil {
		return Probed{}, errors.New(reasonOf(err))
	}
	// What is listed here counts for the next Turn too, which would otherwise see an older list.
	s.forget(listKey{t.Server.ID, t.Server.Version, t.User})
	return Probed{Name: c.Name(), Tools: toolsOf(list), Notes: list.Notes, Took: s.o.Now().Sub(began)}, nil
}

func toolsOf(l List) []chat.MCPTool {
	out := make([]chat.MCPTool, len(l.Tools))
	for i, t := range l.Tools {
		out[i] = chat.MCPTool(t)
	}
	return out
}
