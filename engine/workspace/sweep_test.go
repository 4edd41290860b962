package workspace

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// stuck are places of which some cannot be stopped.
type stuck struct {
	chat.Workspaces
	why map[chat.WorkspaceID]error
}

func (s *stuck) Stop(ctx context.Context, id chat.WorkspaceID) error {
	if err := s.why[id]; err != nil {
		return err
	}
	return s.Workspaces.Stop(ctx, id)
}

// TestASweepGoesOn: a Workspace that cannot be stopped keeps no other from being stopped, and one whose agent cannot be reached runs on, so that
// it is stopped once that is back.
func TestASweepGoesOn(t *testing.T) {
	s := standing(t)
	places := &stuck{Workspaces: s.room.places, why: map[chat.WorkspaceID]error{}}
	now := time.Now()
	room := New(s.store, places, func() time.Time { return now })
	t.Cleanup(room.Close)
	s.Guarded = NewGuarded(room, account.NewGuard(account.StoreOwners(s.store), metric.New()))
	if _, err := s.SetTTL(t.Context(), admin, SetTTLInput{TTL{time.Hour.Milliseconds()}}); err != nil {
		t.Fatal(err)
	}
	var all []chat.WorkspaceID
	for _, name := range []string{"one", "two", "three"} {
		all = append(all, s.create(t, CreateInput{Directory: folder(t, name)}).Workspace.ID)
	}
	away, broken := &chat.Error{Kind: chat.KindUnreachable, Message: "Its agent is away."}, errors.New("it does not end")
	states := func() (out [3]chat.WorkspaceState) {
		for i, id := range all {
			w, err := room.read(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = w.Standing()
		}
		return out
	}
	now = now.Add(2 * time.Hour)
	places.why[all[0]], places.why[all[1]] = broken, away
	if err := room.sweep(t.Context()); !errors.Is(err, broken) || errors.Is(err, away) {
		t.Errorf("the sweep: %v", err)
	}
	if got := states(); got != [3]chat.WorkspaceState{chat.WorkspaceStopping, chat.WorkspaceRunning, chat.WorkspaceStopped} {
		t.Error(got)
	}
	if _, err := s.Stop(t.Context(), admin, StopInput{all[1]}); !errors.Is(err, away) {
		t.Errorf("a person's stop: %v", err)
	}
	clear(places.why)
	if err := room.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	// A stop that did not come to its end is begun again.
	if _, err := s.Stop(t.Context(), admin, StopInput{all[0]}); err != nil {
		t.Error(err)
	}
	if got := states(); got != [3]chat.WorkspaceState{chat.WorkspaceStopped, chat.WorkspaceStopped, chat.WorkspaceStopped} {
		t.Error(got)
	}
}
