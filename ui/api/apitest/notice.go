package apitest

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
)

// reach lets Notices be kept and sent, as main does.
func (a *Appliance) reach(o Options) {
	purpose := func(kind chat.PushKind) outbound.Purpose { return outbound.Purpose{Name: string(kind)} }
	a.parts.told.Reach(notice.Far{Store: a.Store, Key: a.parts.key, Known: func(chat.Secret) {}, Push: a.parts.out.Client(purpose(chat.PushBrowser)),
		Hook: a.parts.out.Client(purpose(chat.PushHook)), Mode: a.parts.out.Mode, Log: o.Log,
		MayCall: func(ctx context.Context, kind chat.PushKind, host string, port int) error {
			return a.parts.out.May(ctx, purpose(kind), host, port)
		}})
}
