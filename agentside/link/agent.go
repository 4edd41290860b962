package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

// AgentOptions are what an Agent needs: whom to call, who it is, and what it serves.
type AgentOptions struct {
	Dialling Dialling
	Identity Identity
	// API serves the appliance's calls.
	API http.Handler
	// Hello presents this run; its BootID is the API's.
	Hello Hello
	// Stats say how the machine is.
	Stats func() chat.AgentStats
	// Push sends Snapshots as long as a link is up; nil when there are none.
	Push  func(ctx context.Context, to *Pusher) error
	Log   *slog.Logger
	Times Times
}

// Agent is the end of the link beside the files.
type Agent struct {
	o   AgentOptions
	log *slog.Logger
}

// NewAgent refuses an address that must not be dialled.
func NewAgent(o AgentOptions) (*Agent, error) {
	if err := o.Dialling.Check(); err != nil {
		return nil, err
	}
	if !o.Identity.Enrolled() {
		return nil, errors.New("this agent has not enrolled")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Times = o.Times.filled()
	o.Hello.Major, o.Hello.Minor = Major, Minor
	return &Agent{o: o, log: o.Log}, nil
}

// Run keeps a link up until ctx ends, and says goodbye then. It comes back from every failure by itself.
func (a *Agent) Run(ctx context.Context) {
	waits := backoff{times: a.o.Times}
	for ctx.Err() == nil {
		began := time.Now()
		up, err := a.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		lasted := time.Duration(0)
		if up {
			lasted = time.Since(began)
		}
		pause := waits.pause(lasted)
		if errors.Is(err, ErrNotTaken) {
			pause = jitter(a.o.Times.Refused)
		}
		a.log.Warn("no link to the appliance", chat.LogError, err, chat.LogAgainIn, pause.Round(10*time.Millisecond))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// connect makes a link and serves it to its end. up: the appliance took it.
func (a *Agent) connect(ctx context.Context) (up bool, err error) {
	dial := a.o.Dialling.client(a.o.Times)
	target := a.o.Dialling.URL.JoinPath(linkPath).String()
	// Making the link has a time; a link that stands has none.
	making, cancel := context.WithTimeout(ctx, a.o.Times.Dial+a.o.Times.Proof)
	defer cancel()
	ws, resp, err := websocket.Dial(making, target, &websocket.DialOptions{HTTPClient: dial.client, CompressionMode: websocket.CompressionDisabled,
		HTTPHeader: http.Header{headerAgent: {string(a.o.Identity.AgentID)}}})
	if resp != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		return false, fmt.Errorf("%w: it is not enrolled there, or was revoked", ErrNotTaken)
	}
	if err != nil {
		return false, err
	}
	s, err := newSession(ws, false, a.o.Times, a.log)
	if err != nil {
		return false, err
	}
	defer s.close()
	// Until the proof is made nothing else ends what waits on the session.
	unproven := context.AfterFunc(making, func() { _ = s.mux.Close() })
	defer unproven()
	stream, err := s.mux.AcceptStream()
	if err != nil {
		return false, fmt.Errorf("the appliance did not ask for a proof: %w", err)
	}
	err = prove(stream, a.o.Identity.AgentID, a.o.Identity.Key(), dial.met(), a.o.Times.Proof)
	if err := errors.Join(err, stream.Close()); err != nil {
		return false, err
	}
	if !unproven() {
		return false, context.Cause(making)
	}
	s.proven()
	s.serve(a.o.API)
	return a.hold(ctx, s)
}

// hold greets and then keeps the link until it breaks or ctx ends.
func (a *Agent) hold(ctx context.Context, s *session) (bool, error) {
	client := wire.NewApplianceClient(s.client, "http://appliance")
	terms, err := a.greet(ctx, client)
	if err != nil {
		return false, err
	}
	a.log.Info("linked with the appliance", chat.LogCapabilities, terms.Capabilities)
	live, end := context.WithCancel(ctx)
	defer end()
	var pushing sync.WaitGroup
	defer pushing.Wait()
	defer end()
	pusher := &Pusher{client: client, log: a.log}
	if a.o.Push != nil && terms.Has(CapPush) {
		pushing.Go(func() {
			if err := a.o.Push(live, pusher); err != nil && live.Err() == nil {
				a.log.Warn("the context is not sent any more until the next link", chat.LogError, err)
				pusher.Report(err.Error())
			}
		})
	}
	beat := time.NewTicker(a.o.Times.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-s.done():
			return true, errors.New("the link broke")
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			return true, a.beat(last, client, pusher, true)
		case <-beat.C:
			short, cancel := context.WithTimeout(ctx, a.o.Times.Write)
			err := a.beat(short, client, pusher, false)
			cancel()
			if err != nil && ctx.Err() == nil {
				return true, fmt.Errorf("the appliance does not hear: %w", err)
			}
		}
	}
}

func (a *Agent) greet(ctx context.Context, client wire.ApplianceClient) (Terms, error) {
	ctx, cancel := context.WithTimeout(ctx, a.o.Times.Proof)
	defer cancel()
	got, err := client.Hello(ctx, connect.NewRequest(&wire.HelloRequest{Greeting: a.o.Hello.toWire()}))
	if err == nil {
		return Agree(a.o.Hello, helloFrom(got.Msg.GetGreeting()))
	}
	switch connect.CodeOf(err) {
	case connect.CodeFailedPrecondition, connect.CodePermissionDenied, connect.CodeInvalidArgument, connect.CodeAborted:
		return Terms{}, fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	return Terms{}, err
}

func (a *Agent) beat(ctx context.Context, client wire.ApplianceClient, pusher *Pusher, leaving bool) error {
	stats := chat.AgentStats{}
	if a.o.Stats != nil {
		stats = a.o.Stats()
	}
	stats.PushError = pusher.trouble()
	_, err := client.Heartbeat(ctx, connect.NewRequest(&wire.HeartbeatRequest{Stats: statsToWire(stats), Leaving: leaving}))
	return err
}
