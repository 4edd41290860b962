package main

import (
	"context"
	"log/slog"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/kv"
)

// pushes is how Notices leave the appliance.
func (l *live) pushes(store *kv.Store, hidden *secrets, log *slog.Logger) notice.Far {
	purposes := map[chat.PushKind]outbound.Purpose{chat.PushBrowser: {Name: "push"}, chat.PushHook: {Name: "webhook"}}
	return notice.Far{
		Store: store,
		Key:   hidden.key,
		Known: hidden.known.Add,
		Push:  l.outbound.Client(purposes[chat.PushBrowser]),
		Hook:  l.outbound.Client(purposes[chat.PushHook]),
		MayCall: func(ctx context.Context, kind chat.PushKind, host string, port int) error {
			return l.outbound.May(ctx, purposes[kind], host, port)
		},
		Mode: l.outbound.Mode,
		Log:  log,
	}
}
