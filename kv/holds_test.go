package kv

import (
	"context"
	"testing"

	"holdfast/engine/chat"
)

// What cannot be there is not asked for: the flags are set before the record is seen, and found again by the next process.
func TestNounsThatMayBeThere(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	if s.HasMCPServers() || s.HasPushSubscriptions() {
		t.Fatal("a new store may have what nobody stored")
	}
	id := newID[string]()
	err := s.Update(context.Background(), func(tx *Tx) error {
		if err := tx.PutMCPServer(&chat.MCPServer{ID: chat.MCPServerID(id)}); err != nil {
			return err
		}
		return tx.PutPushSubscription(&chat.PushSubscription{ID: chat.PushID(id), UserID: chat.UserID(id)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !s.HasMCPServers() || !s.HasPushSubscriptions() {
		t.Error("what was stored is not known")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = openTest(t, dir, faults{}); !s.HasMCPServers() || !s.HasPushSubscriptions() {
		t.Error("what an earlier process stored is not known")
	}
}
