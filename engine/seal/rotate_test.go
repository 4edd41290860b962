package seal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

const (
	pushID   chat.PushID = "0190a000-0000-7000-8000-000000000001"
	pushUser chat.UserID = "0190a000-0000-7000-8000-000000000002"
)

// sealedStore is a data directory with its key and three secrets; the last one is sealed under a lost key.
type sealedStore struct {
	dir   string
	store *kv.Store
}

func newSealedStore(t *testing.T) (*sealedStore, *seal.Key) {
	t.Helper()
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	s := &sealedStore{dir: t.TempDir(), store: kvtest.Open(t)}
	k := s.start(t)
	s.put(t, k, "one")
	s.put(t, k, "two")
	s.put(t, newKey(t, 77), "lost")
	err := s.store.Update(t.Context(), func(tx *kv.Tx) error {
		return errors.Join(tx.PutPushSubscription(&chat.PushSubscription{ID: pushID, UserID: pushUser, Name: "phone", Sealed: k.Seal(kv.PushSecret(pushID), chat.NewSecret(canary))}),
			tx.PutSite("push_vapid", map[string]any{"public": "p", "sealed": k.Seal("push_vapid", chat.NewSecret(canary))}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, k
}

// start is what the appliance does at its start.
func (s *sealedStore) start(t *testing.T) *seal.Key {
	t.Helper()
	k, made, err := seal.Load(s.dir)
	if err == nil {
		err = errors.Join(k.Prove(t.Context(), s.store, made), seal.Settle(s.dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *sealedStore) put(t *testing.T, k *seal.Key, name string) {
	t.Helper()
	if err := s.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutSecret(name, k.Seal(name, chat.NewSecret(canary+name))) }); err != nil {
		t.Fatal(err)
	}
}

// opens says whether one key alone opens all secrets but the lost one.
func (s *sealedStore) opens(t *testing.T, k *seal.Key) bool {
	t.Helper()
	all := true
	err := s.store.View(t.Context(), func(tx *kv.Tx) error {
		for _, name := range []string{"one", "two", "lost"} {
			sealed, found, err := tx.Secret(name)
			if err != nil || !found {
				t.Fatal(name, found, err)
			}
			got, err := k.Open(name, sealed)
			if name == "lost" {
				if err == nil {
					t.Error("the lost secret came back")
				}
				continue
			}
			all = all && err == nil && got.Reveal() == canary+name
		}
		p, _, err := tx.PushSubscription(pushUser, pushID)
		if err != nil {
			return err
		}
		address, wrong := k.Open(kv.PushSecret(pushID), p.Sealed)
		all = all && wrong == nil && address.Reveal() == canary && p.Name == "phone"
		var vapid struct {
			Public string
			Sealed []byte
		}
		if _, err := tx.Site("push_vapid", &vapid); err != nil {
			return err
		}
		private, wrong := k.Open("push_vapid", vapid.Sealed)
		all = all && wrong == nil && private.Reveal() == canary && vapid.Public == "p"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *sealedStore) file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// isSettled: one key in one file opens everything, at the next start too.
func (s *sealedStore) isSettled(t *testing.T, before []byte) {
	t.Helper()
	s.start(t)
	raw := s.file(t, seal.FileName)
	if s.file(t, seal.FileName+".new") != nil || bytes.Equal(raw, before) {
		t.Fatal("the new key is not in place")
	}
	alone, err := seal.New(raw)
	if err != nil || !s.opens(t, alone) {
		t.Errorf("the key in the file does not open everything: %v", err)
	}
	if err := alone.Prove(t.Context(), s.store, false); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(s.dir, seal.FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAKeyIsChangedWhileItIsUsed(t *testing.T) {
	s, k := newSealedStore(t)
	before := s.file(t, seal.FileName)
	room := seal.NewRoom(k, s.dir, s.store)
	for range 2 {
		out, err := room.Rotate(t.Context(), chat.Principal{}, seal.RotateInput{})
		if err != nil || out.Secrets != 3 {
			t.Fatal(out, err)
		}
		// The rooms hold the same Key and go on with it.
		if !s.opens(t, k) {
			t.Error("the key in use does not open everything")
		}
		old, err := seal.New(before)
		if err != nil || s.opens(t, old) {
			t.Errorf("the old key still opens: %v", err)
		}
		s.put(t, k, "two")
		s.isSettled(t, before)
		before = s.file(t, seal.FileName)
	}
}

// A kill leaves the disk as it is after one of the steps; each start goes on from there.
func TestAChangeOfTheKeySurvivesAKillAtEachStep(t *testing.T) {
	fresh := bytes.Repeat([]byte{42}, seal.KeySize)
	next, err := seal.New(fresh)
	if err != nil {
		t.Fatal(err)
	}
	for name, killed := range map[string]func(t *testing.T, s *sealedStore){
		"while the new key is written": func(t *testing.T, s *sealedStore) {
			if err := os.WriteFile(filepath.Join(s.dir, seal.FileName+".new.123.tmp"), fresh[:5], 0o600); err != nil {
				t.Fatal(err)
			}
			k := s.start(t)
			if !s.opens(t, k) {
				t.Fatal("the old key is not valid any more")
			}
			if _, err := seal.NewRoom(k, s.dir, s.store).Rotate(t.Context(), chat.Principal{}, seal.RotateInput{}); err != nil {
				t.Fatal(err)
			}
		},
		"before anything is sealed anew": func(*testing.T, *sealedStore) {},
		"after a secret came under the new key": func(t *testing.T, s *sealedStore) {
			s.put(t, next, "two")
		},
		"before the new key is in place": func(t *testing.T, s *sealedStore) {
			k, _, err := seal.Load(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Prove(t.Context(), s.store, false); err != nil || !s.opens(t, next) {
				t.Fatal("not sealed anew", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newSealedStore(t)
			before := s.file(t, seal.FileName)
			if name != "while the new key is written" {
				if err := os.WriteFile(filepath.Join(s.dir, seal.FileName+".new"), fresh, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			killed(t, s)
			s.isSettled(t, before)
		})
	}
}

func TestACredentialIsChangedWithTheOneBefore(t *testing.T) {
	s, k := newSealedStore(t)
	credentials := t.TempDir()
	old, fresh := s.file(t, seal.FileName), bytes.Repeat([]byte{9}, seal.KeySize)
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	for name, raw := range map[string][]byte{seal.FileName: fresh, seal.FileName + ".old": old} {
		if err := os.WriteFile(filepath.Join(credentials, name), raw, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	var refused *chat.Error
	if _, err := seal.NewRoom(k, s.dir, s.store).Rotate(t.Context(), chat.Principal{}, seal.RotateInput{}); !errors.As(err, &refused) || refused.Kind != chat.KindWrongState {
		t.Errorf("a credential was changed by us: %v", err)
	}
	s.start(t)
	alone := newKey(t, 9)
	if !s.opens(t, alone) {
		t.Error("not everything is sealed under the new credential")
	}
	if err := os.Remove(filepath.Join(credentials, seal.FileName+".old")); err != nil {
		t.Fatal(err)
	}
	s.start(t)
}

func TestASecretIsKnownToTheSinkFromTheStart(t *testing.T) {
	s, k := newSealedStore(t)
	var f seal.Filter
	if err := k.Hide(t.Context(), s.store, &f); err != nil {
		t.Fatal(err)
	}
	if got := f.Clean(canary + "one and " + canary + "two"); got != "*** and ***" {
		t.Error(got)
	}
	// The address of a browser and the key for push services are sealed beside the other secrets.
	if got := f.Clean("push to " + canary + "!"); got != "push to ***!" {
		t.Error(got)
	}
}

// What is secret in a sealed record is known by itself; what says whose it is, and where it is good, can still be written.
func TestWhatIsSecretInARecordIsKnownToTheSinkFromTheStart(t *testing.T) {
	s, k := newSealedStore(t)
	records := map[string]string{
		"mcp/1/user/2":         `{"access":"an-access-token","refresh":"a-refresh-token","endpoint":"https://auth.example/token","client":"made-client"}`,
		"mcp/1/oauth2_clients": `[{"id":"made-client","secret":"the-clients-secret","redirect":"https://here.example/callback","token":"https://auth.example/token"}]`,
		"mcp/1/custom_headers": `{"X-Key":"the-value-of-a-header"}`,
		"signin/1":             `{"user":"0190a000-0000-7000-8000-000000000002","verifier":"the-verifier-of-it","redirect":"https://here.example/callback"}`,
	}
	err := s.store.Update(t.Context(), func(tx *kv.Tx) error {
		for name, text := range records {
			if err := tx.PutSecret(name, k.Seal(name, chat.NewSecret(text))); err != nil {
				return err
			}
		}
		return tx.PutPushSubscription(&chat.PushSubscription{ID: pushID, UserID: pushUser, Name: "phone",
			Sealed: k.Seal(kv.PushSecret(pushID), chat.NewSecret(`{"endpoint":"https://push.example/a-browser","auth":"the-auth-secret","p256dh":"public-of-a-browser"}`))})
	})
	var f seal.Filter
	if err = errors.Join(err, k.Hide(t.Context(), s.store, &f)); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"an-access-token", "a-refresh-token", "the-clients-secret", "the-value-of-a-header", "the-verifier-of-it", "https://push.example/a-browser", "the-auth-secret"} {
		if got := f.Clean("<" + secret + ">"); got != "<***>" {
			t.Error(got)
		}
	}
	const plain = "made-client at https://auth.example/token, back to https://here.example/callback, for 0190a000-0000-7000-8000-000000000002"
	if got := f.Clean(plain); got != plain {
		t.Error(got)
	}
}
