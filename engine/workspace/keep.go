package workspace

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// beatEvery is how often live Turns count as use, sweepEvery how often idle Workspaces are looked for.
	beatEvery  = 30 * time.Second
	sweepEvery = time.Minute
	// cardKept is how long a card that waits for a person keeps its Workspace running.
	cardKept = 24 * time.Hour
)

// Begin brings what a process that died left half way to rest, and looks after idle Workspaces until Close.
func (r *Room) Begin(ctx context.Context) error {
	if err := r.recover(ctx); err != nil {
		return err
	}
	r.joined.Go(r.keep)
	return nil
}

// Close ends what is being built, and waits for it.
func (r *Room) Close() {
	r.end(chat.CauseShutdown)
	r.joined.Wait()
}

func (r *Room) keep() {
	beat, sweep := time.NewTicker(beatEvery), time.NewTicker(sweepEvery)
	defer beat.Stop()
	defer sweep.Stop()
	for {
		var err error
		select {
		case <-r.ctx.Done():
			return
		case <-beat.C:
			err = r.beat(r.ctx)
		case <-sweep.C:
			err = r.sweep(r.ctx)
		}
		if err != nil && r.ctx.Err() == nil {
			r.log.Error("looking after idle workspaces failed", chat.LogError, err)
		}
	}
}

// Use notes in a transaction that a Workspace is being used; "" and one that is gone are left alone.
func Use(tx *kv.Tx, id chat.WorkspaceID, now time.Time) error {
	if id == "" {
		return nil
	}
	w, found, err := tx.Workspace(id)
	if err != nil || !found || now.Sub(w.UsedAt) < time.Second {
		return err
	}
	w.UsedAt = now
	return tx.PutWorkspace(w)
}

// beat notes the use of the Workspaces of all live Turns.
func (r *Room) beat(ctx context.Context) error {
	used := map[chat.WorkspaceID]bool{}
	if err := r.store.View(ctx, func(tx *kv.Tx) error { return liveIn(tx, used) }); err != nil || len(used) == 0 {
		return err
	}
	return r.store.Update(ctx, func(tx *kv.Tx) error {
		clear(used)
		if err := liveIn(tx, used); err != nil {
			return err
		}
		for id := range used {
			if err := Use(tx, id, r.now().UTC()); err != nil {
				return err
			}
		}
		return nil
	})
}

// liveIn collects the Workspaces of live Turns.
func liveIn(tx *kv.Tx, used map[chat.WorkspaceID]bool) error {
	ids, err := tx.ActiveChats()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, found, err := tx.Chat(id)
		if err != nil && !errors.Is(err, kv.ErrDamaged) {
			return err
		}
		if found && c.WorkspaceID != "" && live(c) {
			used[c.WorkspaceID] = true
		}
	}
	return nil
}

// sweep stops the Workspaces whose time is over. One that cannot be stopped keeps no other from it.
func (r *Room) sweep(ctx context.Context) error {
	due, err := r.due(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range due {
		if ctx.Err() != nil {
			break
		}
		if err := r.stopIdle(chat.Impatient(ctx), id); err != nil && !unreachable(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// due lists the Workspaces that look idle.
func (r *Room) due(ctx context.Context) ([]chat.WorkspaceID, error) {
	var out []chat.WorkspaceID
	return out, r.store.View(ctx, func(tx *kv.Tx) error {
		lives, err := readLives(tx)
		if err != nil {
			return err
		}
		all, err := tx.Workspaces()
		if err != nil {
			return err
		}
		for _, w := range all {
			// One whose Agent is away is stopped when that is back.
			if !idle(lives.deadline(w), r.now()) || r.far.shown(*w).State == chat.WorkspaceOffline {
				continue
			}
			// Most that are busy are seen here, without a write; it is decided below.
			if busy, err := inUse(tx, w.ID, r.keeps); err != nil || busy != nil {
				if err != nil {
					return err
				}
				continue
			}
			out = append(out, w.ID)
		}
		return nil
	})
}

// keeps says whether a Chat keeps its Workspace from being stopped by itself.
func (r *Room) keeps(c *chat.Chat) bool { return live(c) || r.awaited(c) }

func idle(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }

// stopIdle stops a Workspace if it is still idle. That is decided in the transaction that reads the Turns.
func (r *Room) stopIdle(ctx context.Context, id chat.WorkspaceID) error {
	unlock, err := r.locks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	stops := false
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		stops = false
		w, found, err := tx.Workspace(id)
		if err != nil || !found {
			return err
		}
		lives, err := readLives(tx)
		if err != nil || !idle(lives.deadline(w), r.now()) {
			return err
		}
		busy, err := inUse(tx, id, r.keeps)
		if err != nil || busy != nil {
			return err
		}
		if err := w.Move(chat.WorkspaceStop); err != nil {
			return err
		}
		stops = true
		return tx.PutWorkspace(w)
	})
	if err != nil || !stops {
		return err
	}
	r.feed.touch()
	_, err = r.finishStop(ctx, id)
	if err == nil {
		r.log.Info("an idle workspace was stopped", chat.LogWorkspace, id)
	}
	return err
}

// awaited says whether a Chat waits on a card that is young enough for somebody to come back to it.
func (r *Room) awaited(c *chat.Chat) bool {
	if c.State != chat.RequiresAction {
		return false
	}
	for _, o := range c.Outstanding {
		if o.Decision == "" && r.now().Sub(o.AskedAt) < cardKept {
			return true
		}
	}
	return false
}
