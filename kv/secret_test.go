package kv

import (
	"context"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestSecretsAreKeptByName(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	config := chat.ModelConfig{ID: newID[chat.ModelConfigID]()}
	name := ModelConfigSecret(config.ID)
	update(t, s, func(tx *Tx) error {
		if err := tx.PutModelConfig(&config); err != nil {
			return err
		}
		return tx.PutSecret(name, []byte{1, 2, 3})
	})
	view(t, s, func(tx *Tx) error {
		got, found, err := tx.Secret(name)
		if string(got) != "\x01\x02\x03" || !found {
			t.Errorf("%x, %v", got, found)
		}
		if _, found, _ := tx.Secret("check"); found {
			t.Error("a secret that was never put is there")
		}
		return err
	})
	update(t, s, func(tx *Tx) error {
		if err := tx.PutSecret("", []byte{1}); err == nil {
			t.Error("a secret without a name was taken")
		}
		return tx.PutSecret(name, nil)
	})
	view(t, s, func(tx *Tx) error {
		_, found, err := tx.Secret(name)
		if found {
			t.Error("a removed secret is there")
		}
		return err
	})
}

func TestCheckFindsStraySecrets(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	stray := ModelConfigSecret(newID[chat.ModelConfigID]())
	for _, c := range []struct{ name, want string }{
		{stray, "a model config that is gone"},
		{"modelconfig/nobody", "no id"},
	} {
		update(t, s, func(tx *Tx) error { return tx.PutSecret(c.name, []byte{1}) })
		if found := checkText(t, s); !strings.Contains(found, c.want) {
			t.Errorf("%s: the check says %q", c.name, found)
		}
		update(t, s, func(tx *Tx) error { return tx.PutSecret(c.name, nil) })
	}
	update(t, s, func(tx *Tx) error { return tx.PutSite(secretPrefix+"check", []byte{}) })
	if found := checkText(t, s); !strings.Contains(found, "empty") {
		t.Errorf("the check says %q", found)
	}
	update(t, s, func(tx *Tx) error { return tx.PutSecret("check", nil) })
}

func checkText(t *testing.T, s *Store) string {
	t.Helper()
	found, err := s.Check(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, d := range found {
		out.WriteString(d.String() + "\n")
	}
	return out.String()
}
