package link

import (
	"context"
	"log/slog"
	"sync"

	"connectrpc.com/connect"

	"holdfast/agentside/link/wire"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// Pusher sends Snapshots over one link.
type Pusher struct {
	client wire.ApplianceClient
	log    *slog.Logger
	// space is the Workspace, "" for the one that the Agent was enrolled with.
	space chat.WorkspaceID
	// mu guards last.
	mu   sync.Mutex
	last string
}

// For sends the Snapshots of a Workspace that was made beside the Agent over the same link.
func (p *Pusher) For(id chat.WorkspaceID) *Pusher {
	return &Pusher{client: p.client, log: p.log.With(chat.LogWorkspace, id), space: id}
}

var _ wctx.Send = (*Pusher)(nil).Send

// kindOfCode is the one table of codes that say that the same push need not be sent again.
var kindOfCode = map[connect.Code]chat.Kind{connect.CodeInvalidArgument: chat.KindInvalid, connect.CodePermissionDenied: chat.KindForbidden,
	connect.CodeFailedPrecondition: chat.KindWrongState, connect.CodeResourceExhausted: chat.KindTooLarge}

// Send sends a Snapshot; the contract is that of wctx.Send.
func (p *Pusher) Send(ctx context.Context, s chat.Snapshot, initial bool) (accepted bool, reason string, err error) {
	encoded, warnings := encodePush(s, initial)
	encoded.WorkspaceId = string(p.space)
	for _, w := range warnings {
		p.log.Warn("a part of the context could not be sent", chat.LogWhat, w)
	}
	got, err := p.client.PushContextState(ctx, connect.NewRequest(encoded))
	if err == nil {
		return got.Msg.GetAccepted(), got.Msg.GetReason(), nil
	}
	code := connect.CodeOf(err)
	if code == connect.CodeUnimplemented {
		return false, "", wctx.ErrUnsupported
	}
	if kind, permanent := kindOfCode[code]; permanent {
		return false, "", &chat.Error{Kind: kind, Message: err.Error()}
	}
	return false, "", err
}

// Report keeps why the newest Snapshot is not known to the appliance; the next heartbeat says it.
func (p *Pusher) Report(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = cut(problem)
}

func (p *Pusher) trouble() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
