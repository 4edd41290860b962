package workspace

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// BesideInput asks for the Agents that the caller has to do with.
type BesideInput struct{}

// Beside is an Agent as those know it who work beside it. One that was revoked has no Host.
type Beside struct {
	Host string
	Away bool
}

// Beside gives the Agents of the caller's Workspaces, and of the Templates that the caller may use.
func (r *Room) Beside(ctx context.Context, p chat.Principal, _ BesideInput) (map[chat.AgentID]Beside, error) {
	out := map[chat.AgentID]Beside{}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		clear(out)
		spaces, err := tx.Workspaces()
		if err != nil {
			return err
		}
		for _, w := range spaces {
			if w.OwnerID == p.UserID && w.AgentID != "" {
				out[w.AgentID] = Beside{}
			}
		}
		templates, err := Templates(tx)
		if err != nil {
			return err
		}
		for _, t := range templates {
			if usable(t, p) && chat.TargetBeside(t.Target) {
				out[chat.AgentID(t.Target)] = Beside{}
			}
		}
		for id := range out {
			a, found, err := tx.Agent(id)
			if err != nil {
				return err
			}
			if found {
				out[id] = Beside{Host: a.Host}
			}
		}
		return nil
	})
	for id, b := range out {
		b.Away = r.far.away != nil && r.far.away(id)
		out[id] = b
	}
	return out, err
}

// Follow hands what was made beside an Agent to the one that takes its place, "" for none: with it go the Templates that make more there.
func Follow(tx *kv.Tx, before, now chat.AgentID) error {
	all, err := tx.Workspaces()
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.MadeBeside() && w.AgentID == before {
			w.AgentID = now
			err = errors.Join(err, tx.PutWorkspace(w))
		}
	}
	if now == "" {
		return err
	}
	return errors.Join(err, Retarget(tx, before, now))
}
