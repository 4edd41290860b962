package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TestPeopleWhoLeaveTakeTheirAgentsAlong: what runs in their Workspaces ends, and the Agents that were enrolled for them are none any
// more, also where a Workspace hangs in its state; what is another person's stays.
func TestPeopleWhoLeaveTakeTheirAgentsAlong(t *testing.T) {
	s := standing(t)
	var revoked []chat.AgentID
	s.room.Far(func(id chat.AgentID) { revoked = append(revoked, id) }, nil)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	place, err := s.room.Open(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", Command: "sleep 1000", Background: true}); err != nil {
		t.Fatal(err)
	}
	// What confined commands kept to make anew is theirs, too.
	cache := filepath.Join(filepath.Dir(s.data), "caches", string(w.ID))
	if err := os.MkdirAll(filepath.Join(cache, "npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1, 0).UTC()
	beside := &chat.WorkspaceRecord{ID: "0190a000-0000-7000-8000-0000000000b1", OwnerID: admin.UserID, Name: "beside", Kind: chat.WorkspaceAgent,
		AgentID: "0190a000-0000-7000-8000-0000000000a1", State: chat.WorkspaceStopping, CreatedAt: at}
	theirs := &chat.WorkspaceRecord{ID: "0190a000-0000-7000-8000-0000000000b2", OwnerID: "0190a000-0000-7000-8000-0000000000e2", Name: "theirs", CreatedAt: at}
	c := &chat.Chat{ID: "0190a000-0000-7000-8000-0000000000c1", RootID: "0190a000-0000-7000-8000-0000000000c1", OwnerID: theirs.OwnerID, Title: "counting",
		WorkspaceID: w.ID, State: chat.Pending, RunnableSince: at, CreatedAt: at, UpdatedAt: at}
	write := func(f func(tx *kv.Tx) error) {
		t.Helper()
		if err := s.store.Update(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *kv.Tx) error {
		for _, r := range []*chat.WorkspaceRecord{beside, theirs} {
			if err := tx.PutWorkspace(r); err != nil {
				return err
			}
		}
		if err := tx.PutAgent(&chat.AgentRecord{ID: beside.AgentID, WorkspaceID: beside.ID, PublicKey: make([]byte, 32)}); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	if err := s.room.DeletePerson(t.Context(), admin.UserID); kind(err) != chat.KindWrongState {
		t.Errorf("while another person's chat is at work: %v", err)
	}
	c.State, c.RunnableSince = chat.Waiting, time.Time{}
	write(func(tx *kv.Tx) error { return tx.PutChat(c) })
	if err := s.room.DeletePerson(t.Context(), admin.UserID); err != nil {
		t.Fatal(err)
	}
	err = s.store.View(t.Context(), func(tx *kv.Tx) error {
		spaces, err := tx.Workspaces()
		if err != nil {
			return err
		}
		agents, err := tx.Agents()
		if len(spaces) != 1 || spaces[0].ID != theirs.ID || len(agents) != 0 {
			t.Errorf("left are %+v and %+v", spaces, agents)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cache); !os.IsNotExist(err) {
		t.Errorf("their cache is there: %v", err)
	}
	if _, err := os.Stat(w.Directory); err != nil {
		t.Errorf("their files: %v", err)
	}
	if !slices.Equal(revoked, []chat.AgentID{beside.AgentID}) {
		t.Errorf("revoked %v", revoked)
	}
	if all, err := place.Processes().List(t.Context(), ""); err != nil || slices.ContainsFunc(all, func(p chat.ProcessInfo) bool { return p.Running }) {
		t.Errorf("still runs: %+v, %v", all, err)
	}
}
