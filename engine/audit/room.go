package audit

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// writeTime bounds how long a record is waited for whose cause is over already.
const writeTime = 5 * time.Second

// Room is the audit of one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	log   *slog.Logger
}

// New gives the Room over store.
func New(store *kv.Store, log *slog.Logger) *Room { return &Room{store: store, log: log} }

// Note writes a record about what has happened already. That it could not be written is logged: what it is about is not undone by it.
func (r *Room) Note(ctx context.Context, a chat.Audit) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := r.store.Update(ctx, func(tx *kv.Tx) error { return tx.AppendAudit(a) }); err != nil {
		r.log.ErrorContext(ctx, "a record of the audit could not be written", chat.LogAction, a.Action, chat.LogUser, a.UserID, chat.LogError, err)
	}
}

// LogHead writes number and hash of the newest record into the log. Call it daily: a chain that was cut or made anew does not hold
// against it any more.
func (r *Room) LogHead(ctx context.Context) {
	var chain kv.AuditChain
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		chain, err = tx.AuditChain()
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.log.ErrorContext(ctx, "the head of the audit cannot be read", chat.LogError, err)
	}
	if err == nil && chain.Last > 0 {
		r.log.InfoContext(ctx, "head of the audit", chat.LogNumber, chain.Last, chat.LogHash, hex.EncodeToString(chain.Head))
	}
}
