package account

import (
	"context"
	"errors"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

type asks struct{ User chat.UserID }

func (asks) AuditFacts() map[string]string { return map[string]string{"word": "said"} }

// The policy decides what is recorded; the commit of the command takes it along, and only what no commit took is given on.
func TestRunRecordsByThePolicy(t *testing.T) {
	store := kvtest.Open(t)
	me := chat.Principal{UserID: chat.UserID(newID()), Name: "Ada", Role: chat.UserAdmin, TokenID: chat.TokenID(newID())}
	g := NewGuard(Owners{}, metric.New())
	var given []chat.Audit
	g.AuditTo(func(_ context.Context, a chat.Audit) { given = append(given, a) })
	changes := func(ctx context.Context, _ chat.Principal, _ asks) (int, error) {
		return 0, store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite("x", 1) })
	}
	looks := func(context.Context, chat.Principal, asks) (int, error) { return 0, nil }
	fails := func(ctx context.Context, p chat.Principal, in asks) (int, error) {
		_, err := changes(ctx, p, in)
		return 0, errors.Join(err, errors.New("in the middle"))
	}
	refuses := func(context.Context, chat.Principal, asks) (int, error) { return 0, chat.Invalid("x", "no") }
	self := SelfWrites(func(in asks) chat.UserID { return in.User })
	for name, c := range map[string]struct {
		policy Policy[asks]
		run    func(context.Context, chat.Principal, asks) (int, error)
		// stored and given are how many records the commit takes along, and how many come afterwards.
		stored, given int
		failed        bool
	}{
		"an admin changes":        {AdminWrites[asks](), changes, 1, 0, false},
		"an admin changes beyond": {AdminWrites[asks](), looks, 0, 1, false},
		"half done":               {AdminWrites[asks](), fails, 1, 1, true},
		"refused":                 {AdminWrites[asks](), refuses, 0, 0, false},
		"an admin looks":          {Admin[asks](), changes, 0, 0, false},
		"anybody changes":         {AnyoneWrites[asks](), changes, 0, 0, false},
		"it says so itself":       {AnyoneWrites[asks]().Audited(), changes, 1, 0, false},
		"about a person":          {self, changes, 1, 0, false},
		"only for some inputs":    {All(AnyoneWrites[asks](), AdminWritesIf(func(asks) bool { return false })), changes, 0, 0, false},
		"for this input":          {All(AnyoneWrites[asks](), AdminWritesIf(func(asks) bool { return true })), changes, 1, 0, false},
		"one of several says so":  {All(AnyoneWrites[asks](), AnyoneWrites[asks]().Audited()), changes, 1, 0, false},
		"nobody may":              {Policy[asks]{}, changes, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			given = nil
			before := records(t, store)
			ctx := chat.WithCaller(t.Context(), chat.Caller{Source: "192.0.2.7", RequestID: "r1"})
			_, _ = Run(ctx, g, "test.Do", c.policy, me, asks{User: me.UserID}, c.run)
			all := records(t, store)
			if len(all)-len(before) != c.stored || len(given) != c.given {
				t.Fatalf("%d stored, %d given", len(all)-len(before), len(given))
			}
			for _, a := range given {
				if a.Failed != c.failed || a.Action != "test.Do" {
					t.Errorf("%+v", a)
				}
			}
			if c.stored == 0 {
				return
			}
			a := all[0]
			if a.UserName != "Ada" || a.UserID != me.UserID || a.TokenID != me.TokenID || a.Source != "192.0.2.7" || a.RequestID != "r1" || a.Facts["word"] != "said" {
				t.Errorf("%+v", a)
			}
			if name == "about a person" && a.Object != string(me.UserID) {
				t.Errorf("about %q", a.Object)
			}
		})
	}
}

// TestACommandIsRecordedOnce: the commit that writes the record of a command that changed nothing in the store does not take it along again.
func TestACommandIsRecordedOnce(t *testing.T) {
	store := kvtest.Open(t)
	g := NewGuard(Owners{}, metric.New())
	g.AuditTo(func(ctx context.Context, a chat.Audit) {
		if err := store.Update(context.WithoutCancel(ctx), func(tx *kv.Tx) error { return tx.AppendAudit(a) }); err != nil {
			t.Error(err)
		}
	})
	me := chat.Principal{UserID: "01a202e6-f9bc-7353-bcbc-627e81d84d24", Name: "Ada", Role: chat.UserAdmin}
	_, err := Run(t.Context(), g, "test.Do", AdminWrites[asks](), me, asks{}, func(context.Context, chat.Principal, asks) (int, error) { return 0, nil })
	if all := records(t, store); err != nil || len(all) != 1 {
		t.Errorf("%d records, %v", len(all), err)
	}
}

func records(t *testing.T, store *kv.Store) []kv.AuditLink {
	t.Helper()
	var all []kv.AuditLink
	err := store.View(t.Context(), func(tx *kv.Tx) (err error) {
		all, err = tx.Audits(0, 100)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
