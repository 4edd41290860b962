package account

import (
	"slices"
	"testing"

	"holdfast/kv"
)

// TestSignOutEndsWhatWasBegunElsewhere: who uses the browser next ends no sign-in at an MCP server in the name of the one before.
func TestSignOutEndsWhatWasBegunElsewhere(t *testing.T) {
	h := open(t)
	mine, theirs := kv.SignInSecret("9999999999/"+string(h.member.UserID)+"/ab"), kv.SignInSecret("9999999999/"+string(h.owner.UserID)+"/cd")
	kept := kv.SignInSecret("note")
	h.must(h.store.Update(t.Context(), func(tx *kv.Tx) error {
		for _, name := range []string{mine, theirs, kept} {
			if err := tx.PutSecret(name, []byte("sealed")); err != nil {
				return err
			}
		}
		return nil
	}))
	p, err := h.in(cookie(h.session(h.member)))
	h.must(err)
	h.must(h.room.SignOut(t.Context(), p))
	var left []string
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) (err error) {
		left, err = tx.SignInSecrets()
		return err
	}))
	if slices.Contains(left, mine) || !slices.Contains(left, theirs) || !slices.Contains(left, kept) {
		t.Errorf("left: %v", left)
	}
}
