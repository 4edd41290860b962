package link

import (
	"context"
	"path/filepath"
	"testing"

	"holdfast/agentside"
	"holdfast/agentside/conformance"
	"holdfast/engine/chat"
)

// TestConformanceInProcess and TestConformanceOverTheLink hold both kinds of Workspaces against the same suite (cases 45 to 56 where
// they can be seen from the port).
func TestConformanceInProcess(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Stand {
		dir, state := realDir(t), realDir(t)
		peer := conformance.NewPeer()
		places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "chats"), Dial: peer.Dial})
		if err != nil {
			t.Fatal(err)
		}
		places.PushTo(&taker{got: make(chan chat.Snapshot, 1000), answer: taken})
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := places.Close(ctx); err != nil {
				t.Error(err)
			}
		})
		ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		return conformance.Stand{Workspace: ws, Dir: dir, Servers: ws.(chat.ServerKeeper).Servers(), Peer: peer}
	})
}

func TestConformanceOverTheLink(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Stand {
		o := newOffice(t, quick())
		peer := conformance.NewPeer()
		d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), peer: peer})
		o.until("a1", "online", online)
		ws := o.open("a1")
		return conformance.Stand{Workspace: ws, Dir: d.dir, Servers: ws.(chat.ServerKeeper).Servers(), Peer: peer}
	})
}
