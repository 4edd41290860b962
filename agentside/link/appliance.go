package link

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"holdfast/engine/chat"
)

// The paths under which an appliance takes Agents.
const (
	enrolPath = "/api/v1/agents/enrol"
	linkPath  = "/api/v1/agents/link"
)

// Headers of the dial, and of requests on the link.
const (
	headerAgent = "Holdfast-Agent-Id"
	headerBoot  = "Holdfast-Boot-Id"
	headerChat  = "Holdfast-Chat-Id"
	headerKey   = "Idempotency-Key"
	// headerProfile is how the appliance's record of a Workspace confines its MCP servers.
	headerProfile = "Holdfast-Profile"
	// headerSpace names the Workspace, if it is one that was made beside the Agent.
	headerSpace = "Holdfast-Workspace-Id"
	// headerPath is the resolved path of a file; headerRefused says that a body is what is remembered, not what was asked for.
	headerPath    = "Holdfast-Path"
	headerRefused = "Holdfast-Refused"
)

// EnrolRequest is how an Agent enrols.
type EnrolRequest struct {
	Token     string `json:"token"`
	PublicKey []byte `json:"public_key"`
	Host      string `json:"host"`
	Directory string `json:"directory"`
}

// EnrolAnswer is what it learns by that.
type EnrolAnswer struct {
	AgentID     chat.AgentID     `json:"agent_id"`
	WorkspaceID chat.WorkspaceID `json:"workspace_id"`
}

// ApplianceOptions are what an Appliance needs. Key and Enrol are needed.
type ApplianceOptions struct {
	// Record gives an enrolled Agent; one that is not there, or no more, is KindNotFound.
	Record func(ctx context.Context, id chat.AgentID) (chat.AgentRecord, error)
	// Made lists the Workspaces that were made beside an Agent; nil is none.
	Made func(ctx context.Context, id chat.AgentID) ([]chat.WorkspaceID, error)
	// Enrol uses up a token. KindUnauthenticated is any token that is not good.
	Enrol func(ctx context.Context, in EnrolRequest) (EnrolAnswer, error)
	// Seen is told when an Agent came, with its greeting, and with nil once a minute and when it went.
	Seen func(ctx context.Context, id chat.AgentID, greeting *chat.AgentGreeting) error
	// Moved is told after each change of what State says, heartbeats too; nil is nobody. It must not block.
	Moved func()
	// Sink takes the Snapshots; nil takes none, and the Agents are not asked for any.
	Sink chat.AgentSink
	// Version is the binary's.
	Version string
	// BootID names this run of the appliance.
	BootID string
	Log    *slog.Logger
	Times  Times
}

// Appliance is the end of all links at the appliance.
type Appliance struct {
	o ApplianceOptions
	// unproven counts the calls of whom nobody knows yet who they are.
	unproven chan struct{}
	running  sync.WaitGroup
	// reconnects counts the links of Agents that had one before.
	reconnects atomic.Int64

	// mu guards lines and closed.
	mu     sync.Mutex
	lines  map[chat.AgentID]*line
	closed bool
}

// maxUnproven is how many may be proving themselves at once.
const maxUnproven = 64

// NewAppliance makes an Appliance without links; Agents come by themselves.
func NewAppliance(o ApplianceOptions) *Appliance {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Times = o.Times.filled()
	return &Appliance{o: o, unproven: make(chan struct{}, maxUnproven), lines: map[chat.AgentID]*line{}}
}

// line gives what there is of an Agent, nil once the appliance stops.
func (a *Appliance) line(id chat.AgentID) *line {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	l := a.lines[id]
	if l == nil {
		l = newLine(id, a.o.Times)
		a.lines[id] = l
	}
	return l
}

// State says how an Agent is now.
func (a *Appliance) State(id chat.AgentID) chat.AgentState {
	a.mu.Lock()
	l := a.lines[id]
	a.mu.Unlock()
	if l == nil {
		return chat.AgentState{}
	}
	return l.shown()
}

