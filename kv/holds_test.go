package kv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

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

// TestABrokenPageOfServersHoldsNobodyUp: whether there may be servers is asked at the start; a page of theirs that is broken is for those who read them.
func TestABrokenPageOfServersHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	update(t, s, func(tx *Tx) error {
		return tx.PutMCPServer(&chat.MCPServer{ID: newID[chat.MCPServerID](), Description: strings.Repeat("x", 8<<10)})
	})
	closeStore(t, s)
	page, size := int64(0), int64(0)
	withBolt(t, dir, func(bt *bolt.Tx) error {
		page, size = int64(bt.Bucket([]byte(bMCPServer.String())).Root()), int64(bt.DB().Info().PageSize)
		return nil
	})
	if page == 0 {
		t.Fatal("the bucket has no page of its own")
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, size), page*size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(context.Background(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	if !s.HasMCPServers() || s.HasPushSubscriptions() {
		t.Error("servers that cannot be read are taken for none")
	}
}
