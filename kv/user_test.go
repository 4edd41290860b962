package kv

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestPasswordsStayWithTheirPerson: a person who is written without their password keeps it, and one who is removed leaves no credential.
func TestPasswordsStayWithTheirPerson(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	u, other := &chat.User{ID: newID[chat.UserID](), Name: "mia", Role: chat.UserMember}, &chat.User{ID: newID[chat.UserID](), Name: "jo"}
	hash := func(text string) []byte { h := sha256.Sum256([]byte(text)); return h[:] }
	session, token := newID[chat.SessionID](), newID[chat.TokenID]()
	kept := &chat.Session{ID: newID[chat.SessionID](), UserID: u.ID, Hash: hash("kept")}
	update(t, s, func(tx *Tx) error {
		for _, err := range []error{tx.PutUser(u), tx.PutUser(other), tx.PutPasswordHash(u.ID, "a hash"), tx.PutSession(kept),
			tx.PutSession(&chat.Session{ID: session, UserID: u.ID, Hash: hash("s")}), tx.PutToken(&chat.Token{ID: token, UserID: u.ID, Hash: hash("t")}),
			tx.PutSession(&chat.Session{ID: newID[chat.SessionID](), UserID: other.ID, Hash: hash("o")}),
			tx.PutLoginCode(&chat.LoginCode{Hash: hash("c"), UserID: u.ID, ExpiresAt: time.Now().Add(time.Hour)})} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	u.Role, u.Disabled = chat.UserAdmin, true
	update(t, s, func(tx *Tx) error { return tx.PutUser(u) })
	view(t, s, func(tx *Tx) error {
		got, err := tx.PasswordHash(u.ID)
		if got != "a hash" {
			t.Errorf("the password is %q after the person was written", got)
		}
		back, _, err2 := tx.User(u.ID)
		if back.Role != chat.UserAdmin || !back.Disabled {
			t.Errorf("the person is %+v", back)
		}
		if err == nil {
			err = err2
		}
		return err
	})
	u.Disabled = false
	var ended []string
	update(t, s, func(tx *Tx) (err error) {
		if err = tx.PutUser(u); err != nil {
			return err
		}
		if ended, err = tx.DeleteSignIns(u.ID, kept.ID); err != nil {
			return err
		}
		return tx.PutPasswordHash(u.ID, "")
	})
	if !slices.Equal(ended, []string{string(session)}) {
		t.Errorf("ended %v, want the session that is not kept", ended)
	}
	view(t, s, func(tx *Tx) error {
		got, err := tx.PasswordHash(u.ID)
		code, err2 := tx.HasLoginCode(hash("c"))
		if got != "" || code || err2 != nil {
			t.Errorf("password %q, code %v, %v", got, code, err2)
		}
		return err
	})
	update(t, s, func(tx *Tx) (err error) { ended, err = tx.DeleteUser(u.ID); return err })
	if !slices.Equal(ended, []string{string(kept.ID), string(token)}) {
		t.Errorf("removing ended %v", ended)
	}
	view(t, s, func(tx *Tx) error {
		if _, found, err := tx.User(u.ID); found || err != nil {
			t.Errorf("the person is still there: %v", err)
		}
		left, err := tx.Sessions(other.ID)
		if len(left) != 1 {
			t.Errorf("somebody else has %d sessions, want 1", len(left))
		}
		return err
	})
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutPasswordHash(u.ID, "x") }); err == nil {
		t.Error("somebody who is gone got a password")
	}
}
