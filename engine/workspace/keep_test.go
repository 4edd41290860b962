package workspace

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// idleStand is a stand with one Workspace from a Template, whose keeper runs on the bubble's clock.
type idleStand struct {
	*stand
	t   *testing.T
	tpl chat.Template
	w   chat.WorkspaceRecord
}

func idling(t *testing.T, f chat.TemplateFields) *idleStand {
	t.Helper()
	s := standing(t)
	dir := folder(t, "shop")
	f.Name, f.Kind, f.Source = ptr("shop"), ptr(chat.TemplateDirectory), &dir
	i := &idleStand{stand: s, t: t, tpl: s.template(t, f)}
	i.w, _ = s.made(t, MakeInput{TemplateID: i.tpl.ID})
	if err := s.room.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *idleStand) now() chat.WorkspaceRecord {
	i.t.Helper()
	w, err := i.Get(i.t.Context(), admin, GetInput{i.w.ID})
	if err != nil {
		i.t.Fatal(err)
	}
	return w
}

// put stores a Chat in the Workspace.
func (i *idleStand) put(id chat.ID, state chat.State, change func(*chat.Chat)) {
	i.t.Helper()
	c := &chat.Chat{ID: id, RootID: id, OwnerID: admin.UserID, Title: "a chat", WorkspaceID: i.w.ID, State: state, CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC()}
	if state.Leased() {
		c.Lease = &chat.Lease{Epoch: 1, Runner: "r"}
	}
	if change != nil {
		change(c)
	}
	if err := i.store.Update(i.t.Context(), func(tx *kv.Tx) error {
		if state.AtRest() {
			if err := Use(tx, c.WorkspaceID, time.Now().UTC()); err != nil {
				return err
			}
		}
		return tx.PutChat(c)
	}); err != nil {
		i.t.Fatal(err)
	}
}

// after lets time pass and says where the Workspace then stands.
func (i *idleStand) after(d time.Duration) chat.WorkspaceState {
	i.t.Helper()
	<-time.After(d)
	synctest.Wait()
	return i.now().State
}

const (
	rootChat  chat.ID = "0190a000-0000-7000-8000-0000000000c1"
	childChat chat.ID = "0190a000-0000-7000-8000-0000000000c2"
)

// Case 17: what the site says counts for all but those that are never stopped; it counts from the last use.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := idling(t, chat.TemplateFields{})
		if ttl, err := i.TTL(t.Context(), demoted, TTLInput{}); err != nil || ttl.WorkspaceTTLMS != 0 {
			t.Errorf("fresh: %+v, %v", ttl, err)
		}
		if w := i.now(); !w.Made.Deadline.IsZero() {
			t.Errorf("without any time to live: %s", w.Made.Deadline)
		}
		set := func(ms int64) error {
			_, err := i.SetTTL(t.Context(), admin, SetTTLInput{TTL{ms}})
			return err
		}
		for _, ms := range []int64{-1, chat.MaxWorkspaceTTL.Milliseconds() + 1} {
			refuses(t, set(ms), "workspace_ttl_ms")
		}
		if _, err := i.SetTTL(t.Context(), demoted, SetTTLInput{TTL{1}}); kind(err) != chat.KindForbidden {
			t.Errorf("by a member: %v", err)
		}
		if err := set(chat.MaxWorkspaceTTL.Milliseconds()); err != nil {
			t.Error(err)
		}
		if err := set(3600000); err != nil {
			t.Fatal(err)
		}
		if w := i.now(); !w.Made.Deadline.Equal(w.UsedAt.Add(time.Hour)) {
			t.Errorf("used %s, ends %s", w.UsedAt, w.Made.Deadline)
		}
		if list, err := i.List(t.Context(), admin, ListInput{}); err != nil || len(list) != 1 || !list[0].Made.Deadline.Equal(i.now().Made.Deadline) {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := i.UpdateTemplate(t.Context(), admin, UpdateTemplateInput{ID: i.tpl.ID, TemplateFields: chat.TemplateFields{Autostop: ptr(false)}}); err != nil {
			t.Fatal(err)
		}
		if w := i.now(); !w.Made.Deadline.IsZero() {
			t.Errorf("never stopped by itself: %s", w.Made.Deadline)
		}
		if state := i.after(2 * time.Hour); state != chat.WorkspaceRunning {
			t.Error(state)
		}
	})
}

