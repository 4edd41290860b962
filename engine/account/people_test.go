package account

import (
	"context"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/kv"
)

func TestPeopleAreAddedAndChanged(t *testing.T) {
	h := open(t)
	jo, err := h.g.CreateUser(t.Context(), h.owner, CreateUserInput{Name: " Jo "})
	h.must(err)
	if jo.Name != "Jo" || jo.Role != chat.UserMember || jo.HasPassword || jo.LastSeen != nil {
		t.Errorf("made %+v", jo)
	}
	for name, in := range map[string]CreateUserInput{"same name": {Name: "jO"}, "no name": {Name: " "}, "bad role": {Name: "x", Role: "king"},
		"long name": {Name: strings.Repeat("x", maxName+1)}, "control": {Name: "a\nb"}} {
		t.Run(name, func(t *testing.T) {
			wantKind(t, errOf(h.g.CreateUser(t.Context(), h.owner, in)), chat.KindInvalid)
		})
	}
	admin, member, on, off, taken, empty := chat.UserAdmin, chat.UserMember, true, false, "MIA", ""
	change := func(in UpdateUserInput) error { return errOf(h.g.UpdateUser(t.Context(), h.owner, in)) }
	wantKind(t, change(UpdateUserInput{ID: jo.ID, Name: &taken}), chat.KindInvalid)
	wantKind(t, change(UpdateUserInput{ID: jo.ID, Name: &empty}), chat.KindInvalid)
	wantKind(t, change(UpdateUserInput{ID: chat.UserID(newID()), Role: &admin}), chat.KindNotFound)
	wantKind(t, change(UpdateUserInput{ID: h.owner.UserID, Role: &member}), chat.KindWrongState)
	wantKind(t, change(UpdateUserInput{ID: h.owner.UserID, Disabled: &on}), chat.KindWrongState)
	h.must(change(UpdateUserInput{ID: jo.ID, Role: &admin}))
	h.must(change(UpdateUserInput{ID: h.owner.UserID, Role: &member}))
	// A role counts at once, also for whom it was taken from in the middle.
	now := h.owner
	now.Role = chat.UserMember
	wantKind(t, errOf(h.g.UpdateUser(t.Context(), now, UpdateUserInput{ID: jo.ID, Role: &member})), chat.KindForbidden)
	wantKind(t, errOf(h.room.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: jo.ID, Disabled: &on})), chat.KindWrongState)
	wantKind(t, errOf(h.room.DeleteUser(t.Context(), h.owner, DeleteUserInput{ID: jo.ID})), chat.KindWrongState)
	h.must(errOf(h.room.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.owner.UserID, Role: &admin, Disabled: &off})))
}

// Disabling ends everything that somebody holds open, and what was theirs works again after it.
func TestDisabledPeopleAreOut(t *testing.T) {
	h := open(t)
	stopped := []chat.UserID{}
	h.room.OwnChats(Chats{Stop: func(_ context.Context, id chat.UserID) error {
		stopped = append(stopped, id)
		return nil
	}})
	h.withPassword("jo")
	token := ""
	session := ""
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
		u, err := userNamed(tx, "jo")
		if err == nil {
			h.member = principal(u)
		}
		return err
	}))
	token, session = h.token(h.member, CreateTokenInput{}).Token, h.session(h.member)
	code, err := h.g.CreateLogin(t.Context(), h.member, CreateLoginInput{})
	h.must(err)
	p, err := h.in(Credentials{Bearers: []string{token}, Cookies: []string{session}})
	h.must(err)
	ctx, done, err := h.room.Bind(t.Context(), p)
	h.must(err)
	defer done()
	on, off := true, false
	out, err := h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Disabled: &on})
	h.must(err)
	if !out.Disabled || len(stopped) != 1 || stopped[0] != h.member.UserID {
		t.Errorf("%+v, stopped %v", out, stopped)
	}
	if context.Cause(ctx) != CauseCredentialEnded {
		t.Errorf("the stream's end is %v", context.Cause(ctx))
	}
	wantKind(t, errOf(h.in(bearer(token))), chat.KindUnauthenticated)
	wantKind(t, errOf(h.in(cookie(session))), chat.KindUnauthenticated)
	wantKind(t, errOf(h.room.RedeemLogin(t.Context(), Visitor{}, code.Code)), chat.KindUnauthenticated)
	wantKind(t, h.signIn(Visitor{}, "jo", good), chat.KindUnauthenticated)
	wantKind(t, errOf(h.g.CreateLogin(t.Context(), h.owner, CreateLoginInput{UserID: h.member.UserID})), chat.KindWrongState)
	wantKind(t, errOf(h.g.CreateToken(t.Context(), h.owner, CreateTokenInput{Name: "x", UserID: h.member.UserID})), chat.KindWrongState)
	_, _, err = h.room.Bind(t.Context(), p)
	wantKind(t, err, chat.KindUnauthenticated)
	h.must(errOf(h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Disabled: &off})))
	h.must(errOf(h.in(bearer(token))))
	wantKind(t, errOf(h.in(cookie(session))), chat.KindUnauthenticated)
	h.must(h.signIn(Visitor{}, "jo", good))
}

