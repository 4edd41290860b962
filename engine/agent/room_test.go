package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

var (
	admin = chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a1", Role: chat.UserAdmin}
	other = chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a2", Role: chat.UserAdmin}
)

type rig struct {
	*Room
	store   *kv.Store
	clock   time.Time
	revoked []chat.AgentID
}

func (r *rig) State(id chat.AgentID) chat.AgentState {
	return chat.AgentState{Online: true, Since: r.clock, Detail: string(id)}
}

// links tells of every Agent that it is there, and remembers who was revoked.
type links struct{ *rig }

func (l links) Revoke(id chat.AgentID) { l.revoked = append(l.revoked, id) }

func newRig(t *testing.T) *rig {
	r := &rig{store: kvtest.Open(t), clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.Room = New(r.store, func() time.Time { return r.clock })
	r.Link(links{r}, Address{URL: "https://box:8421", Pin: "sha256:ab"})
	return r
}

func kind(err error) chat.Kind {
	var e *chat.Error
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Kind
}

func (r *rig) enrol(t *testing.T, in EnrolInput) Enrolment {
	t.Helper()
	out, err := r.Room.Enrol(t.Context(), admin, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *rig) claim(t *testing.T, token string) chat.AgentRecord {
	t.Helper()
	a, err := r.Claim(t.Context(), ClaimInput{Token: token, PublicKey: []byte("key"), Host: "box", Directory: "/srv/shop/"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestCase58Token: a token is good once and for an hour; what is not good is told apart by nobody.
func TestCase58Token(t *testing.T) {
	r := newRig(t)
	out := r.enrol(t, EnrolInput{Name: " shop "})
	if out.Workspace != "shop" || !strings.HasPrefix(out.Token, "hfe_") || !out.ExpiresAt.Equal(r.clock.Add(time.Hour)) ||
		out.Command != "holdfast --agent --url https://box:8421 --pin sha256:ab --dir . --enrol-file -" || strings.Contains(out.Command, out.Token) {
		t.Errorf("%+v", out)
	}
	list, err := r.List(t.Context(), admin, ListInput{})
	if err != nil || len(list.Agents) != 0 || len(list.Waiting) != 1 || list.Waiting[0].Workspace != "shop" {
		t.Errorf("%+v, %v", list, err)
	}
	a := r.claim(t, out.Token)
	_, used := r.Claim(t.Context(), ClaimInput{Token: out.Token})
	_, unknown := r.Claim(t.Context(), ClaimInput{Token: "hfe_x"})
	late := r.enrol(t, EnrolInput{Name: "late"})
	r.clock = late.ExpiresAt
	_, expired := r.Claim(t.Context(), ClaimInput{Token: late.Token})
	for _, err := range []error{used, unknown, expired} {
		if kind(err) != chat.KindUnauthenticated || err.Error() != unknown.Error() {
			t.Errorf("%v", err)
		}
	}
	if list, err := r.List(t.Context(), admin, ListInput{}); err != nil || len(list.Agents) != 1 || len(list.Waiting) != 1 || !list.Waiting[0].ExpiresAt.IsZero() ||
		list.Agents[0].Workspace != "shop" || list.Agents[0].Agent.ID != a.ID || list.Agents[0].State.Detail != string(a.ID) {
		t.Errorf("%+v, %v", list, err)
	}
	w, found, err := r.Of(t.Context(), out.WorkspaceID)
	if err != nil || !found || w.AgentID != a.ID || w.Directory != "/srv/shop" || w.Kind != chat.WorkspaceAgent || w.OwnerID != admin.UserID {
		t.Errorf("%+v, %v, %v", w, found, err)
	}
	kept, found, err := find(t, r, out.Token)
	if err != nil || found {
		t.Errorf("the store still has %+v, %v", kept, err)
	}
}

// TestWhoHasNoTokenWaitsForNoWriter: anybody who reaches the listener may ask, and must not hold up those who write.
func TestWhoHasNoTokenWaitsForNoWriter(t *testing.T) {
	r := newRig(t)
	writing, goOn, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- r.store.Update(context.Background(), func(*kv.Tx) error {
			close(writing)
			<-goOn
			return nil
		})
	}()
	<-writing
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := r.Claim(ctx, ClaimInput{Token: "hfe_x"}); kind(err) != chat.KindUnauthenticated {
		t.Error(err)
	}
	close(goOn)
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// find looks an enrolment up without leaving a mark.
func find(t *testing.T, r *rig, token string) (e *chat.AgentEnrolment, found bool, err error) {
	undone := errors.New("undone")
	if err := r.store.Update(t.Context(), func(tx *kv.Tx) error {
		e, found, err = tx.TakeEnrolment(sha256.Sum256([]byte(token)))
		return undone
	}); !errors.Is(err, undone) {
		t.Error(err)
	}
	return e, found, err
}

// TestAnotherTakesThePlace: one Workspace has one Agent; a second that enrols for it displaces the first.
func TestAnotherTakesThePlace(t *testing.T) {
	r := newRig(t)
	first := r.enrol(t, EnrolInput{Name: "shop"})
	old := r.claim(t, first.Token)
	second := r.enrol(t, EnrolInput{WorkspaceID: first.WorkspaceID})
	third := r.enrol(t, EnrolInput{WorkspaceID: first.WorkspaceID})
	if _, err := r.Claim(t.Context(), ClaimInput{Token: second.Token}); kind(err) != chat.KindUnauthenticated {
		t.Errorf("an earlier token is still good: %v", err)
	}
	fresh := r.claim(t, third.Token)
	if len(r.revoked) != 1 || r.revoked[0] != old.ID {
		t.Errorf("revoked %v, not %s", r.revoked, old.ID)
	}
	if _, err := r.Record(t.Context(), old.ID); kind(err) != chat.KindNotFound {
		t.Errorf("the old one: %v", err)
	}
	if a, err := r.Record(t.Context(), fresh.ID); err != nil || a.WorkspaceID != first.WorkspaceID || string(a.PublicKey) != "key" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRenew: the owner gets a token for the machine of an Agent, whose place is taken when it is used; whoever looks is woken by each step.
func TestRenew(t *testing.T) {
	r := newRig(t)
	out := r.enrol(t, EnrolInput{Name: "shop"})
	watch, err := r.Watch(t.Context(), admin, WatchInput{})
	if err != nil {
		t.Fatal(err)
	}
	old := r.claim(t, out.Token)
	<-watch.C
	if _, err := r.Renew(t.Context(), other, RenewInput{ID: old.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("another admin renews: %v", err)
	}
	fresh, err := r.Renew(t.Context(), admin, RenewInput{ID: old.ID})
	if err != nil || fresh.WorkspaceID != out.WorkspaceID || fresh.Token == out.Token {
		t.Fatalf("%+v, %v", fresh, err)
	}
	<-watch.C
	list, err := r.List(t.Context(), other, ListInput{})
	if err != nil || len(list.Waiting) != 0 || len(list.Agents) != 1 || list.Agents[0].Own || !list.Agents[0].Renewal.Equal(fresh.ExpiresAt) || list.Agents[0].Agent.ID != old.ID {
		t.Errorf("%+v, %v", list, err)
	}
	next := r.claim(t, fresh.Token)
	<-watch.C
	if list, err = r.List(t.Context(), admin, ListInput{}); err != nil || len(list.Agents) != 1 || !list.Agents[0].Renewal.IsZero() || list.Agents[0].Agent.ID != next.ID ||
		len(r.revoked) != 1 || r.revoked[0] != old.ID {
		t.Errorf("%+v, %v, revoked %v", list, err, r.revoked)
	}
	if err := r.Seen(t.Context(), next.ID, nil); err != nil {
		t.Fatal(err)
	}
	<-watch.C
	if _, err := r.Room.Revoke(t.Context(), admin, RevokeInput{ID: next.ID}); err != nil {
		t.Fatal(err)
	}
	<-watch.C
	if list, err = r.List(t.Context(), admin, ListInput{}); err != nil || len(list.Agents) != 0 || len(list.Waiting) != 1 || !list.Waiting[0].Own {
		t.Errorf("without an agent its workspace is not listed: %+v, %v", list, err)
	}
	if _, err := r.Renew(t.Context(), admin, RenewInput{ID: next.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("one that is gone: %v", err)
	}
	watch.Stop()
	r.Moved()
	select {
	case <-watch.C:
		t.Error("woken after the end")
	default:
	}
}

func TestRevoke(t *testing.T) {
	r := newRig(t)
	out := r.enrol(t, EnrolInput{Name: "shop"})
	a := r.claim(t, out.Token)
	if _, err := r.Room.Revoke(t.Context(), admin, RevokeInput{ID: a.ID}); err != nil {
		t.Fatal(err)
	}
	if w, found, err := r.Of(t.Context(), out.WorkspaceID); err != nil || !found || w.AgentID != "" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := r.Room.Revoke(t.Context(), admin, RevokeInput{ID: a.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("twice: %v", err)
	}
	if len(r.revoked) != 1 {
		t.Errorf("revoked %v", r.revoked)
	}
}

func TestSeen(t *testing.T) {
	r := newRig(t)
	a := r.claim(t, r.enrol(t, EnrolInput{Name: "shop"}).Token)
	r.clock = r.clock.Add(time.Minute)
	if err := r.Seen(t.Context(), a.ID, &chat.AgentGreeting{Version: "v1", Capabilities: []string{"proc/1"}}); err != nil {
		t.Fatal(err)
	}
	r.clock = r.clock.Add(time.Minute)
	if err := r.Seen(t.Context(), a.ID, nil); err != nil {
		t.Fatal(err)
	}
	got, err := r.Record(t.Context(), a.ID)
	if err != nil || got.Greeting.Version != "v1" || !got.SeenAt.Equal(r.clock) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := r.Seen(t.Context(), "0190a000-0000-7000-8000-00000000dead", nil); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

func TestEnrolRefuses(t *testing.T) {
	r := newRig(t)
	local := &chat.WorkspaceRecord{ID: "0190a000-0000-7000-8000-0000000000b1", OwnerID: admin.UserID, Name: "here", Kind: chat.WorkspaceLocal, Directory: "/w"}
	if err := r.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutWorkspace(local) }); err != nil {
		t.Fatal(err)
	}
	mine := r.enrol(t, EnrolInput{Name: "mine"})
	for _, c := range []struct {
		who  chat.Principal
		in   EnrolInput
		kind chat.Kind
	}{
		{admin, EnrolInput{}, chat.KindInvalid}, {admin, EnrolInput{Name: "a\nb"}, chat.KindInvalid}, {admin, EnrolInput{Name: strings.Repeat("x", 81)}, chat.KindInvalid},
		{admin, EnrolInput{WorkspaceID: local.ID}, chat.KindInvalid}, {admin, EnrolInput{WorkspaceID: "0190a000-0000-7000-8000-00000000dead"}, chat.KindNotFound},
		{other, EnrolInput{WorkspaceID: mine.WorkspaceID}, chat.KindNotFound},
	} {
		if _, err := r.Room.Enrol(t.Context(), c.who, c.in); kind(err) != c.kind {
			t.Errorf("%+v: %v", c.in, err)
		}
	}
	r.Link(links{r}, Address{})
	if _, err := r.Room.Enrol(t.Context(), admin, EnrolInput{Name: "x"}); kind(err) != chat.KindWrongState {
		t.Errorf("without a listener: %v", err)
	}
}

// made stores a Workspace that was made beside an Agent.
func (r *rig) made(t *testing.T, beside chat.AgentID) chat.WorkspaceID {
	t.Helper()
	id := chat.WorkspaceID("0190a000-0000-7000-8000-0000000000d1")
	err := r.store.Update(t.Context(), func(tx *kv.Tx) error {
		return tx.PutWorkspace(&chat.WorkspaceRecord{ID: id, OwnerID: admin.UserID, Name: "quay", Kind: chat.WorkspaceAgent, AgentID: beside, Directory: "/srv/quay",
			Made: chat.Making{TemplateID: "t"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestMadeWorkspacesKeepTheStoreWhole: an Agent serves the Workspaces that were made beside it, too, which the store's check does not take for
// damage; when the Agent goes, by whatever way, they have none.
func TestMadeWorkspacesKeepTheStoreWhole(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, r *rig, a chat.AgentRecord){
		"revoked": func(t *testing.T, r *rig, a chat.AgentRecord) {
			if _, err := r.Revoke(t.Context(), admin, RevokeInput{ID: a.ID}); err != nil {
				t.Fatal(err)
			}
		},
		"revoked, when its own workspace had gone with a person": func(t *testing.T, r *rig, a chat.AgentRecord) {
			if err := r.store.Update(t.Context(), func(tx *kv.Tx) error { _, err := tx.DeleteWorkspace(a.WorkspaceID); return err }); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Revoke(t.Context(), admin, RevokeInput{ID: a.ID}); err != nil {
				t.Fatal(err)
			}
		},
		"its own workspace deleted": func(t *testing.T, r *rig, a chat.AgentRecord) {
			spaces := workspace.New(r.store, nowhere{}, func() time.Time { return r.clock })
			if _, err := spaces.Delete(t.Context(), admin, workspace.DeleteInput{ID: a.WorkspaceID}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.claim(t, r.enrol(t, EnrolInput{Name: "shop"}).Token)
			id := r.made(t, a.ID)
			if found, err := r.store.Check(t.Context(), true); err != nil || len(found) != 0 {
				t.Errorf("%v, %v", found, err)
			}
			end(t, r, a)
			if w, found, err := r.Of(t.Context(), id); err != nil || !found || w.AgentID != "" {
				t.Errorf("%+v, %v, %v", w, found, err)
			}
		})
	}
}

// nowhere has nothing to stop.
type nowhere struct{ chat.Workspaces }

func (nowhere) Stop(context.Context, chat.WorkspaceID) error { return nil }
