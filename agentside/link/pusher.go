package link

import (
	"context"
	"log/slog"
	"sync"

	"connectrpc.com/connect"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

// Pusher sends Snapshots over one link.
type Pusher struct {
	client wire.ApplianceClient
	log    *slog.Logger
	// mu guards last.
	mu   sync.Mutex
	last string
}

// Outcome says what may come after a push that failed.
type Outcome int

const (
	// Answered: the appliance has answered, accepted or not.
	Answered Outcome = iota
	// Retry: nobody answered; the newest Snapshot is sent again.
	Retry
	// Refused: the Snapshot breaks a rule; the next one is sent when there is one.
	Refused
	// Unsupported: the appliance takes no Snapshots.
	Unsupported
)

// Push sends a Snapshot. A reason comes with one that is not accepted.
func (p *Pusher) Push(ctx context.Context, s chat.Snapshot, initial bool) (accepted bool, reason string, outcome Outcome, err error) {
	encoded, warnings := encodePush(s, initial)
	for _, w := range warnings {
		p.log.Warn("a part of the context could not be sent", "what", w)
	}
	got, err := p.client.PushContextState(ctx, connect.NewRequest(encoded))
	if err != nil {
		p.note(err.Error())
		return false, "", outcomeOf(connect.CodeOf(err)), err
	}
	if got.Msg.GetAccepted() {
		p.note("")
		return true, "", Answered, nil
	}
	p.note(got.Msg.GetReason())
	return false, got.Msg.GetReason(), Answered, nil
}

// outcomeOf is the one table of codes.
func outcomeOf(code connect.Code) Outcome {
	switch code {
	case connect.CodeUnimplemented:
		return Unsupported
	case connect.CodeInvalidArgument, connect.CodePermissionDenied, connect.CodeFailedPrecondition, connect.CodeResourceExhausted:
		return Refused
	}
	return Retry
}

func (p *Pusher) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = cut(what)
}

func (p *Pusher) trouble() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
