package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"connectrpc.com/connect"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

// maxPush bounds a request of the service: a whole Snapshot with its tool lists.
const maxPush = 8 << 20

// service is what one Agent may call over its link.
type service struct {
	appliance  *Appliance
	line       *line
	connection *connection
	once       sync.Once
	// greeted is closed when the Agent was taken.
	greeted chan struct{}
}

var _ wire.ApplianceHandler = (*service)(nil)

// handler serves the Agent's calls until ctx ends.
func (s *service) handler(ctx context.Context) http.Handler {
	path, h := wire.NewApplianceHandler(s, connect.WithReadMaxBytes(maxPush), connect.WithRecover(
		func(_ context.Context, spec connect.Spec, _ http.Header, reason any) error {
			s.appliance.o.Log.Error("a call of an agent broke", chat.LogCall, spec.Procedure, chat.LogReason, reason)
			return connect.NewError(connect.CodeInternal, errors.New("the appliance could not do it; its log says why"))
		}))
	mux := http.NewServeMux()
	mux.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		h.ServeHTTP(w, r.WithContext(end))
	}))
	return mux
}

// capabilities are the appliance's own.
func (a *Appliance) capabilities() []string {
	all := append(Capabilities(), CapPlaces)
	if a.o.Sink == nil {
		all = slices.DeleteFunc(all, func(c string) bool { return c == CapPush })
	}
	return all
}