// Another role ends open streams, so that they are asked for anew under it.
func TestAnotherRoleEndsStreams(t *testing.T) {
	h := open(t)
	p, err := h.in(cookie(h.session(h.member)))
	h.must(err)
	ctx, done, err := h.room.Bind(t.Context(), p)
	h.must(err)
	defer done()
	admin := chat.UserAdmin
	h.must(errOf(h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Role: &admin})))
	if context.Cause(ctx) != CauseCredentialEnded {
		t.Errorf("the stream's end is %v", context.Cause(ctx))
	}
	_, _, err = h.room.Bind(t.Context(), p)
	wantKind(t, err, chat.KindUnauthenticated)
}

func TestRemovedPeopleLeaveNothing(t *testing.T) {
	h := open(t)
	token := h.token(h.member, CreateTokenInput{}).Token
	var asked chat.UserID
	refuse := true
	h.room.OwnChats(Chats{Delete: func(_ context.Context, id chat.UserID) error {
		asked = id
		if refuse {
			return &chat.Error{Kind: chat.KindWrongState, Message: "One still runs."}
		}
		return nil
	}})
	var left chat.UserID
	h.room.chats.Workspaces = func(_ context.Context, id chat.UserID) error {
		left = id
		return nil
	}
	space := &chat.WorkspaceRecord{ID: chat.WorkspaceID(newID()), OwnerID: h.member.UserID}
	theirs := &chat.WorkspaceRecord{ID: chat.WorkspaceID(newID()), OwnerID: h.owner.UserID}
	h.must(h.store.Update(t.Context(), func(tx *kv.Tx) error {
		if err := tx.PutWorkspace(space); err != nil {
			return err
		}
		return tx.PutWorkspace(theirs)
	}))
	remove := func() error { return errOf(h.g.DeleteUser(t.Context(), h.owner, DeleteUserInput{ID: h.member.UserID})) }
	wantKind(t, remove(), chat.KindWrongState)
	if asked != "" {
		t.Error("chats of somebody who is not disabled were asked for")
	}
	on := true
	h.must(errOf(h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Disabled: &on})))
	wantKind(t, remove(), chat.KindWrongState)
	refuse = false
	h.must(remove())
	wantKind(t, remove(), chat.KindNotFound)
	wantKind(t, errOf(h.in(bearer(token))), chat.KindUnauthenticated)
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
		all, err := tx.Workspaces()
		if len(all) != 1 || all[0].ID != theirs.ID {
			t.Errorf("workspaces %+v", all)
		}
		return err
	}))
	if left != h.member.UserID {
		t.Errorf("the workspaces of %q were ended", left)
	}
	if asked != h.member.UserID {
		t.Errorf("the chats of %q were removed", asked)
	}
}

func TestOwnPassword(t *testing.T) {
	h := open(t)
	change := func(p chat.Principal, current, password string) error {
		return errOf(h.g.ChangePassword(t.Context(), p, ChangePasswordInput{Current: current, Password: password}))
	}
	here, err := h.in(cookie(h.session(h.member)))
	h.must(err)
	elsewhere := h.session(h.member)
	wantKind(t, change(here, "", ""), chat.KindInvalid)
	wantKind(t, change(here, "", "short"), chat.KindInvalid)
	h.must(change(here, "", good))
	wantKind(t, errOf(h.in(cookie(elsewhere))), chat.KindUnauthenticated)
	h.must(h.signIn(Visitor{}, "mia", good))
	wantKind(t, change(here, "", "another long secret"), chat.KindInvalid)
	h.must(change(here, good, "another long secret"))
	wantKind(t, h.signIn(Visitor{Source: "x"}, "mia", good), chat.KindUnauthenticated)
	h.must(h.signIn(Visitor{}, "mia", "another long secret"))
	for range triesName {
		wantKind(t, change(here, "wrong", good), chat.KindInvalid)
	}
	wantKind(t, change(here, "another long secret", good), chat.KindRateLimited)
	readOnly := here
	readOnly.ReadOnly = true
	wantKind(t, change(readOnly, "another long secret", good), chat.KindForbidden)
	// An admin sets another one, which signs out everywhere, or takes it away.
	none, fresh := "", "what the admin says"
	h.must(errOf(h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Password: &fresh})))
	h.must(h.signIn(Visitor{Source: "z"}, "mia", fresh))
	out, err := h.g.UpdateUser(t.Context(), h.owner, UpdateUserInput{ID: h.member.UserID, Password: &none})
	h.must(err)
	if out.HasPassword {
		t.Error("the password is still there")
	}
	wantKind(t, h.signIn(Visitor{Source: "w"}, "mia", fresh), chat.KindUnauthenticated)
}
