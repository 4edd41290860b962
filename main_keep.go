package main

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"holdfast/engine/audit"
	"holdfast/engine/chat"
	"holdfast/kv"
)

// keeper does for the store what is to be done again and again.
type keeper struct {
	store *kv.Store
	audit *audit.Room
	log   *slog.Logger
	// damaged counts the damages that are on record; the goroutine of run owns it.
	damaged int
}

// headEvery is how often the head of the audit is logged.
const headEvery = 24 * time.Hour

// sweepEvery is how often what has had its time is removed from the store; scrubEvery how often an idle one reads a Chat for damage.
const (
	sweepEvery = time.Hour
	scrubEvery = time.Minute
)

// run sweeps the store at the start and then hourly, and scrubs it while no Turn runs, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	sweep, scrub, head := time.NewTicker(sweepEvery), time.NewTicker(scrubEvery), time.NewTicker(headEvery)
	defer sweep.Stop()
	defer scrub.Stop()
	defer head.Stop()
	k.sweep(ctx)
	k.audit.LogHead(ctx)
	var last chat.ID
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			k.sweep(ctx)
		case <-scrub.C:
			last = k.scrub(ctx, last)
			k.damage(ctx)
		case <-head.C:
			k.audit.LogHead(ctx)
		}
	}
}

func (k *keeper) sweep(ctx context.Context) {
	gone, err := k.store.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("the store could not be swept", chat.LogError, err)
	}
	k.swept(ctx, gone)
}

// scrub reads the Chat behind last and gives its id; the store itself tells of damage.
func (k *keeper) scrub(ctx context.Context, last chat.ID) chat.ID {
	busy := false
	err := k.store.View(ctx, func(tx *kv.Tx) error {
		active, err := tx.ActiveChats()
		busy = len(active) > 0
		return err
	})
	if err == nil && !busy {
		last, _, err = k.store.Scrub(ctx, last)
	}
	if err != nil && ctx.Err() == nil {
		k.log.Warn("the store could not be scrubbed", chat.LogError, err)
	}
	return last
}

// swept records a sweep that removed something.
func (k *keeper) swept(ctx context.Context, gone kv.Swept) {
	if gone == (kv.Swept{}) {
		return
	}
	facts := map[string]string{}
	for name, n := range map[string]int{"chat_families": gone.Families, "files": gone.Files, "receipts": gone.Receipts, "login_codes": gone.LoginCodes,
		"checkpoints": gone.Checkpoints, "uploads": gone.Uploads, "snapshots": gone.Snapshots, "enrolments": gone.Enrolments, "audit_records": gone.Audits} {
		if n > 0 {
			facts[name] = strconv.Itoa(n)
		}
	}
	k.audit.Note(ctx, chat.Audit{Action: chat.AuditSwept, Facts: facts})
}

// damage records what was found broken since it was last asked.
func (k *keeper) damage(ctx context.Context) {
	all := k.store.Damages()
	if len(all) == k.damaged {
		return
	}
	first := all[k.damaged]
	k.audit.Note(ctx, chat.Audit{Action: chat.AuditDamage, Object: string(first.Chat), Facts: map[string]string{"found": strconv.Itoa(len(all) - k.damaged),
		"noun": first.Noun, "key": first.Key, "reason": first.Reason}})
	k.damaged = len(all)
}