func (a *Appliance) hello() Hello {
	return Hello{Major: Major, Minor: Minor, Capabilities: a.capabilities(), BootID: a.o.BootID, BinaryVersion: a.o.Version,
		OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// Hello takes the Agent, or says why not.
func (s *service) Hello(ctx context.Context, in *connect.Request[wire.HelloRequest]) (*connect.Response[wire.HelloResponse], error) {
	err := errors.New("an agent greets once")
	s.once.Do(func() { err = s.greet(ctx, helloFrom(in.Msg.GetGreeting())) })
	if err != nil {
		return nil, refusal(err)
	}
	return connect.NewResponse(&wire.HelloResponse{Greeting: s.appliance.hello().toWire()}), nil
}

func (s *service) greet(ctx context.Context, h Hello) error {
	if err := h.check(); err != nil {
		return err
	}
	terms, err := Agree(s.appliance.hello(), h)
	var version *VersionError
	if errors.As(err, &version) {
		s.line.refuse(chat.AgentVersion, version.Error())
		s.appliance.moved()
	}
	if err != nil {
		return err
	}
	// It may have been revoked while it proved itself; a revocation from here on finds the line and ends it.
	if _, err := s.appliance.o.Record(ctx, s.line.id); err != nil {
		return err
	}
	c := s.connection
	c.hello, c.terms = h, terms
	// Before anybody waits on with this link: what was to be ended ends first.
	s.appliance.sendFences(ctx, s.line, c)
	before, _ := s.line.met()
	old, err := s.line.take(c)
	if old != nil {
		// Its own handler sees the end and joins what is left.
		_ = old.mux.Close()
	}
	if err != nil {
		s.appliance.moved()
		return err
	}
	if before.BootID != "" {
		s.appliance.reconnects.Add(1)
	}
	s.heard()
	close(s.greeted)
	s.appliance.o.Log.Info("an agent has come", chat.LogAgent, s.line.id, chat.LogVersion, h.BinaryVersion, chat.LogOS, h.OS)
	s.appliance.seen(s.line.id, &chat.AgentGreeting{Version: h.BinaryVersion, Link: fmt.Sprintf("%d.%d", h.Major, terms.Minor), OS: h.OS, Arch: h.Arch, Shell: h.Shell,
		Sandbox: level(h, terms), SandboxOpen: h.SandboxOpen, SandboxReason: h.SandboxReason, Capabilities: terms.Capabilities})
	return nil
}

func (s *service) heard() {
	select {
	case s.connection.heard <- struct{}{}:
	default:
	}
}

// refusal is an error as the Agent's end reads it.
func refusal(err error) error {
	var version *VersionError
	var known *chat.Error
	switch {
	case errors.As(err, &version):
		return connect.NewError(connect.CodeFailedPrecondition, err)
	case errors.As(err, &errTwice{}):
		return connect.NewError(connect.CodeAborted, err)
	case errors.As(err, &known) && known.Kind == chat.KindInvalid:
		return connect.NewError(connect.CodeInvalidArgument, errors.New(known.Message+" "+known.Detail))
	case errors.As(err, &known) && known.Kind == chat.KindNotFound:
		return connect.NewError(connect.CodePermissionDenied, errors.New(known.Message))
	case errors.As(err, &known):
		return connect.NewError(connect.CodeUnavailable, errors.New(known.Message))
	}
	return connect.NewError(connect.CodeInvalidArgument, err)
}

// late is what a link is told that is not the Agent's newest any more.
func late() error {
	return connect.NewError(connect.CodeUnavailable, errors.New("this link is not the agent's newest any more"))
}

// Heartbeat takes what the Agent says of its machine.
func (s *service) Heartbeat(_ context.Context, in *connect.Request[wire.HeartbeatRequest]) (*connect.Response[wire.HeartbeatResponse], error) {
	if !s.line.isCurrent(s.connection) {
		return nil, late()
	}
	s.line.report(statsFrom(in.Msg.GetStats()))
	s.heard()
	if in.Msg.GetLeaving() {
		s.line.drop(s.connection)
	}
	s.appliance.moved()
	return connect.NewResponse(&wire.HeartbeatResponse{}), nil
}

// PushContextState hands a Snapshot to the engine.
func (s *service) PushContextState(ctx context.Context, in *connect.Request[wire.PushContextStateRequest]) (*connect.Response[wire.PushContextStateResponse], error) {
	a := s.appliance
	// Only a connection that counts has greeted: before that its terms are being written.
	if !s.line.isCurrent(s.connection) {
		return nil, late()
	}
	if a.o.Sink == nil || !s.connection.terms.Has(CapPush) {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("this appliance takes no context"))
	}
	s.heard()
	snapshot, err := decodePush(in.Msg)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if snapshot.BootID != s.connection.hello.BootID {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the push is of another run than the greeting"))
	}
	record, err := a.o.Record(ctx, s.line.id)
	if err != nil {
		return nil, refusal(err)
	}
	space, id := chat.WorkspaceID(in.Msg.GetWorkspaceId()), record.WorkspaceID
	if space != "" {
		if id = space; !a.hasMade(ctx, record.ID, space) {
			return nil, connect.NewError(connect.CodePermissionDenied, errors.New("the workspace is not one of this agent"))
		}
	}
	accepted, reason, err := a.o.Sink.Push(ctx, id, snapshot, in.Msg.GetInitial())
	var known *chat.Error
	if errors.As(err, &known) && known.Kind == chat.KindInvalid {
		return nil, refusal(err)
	}
	if err != nil {
		a.o.Log.Error("a snapshot could not be taken", chat.LogAgent, s.line.id, chat.LogError, err)
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the appliance could not store the snapshot"))
	}
	if accepted {
		s.line.publish(space, snapshot)
	}
	return connect.NewResponse(&wire.PushContextStateResponse{Accepted: accepted, Reason: reason}), nil
}

func statsFrom(s *wire.Stats) chat.AgentStats {
	return chat.AgentStats{Load: s.GetLoad(), MemoryTotalBytes: s.GetMemoryTotalBytes(), MemoryFreeBytes: s.GetMemoryFreeBytes(),
		DiskFreeBytes: s.GetDiskFreeBytes(), Processes: int(s.GetProcesses()), WatcherReason: cut(s.GetWatcherReason()), PushError: cut(s.GetPushError())}
}

func statsToWire(s chat.AgentStats) *wire.Stats {
	return &wire.Stats{Load: s.Load, MemoryTotalBytes: s.MemoryTotalBytes, MemoryFreeBytes: s.MemoryFreeBytes, DiskFreeBytes: s.DiskFreeBytes,
		Processes: uint32(max(s.Processes, 0)), WatcherReason: valid(s.WatcherReason), PushError: valid(s.PushError)}
}

// cut bounds a text that somebody else wrote.
func cut(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return valid(text[:most])
}