// Case 18: a Turn of ten minutes outlives a time to live of one; a minute after its end the Workspace is stopped.
func TestIdleIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := idling(t, chat.TemplateFields{TTLMS: ptr(time.Minute.Milliseconds())})
		i.put(rootChat, chat.Running, nil)
		if state := i.after(10 * time.Minute); state != chat.WorkspaceRunning {
			t.Fatalf("with a live turn: %s", state)
		}
		if used := i.now().UsedAt; time.Since(used) > beatEvery {
			t.Errorf("last used %s ago", time.Since(used))
		}
		i.put(rootChat, chat.Waiting, nil)
		if state := i.after(59 * time.Second); state != chat.WorkspaceRunning {
			t.Errorf("59 s idle: %s", state)
		}
		// It is looked for once a minute.
		if state := i.after(62 * time.Second); state != chat.WorkspaceStopped {
			t.Errorf("idle: %s", state)
		}
		if err := i.room.Wake(t.Context(), i.w.ID); err != nil || i.now().State != chat.WorkspaceRunning {
			t.Errorf("%s, %v", i.now().State, err)
		}
		if state := i.after(30 * time.Second); state != chat.WorkspaceRunning {
			t.Errorf("just woken: %s", state)
		}
	})
}

// Case 19: a Sub-agent that works keeps the Workspace of the family.
func TestALiveSubAgentKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := idling(t, chat.TemplateFields{TTLMS: ptr(time.Minute.Milliseconds())})
		i.put(rootChat, chat.Waiting, nil)
		i.put(childChat, chat.Running, func(c *chat.Chat) { c.ParentID, c.RootID = rootChat, rootChat })
		// The decision itself, without the beat that would move the deadline.
		if _, err := i.room.change(t.Context(), i.w.ID, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
			w.UsedAt = time.Now().Add(-time.Hour).UTC()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := i.room.sweep(t.Context()); err != nil || i.now().State != chat.WorkspaceRunning {
			t.Errorf("%s, %v", i.now().State, err)
		}
		if state := i.after(10 * time.Minute); state != chat.WorkspaceRunning {
			t.Error(state)
		}
		i.put(childChat, chat.Waiting, func(c *chat.Chat) { c.ParentID, c.RootID = rootChat, rootChat })
		if state := i.after(3 * time.Minute); state != chat.WorkspaceStopped {
			t.Error(state)
		}
	})
}

// A card that waits for a person keeps the Workspace for a day.
func TestACardKeepsItForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := idling(t, chat.TemplateFields{TTLMS: ptr(time.Minute.Milliseconds())})
		i.put(rootChat, chat.RequiresAction, func(c *chat.Chat) {
			c.Outstanding = []chat.OutstandingCall{{Kind: chat.OutstandingApproval, Call: chat.Call{ID: "c", Name: "execute"}, AskedAt: time.Now().UTC()}}
		})
		if state := i.after(23 * time.Hour); state != chat.WorkspaceRunning {
			t.Errorf("after 23 h: %s", state)
		}
		if state := i.after(62 * time.Minute); state != chat.WorkspaceStopped {
			t.Errorf("after a day: %s", state)
		}
	})
}

func TestBeginTellsWhatWasCut(t *testing.T) {
	s := standing(t)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	if _, err := s.room.change(t.Context(), w.ID, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
		w.State, w.Made.Log = chat.WorkspaceSetup, "step 1"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.room.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil || got.State != chat.WorkspaceSetupFailed || !strings.HasPrefix(got.Made.Log, "step 1\nThe appliance was stopped") {
		t.Errorf("%+v, %v", got, err)
	}
}
