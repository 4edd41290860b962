package engine

import (
	"encoding/json"
	"sync/atomic"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// place is what a Turn knows of its Workspace beyond the handle.
type place struct {
	// awake: the Workspace runs, and goes on running for as long as this Turn does.
	awake atomic.Bool
	// makes: the Chat's model may make a Workspace; the Tools that need one are offered before there is one.
	makes bool
	// first is the record with which the Turn began: what the request's beginning says of it stays the same until its end.
	first *chat.WorkspaceRecord
	// missed: others have appended to the history, so that the run's copy is not whole.
	missed bool
	// rules decide about Calls.
	rules ruling
}

// wake starts the Turn's Workspace if it was stopped, before the first Call that needs it.
func (r *run) wake() error {
	p := &r.t.extra.place
	if r.e.ports.spaces == nil || r.t.record == nil || p.awake.Load() {
		return nil
	}
	if err := r.e.ports.spaces.Wake(r.ctx, r.t.record.ID); err != nil {
		return err
	}
	p.awake.Store(true)
	return nil
}

// openPlace resolves the Workspace of a Turn that begins. One that is being made is waited for; one that could not be made is none.
func (r *run) openPlace() error {
	t := &r.t
	if t.record != nil && r.e.ports.spaces != nil && t.record.Standing() != chat.WorkspaceRunning {
		if err := r.awaitPlace(); err != nil {
			return err
		}
	}
	if t.record != nil {
		var err error
		if t.workspace, err = r.e.ports.workspaces(r.ctx, t.record.ID); err != nil {
			return workspaceError(t.record, err)
		}
	}
	t.extra.place.first = t.record
	r.enterPlace()
	switch {
	case t.record != nil:
		// What is offered stays the same once the model has made it.
		t.extra.place.makes = r.couldMake() && t.record.Made.ChatID == t.chat.ID
	case t.chat.WorkspaceID != "":
		return r.e.store.View(r.ctx, r.mayMake)
	}
	return nil
}

// awaitPlace waits while the Workspace is being made.
func (r *run) awaitPlace() error {
	t := &r.t
	if s := t.record.Standing(); s == chat.WorkspaceCreating || s == chat.WorkspaceSetup {
		if err := r.e.ports.spaces.Settle(r.ctx, t.record.ID); err != nil {
			return err
		}
	}
	return r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		rec, found, err := tx.Workspace(t.record.ID)
		if t.record = nil; found && !rec.Unmade() {
			t.record = rec
		}
		return err
	})
}

// mayMake finds out whether the model may make the Chat's Workspace, of which there is none.
func (r *run) mayMake(tx *kv.Tx) error {
	t := &r.t
	if !r.couldMake() {
		return nil
	}
	p, err := principalOf(tx, t.chat.OwnerID)
	if err != nil {
		return err
	}
	usable, err := workspace.ForModels(tx, p)
	t.extra.place.makes = len(usable) > 0
	return err
}

// couldMake says whether the Turn is one in which models make Workspaces at all.
func (r *run) couldMake() bool {
	t := &r.t
	return r.e.ports.spaces != nil && !t.chat.Child() && t.extra.mode == chat.ModeAct && t.window >= prompt.SmallWindow
}

// refreshPlace takes up a Workspace that the Turn itself has made, between two Steps.
func (r *run) refreshPlace() error {
	t := &r.t
	if !t.extra.place.makes || t.workspace != nil {
		return nil
	}
	var rec *chat.WorkspaceRecord
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, r.id)
		if err != nil || c.WorkspaceID == "" {
			return err
		}
		w, found, err := tx.Workspace(c.WorkspaceID)
		if found && !w.Unmade() {
			rec = w
		}
		return err
	})
	if err != nil || rec == nil {
		return err
	}
	place, err := r.e.ports.workspaces(r.ctx, rec.ID)
	if err != nil {
		return workspaceError(rec, err)
	}
	t.record, t.workspace = rec, place
	r.enterPlace()
	t.note(chat.TextWorkspace)
	return nil
}

// needsPlace is why a Call cannot run without a Workspace, "" when it can.
func (r *run) needsPlace(d chat.ToolDef) string {
	if d.Workspace && r.t.workspace == nil {
		return textNoPlace
	}
	return ""
}

// asksSetup looks whether a Call would run a setup that a person has to agree to.
func (r *run) asksSetup(p *planned) (asks bool, err error) {
	if p.def.Name != toolMake {
		return false, nil
	}
	var in struct {
		ID chat.TemplateID `json:"template_id"`
	}
	if err := json.Unmarshal(p.call.Args, &in); err != nil {
		return false, err
	}
	script, asks, err := r.e.setupOf(r.ctx, r.id, in.ID)
	if err == nil && asks {
		p.command = script
	}
	return asks, err
}
