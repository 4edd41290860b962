package kv

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestAgents: an Agent and an enrolment are kept and go again, an enrolment of two takers to one; a Workspace whose Agent serves
// another is damage, as is one that was made beside an Agent that is not there.
func TestAgents(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	w := newID[chat.WorkspaceID]()
	a := &chat.AgentRecord{ID: newID[chat.AgentID](), WorkspaceID: w, PublicKey: []byte("k")}
	now := time.Now()
	good := &chat.AgentEnrolment{Hash: chat.FileHash([]byte("good")), WorkspaceID: w, ExpiresAt: now.Add(time.Hour)}
	update(t, s, func(tx *Tx) error {
		for _, err := range []error{tx.PutAgent(a), tx.PutWorkspace(&chat.WorkspaceRecord{ID: w, AgentID: a.ID}), tx.PutEnrolment(good),
			tx.PutEnrolment(&chat.AgentEnrolment{Hash: chat.FileHash([]byte("old")), WorkspaceID: newID[chat.WorkspaceID](), ExpiresAt: now.Add(-time.Hour)})} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	made := &chat.WorkspaceRecord{ID: newID[chat.WorkspaceID](), Kind: chat.WorkspaceAgent, AgentID: a.ID, Made: chat.Making{TemplateID: "t"}}
	update(t, s, func(tx *Tx) error { return tx.PutWorkspace(made) })
	mustBeClean(t, s)
	if swept, err := s.Sweep(t.Context()); err != nil || swept.Enrolments != 1 {
		t.Errorf("%+v, %v", swept, err)
	}
	update(t, s, func(tx *Tx) error {
		if e, found, err := tx.TakeEnrolment(good.Hash); err != nil || !found || e.WorkspaceID != w {
			t.Errorf("%+v, %v, %v", e, found, err)
		}
		if _, found, err := tx.TakeEnrolment(good.Hash); err != nil || found {
			t.Errorf("twice: %v, %v", found, err)
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		if got, found, err := tx.Agent(a.ID); err != nil || !found || string(got.PublicKey) != "k" {
			t.Errorf("%+v, %v, %v", got, found, err)
		}
		if all, err := tx.Agents(); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
		return nil
	})
	update(t, s, func(tx *Tx) error {
		a.WorkspaceID = newID[chat.WorkspaceID]()
		return tx.PutAgent(a)
	})
	found, err := s.Check(t.Context(), true)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].String(), "its agent") {
		t.Errorf("%v, %v", found, err)
	}
	update(t, s, func(tx *Tx) error {
		if removed, err := tx.DeleteAgent(a.ID); err != nil || !removed {
			t.Errorf("%v, %v", removed, err)
		}
		return tx.PutWorkspace(&chat.WorkspaceRecord{ID: w})
	})
	found, err = s.Check(t.Context(), true)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].String(), "its agent") {
		t.Errorf("made beside nobody: %v, %v", found, err)
	}
	made.AgentID = ""
	update(t, s, func(tx *Tx) error { return tx.PutWorkspace(made) })
}
