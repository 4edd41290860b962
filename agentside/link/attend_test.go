package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestChangesWithoutEndReadTheStoreOnceASecond: an Agent that names Workspaces that are not its own, or its own over and over.
func TestChangesWithoutEndReadTheStoreOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		m := madeBeside{of: func() ([]chat.WorkspaceID, error) { reads++; return []chat.WorkspaceID{"w1"}, nil }}
		began := time.Now()
		for range 1000 {
			if has, err := m.has(t.Context(), "w1"); !has || err != nil {
				t.Fatal(has, err)
			}
		}
		if reads != 1 || time.Since(began) != 0 {
			t.Errorf("its own: %d reads in %v", reads, time.Since(began))
		}
		for range 1000 {
			if has, err := m.has(t.Context(), "w2"); has || err != nil {
				t.Fatal(has, err)
			}
		}
		if took := time.Since(began); reads != 1001 || took != 1000*lookEvery {
			t.Errorf("another's: %d reads in %v", reads, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if has, err := m.has(ctx, "w2"); has || err == nil {
			t.Errorf("at the end: %v %v", has, err)
		}
	})
}