func (a *Appliance) moved() {
	if a.o.Moved != nil {
		a.o.Moved()
	}
}

// Counts are numbers of the links.
type Counts struct{ Connected, Reconnects int }

// Count counts the links.
func (a *Appliance) Count() Counts {
	a.mu.Lock()
	lines := make([]*line, 0, len(a.lines))
	for _, l := range a.lines {
		lines = append(lines, l)
	}
	a.mu.Unlock()
	out := Counts{Reconnects: int(a.reconnects.Load())}
	for _, l := range lines {
		l.mu.Lock()
		if l.current != nil {
			out.Connected++
		}
		l.mu.Unlock()
	}
	return out
}

// Revoke closes the link of an Agent at once, and all that waits for it. It is no Agent any more.
func (a *Appliance) Revoke(id chat.AgentID) {
	a.mu.Lock()
	l := a.lines[id]
	delete(a.lines, id)
	a.mu.Unlock()
	if l != nil {
		l.end(&chat.Error{Kind: chat.KindNotFound, Message: "The agent of the workspace was revoked."})
	}
	a.moved()
}

// Close ends all links and waits until they are gone or ctx ends.
func (a *Appliance) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	lines := a.lines
	a.lines = map[chat.AgentID]*line{}
	a.mu.Unlock()
	for _, l := range lines {
		l.end(&chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."})
	}
	gone := make(chan struct{})
	go func() {
		a.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Handler takes enrolments and links on a listener whose public key is identity; zero on one without TLS.
func (a *Appliance) Handler(identity PeerKey) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+enrolPath, a.enrol)
	mux.HandleFunc("GET "+linkPath, func(w http.ResponseWriter, r *http.Request) { a.link(w, r, identity) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, problem{Kind: "not_found", Message: "There is nothing but agents' business here."})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			refuse(w, http.StatusForbidden, problem{Kind: "cross_origin", Message: "Agents are not browsers."})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

const noToken = "This enrolment token is not good: it is unknown, used or expired. Make a new one on the Agents page."

func (a *Appliance) enrol(w http.ResponseWriter, r *http.Request) {
	var in EnrolRequest
	if err := readJSON(w, r, 16<<10, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	if len(in.PublicKey) != ed25519.PublicKeySize || len(in.Host) > 255 || len(in.Directory) > 4096 || !printable(in.Host) || !printable(in.Directory) {
		refuse(w, http.StatusBadRequest, problem{Kind: "invalid", Message: "The enrolment is not one of an agent."})
		return
	}
	out, err := a.o.Enrol(r.Context(), in)
	var known *chat.Error
	switch {
	case errors.As(err, &known) && known.Kind == chat.KindUnauthenticated:
		refuse(w, http.StatusUnauthorized, problem{Kind: "unauthenticated", Message: noToken})
	case err != nil:
		a.o.Log.Error("an agent could not enrol", chat.LogError, err)
		refuse(w, http.StatusInternalServerError, problem{Kind: "internal", Message: "The appliance could not take the agent; its log says why."})
	default:
		a.o.Log.Info("an agent has enrolled", chat.LogAgent, out.AgentID, chat.LogWorkspace, out.WorkspaceID)
		writeJSON(w, http.StatusCreated, out)
	}
}

// link takes one call and stays until it ends.
func (a *Appliance) link(w http.ResponseWriter, r *http.Request, identity PeerKey) {
	select {
	case a.unproven <- struct{}{}:
	default:
		refuse(w, http.StatusServiceUnavailable, problem{Kind: "busy", Message: "Too many agents call at once."})
		return
	}
	proven := sync.OnceFunc(func() { <-a.unproven })
	defer proven()
	id := chat.AgentID(r.Header.Get(headerAgent))
	record, err := a.o.Record(r.Context(), id)
	var known *chat.Error
	if errors.As(err, &known) && known.Kind == chat.KindNotFound {
		refuse(w, http.StatusUnauthorized, problem{Kind: "unauthenticated", Message: "This agent is not enrolled here, or was revoked."})
		return
	}
	if err != nil {
		a.o.Log.Error("an agent could not be looked up", chat.LogAgent, id, chat.LogError, err)
		refuse(w, http.StatusInternalServerError, problem{Kind: "internal", Message: "The appliance could not look up the agent; its log says why."})
		return
	}
	l := a.line(record.ID)
	if l == nil {
		refuse(w, http.StatusServiceUnavailable, problem{Kind: "stopping", Message: "The appliance is stopping."})
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	a.running.Add(1)
	defer a.running.Done()
	s, err := newSession(ws, true, a.o.Times, a.o.Log)
	if err != nil {
		a.o.Log.Warn("a link could not be made", chat.LogAgent, id, chat.LogError, err)
		return
	}
	defer s.close()
	if err := a.ask(s, record, identity); err != nil {
		a.o.Log.Warn("an agent was not taken", chat.LogAgent, id, chat.LogError, err)
		return
	}
	s.proven()
	proven()
	a.hold(l, s)
}

// ask has the proof made on the first stream.
func (a *Appliance) ask(s *session, record chat.AgentRecord, identity PeerKey) error {
	stream, err := s.mux.Open()
	if err != nil {
		return err
	}
	err = challenge(stream, record.ID, ed25519.PublicKey(record.PublicKey), identity, a.o.Times.Proof)
	return errors.Join(err, stream.Close())
}

// hold serves a proven link to its end. An Agent that does not greet, or falls silent, is cut off.
func (a *Appliance) hold(l *line, s *session) {
	c := &connection{session: s, since: time.Now(), heard: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	service := &service{appliance: a, line: l, connection: c, greeted: make(chan struct{})}
	s.serve(service.handler(ctx))
	var attending sync.WaitGroup
	attending.Go(func() { a.attend(ctx, service) })
	silence := time.NewTimer(a.o.Times.Proof)
	defer silence.Stop()
	noted := time.Now()
	for open := true; open; {
		select {
		case <-s.done():
			open = false
		case <-silence.C:
			a.o.Log.Warn("an agent is silent; its link is closed", chat.LogAgent, l.id)
			open = false
		case <-c.heard:
			silence.Reset(a.o.Times.Silence)
			if time.Since(noted) >= time.Minute {
				noted = time.Now()
				a.seen(l.id, nil)
			}
		}
	}
	stop()
	l.drop(c)
	a.moved()
	s.close()
	attending.Wait()
	select {
	case <-service.greeted:
		a.o.Log.Info("an agent has gone", chat.LogAgent, l.id)
		a.seen(l.id, nil)
	default:
	}
}

// attend tells the engine of the changes of files that an Agent tells of, and once when it comes, until ctx ends.
func (a *Appliance) attend(ctx context.Context, s *service) {
	select {
	case <-s.greeted:
	case <-ctx.Done():
		return
	}
	if a.o.Sink == nil || !s.connection.terms.Has(CapGit) {
		return
	}
	record, err := a.o.Record(ctx, s.line.id)
	if err != nil {
		a.o.Log.Warn("changes beside an agent are not followed", chat.LogAgent, s.line.id, chat.LogError, err)
		return
	}
	var made sync.WaitGroup
	defer made.Wait()
	made.Go(func() { a.attendMade(ctx, s) })
	touched, over := make(chan struct{}, 1), make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		defer close(over)
		// It begins with a touch.
		s.again(ctx, func() { s.connection.touches(ctx, call{method: http.MethodGet, path: "/git/watch"}, touched) })
	})
	defer following.Wait()
	for {
		select {
		case <-touched:
			a.o.Sink.Changed(record.WorkspaceID)
		case <-over:
			return
		}
	}
}

func (a *Appliance) seen(id chat.AgentID, greeting *chat.AgentGreeting) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.o.Seen(ctx, id, greeting); err != nil {
		a.o.Log.Warn("it was not recorded that an agent was seen", chat.LogAgent, id, chat.LogError, err)
	}
}
