package seal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

const canary = `sk-canary-"0123456789\tail`

func newKey(t *testing.T, fill byte) *seal.Key {
	t.Helper()
	k, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhatIsSealedOpensUnderItsNameAndKeyOnly(t *testing.T) {
	k := newKey(t, 1)
	sealed := k.Seal("modelconfig/a", chat.NewSecret(canary))
	if bytes.Contains(sealed, []byte("canary")) {
		t.Fatal("the secret is readable")
	}
	if got, err := k.Open("modelconfig/a", sealed); err != nil || got.Reveal() != canary {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := k.Open("modelconfig/b", sealed); !errors.Is(err, seal.ErrNotOpened) {
		t.Errorf("moved to another record: %v", err)
	}
	if _, err := newKey(t, 2).Open("modelconfig/a", sealed); !errors.Is(err, seal.ErrNotOpened) {
		t.Errorf("another key: %v", err)
	}
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		if _, err := k.Open("modelconfig/a", broken); !errors.Is(err, seal.ErrNotOpened) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := k.Open("modelconfig/a", sealed[:i]); !errors.Is(err, seal.ErrNotOpened) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if again := k.Seal("modelconfig/a", chat.NewSecret(canary)); bytes.Equal(again, sealed) {
		t.Error("the same nonce twice")
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	k := newKey(t, 'K')
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for _, v := range []any{k, struct{ k *seal.Key }{k}, *k, struct{ k seal.Key }{*k}} {
			got := fmt.Sprintf(format, v)
			if strings.Contains(got, "KKKK") || strings.Contains(got, "4b4b4b4b") || strings.Contains(got, "75 75 75") {
				t.Errorf("%s prints %q", format, got)
			}
		}
	}
}

func TestLoadMakesAKeyOnceAndKeepsItNarrow(t *testing.T) {
	dir := t.TempDir()
	first, made, err := seal.Load(dir)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	path := filepath.Join(dir, seal.FileName)
	info, err := os.Stat(path)
	if err != nil || info.Size() != seal.KeySize || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	again, made, err := seal.Load(dir)
	if err != nil || made {
		t.Fatal(made, err)
	}
	sealed := first.Seal("x", chat.NewSecret(canary))
	if _, err := again.Open("x", sealed); err != nil {
		t.Errorf("the second start has another key: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := seal.Load(dir); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("a key of 5 bytes: %v", err)
	}
}

func TestLoadPrefersTheCredential(t *testing.T) {
	credentials, dir := t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	if _, made, err := seal.Load(dir); err != nil || !made {
		t.Fatalf("without one of that name: %v %v", made, err)
	}
	raw := bytes.Repeat([]byte{9}, seal.KeySize)
	if err := os.WriteFile(filepath.Join(credentials, seal.FileName), raw, 0o400); err != nil {
		t.Fatal(err)
	}
	k, made, err := seal.Load(dir)
	if err != nil || made {
		t.Fatal(made, err)
	}
	if _, err := k.Open("x", newKey(t, 9).Seal("x", chat.NewSecret(canary))); err != nil {
		t.Errorf("it is not the credential's key: %v", err)
	}
}

func TestProveFindsAWrongKeyAtTheStart(t *testing.T) {
	ctx := context.Background()
	store := kvtest.Open(t)
	right, wrong := newKey(t, 1), newKey(t, 2)
	for range 2 {
		if err := right.Prove(ctx, store, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := wrong.Prove(ctx, store, false); !errors.Is(err, seal.ErrWrongKey) {
		t.Fatalf("%v", err)
	}
	if err := right.Prove(ctx, store, false); err != nil {
		t.Fatalf("a refused key changed the store: %v", err)
	}
	// A store that came back without its key gets a new one; the old secrets stay closed.
	if err := wrong.Prove(ctx, store, true); err != nil {
		t.Fatal(err)
	}
	if err := wrong.Prove(ctx, store, false); err != nil {
		t.Errorf("the new key is not known at the next start: %v", err)
	}
}

func TestProveFindsATestRecordThatWasChanged(t *testing.T) {
	ctx := context.Background()
	store := kvtest.Open(t)
	k := newKey(t, 1)
	err := store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSecret("check", k.Seal("other", chat.NewSecret("x"))) })
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Prove(ctx, store, false); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("%v", err)
	}
}

func TestFilterTakesSecretsOutOfEveryLog(t *testing.T) {
	var f seal.Filter
	var out bytes.Buffer
	logs := []*slog.Logger{slog.New(f.Handler(slog.NewTextHandler(&out, nil))), slog.New(f.Handler(slog.NewJSONHandler(&out, nil)))}
	logs[0].Info("before", "key", "none is known yet")
	f.Add(chat.NewSecret("short"))
	f.Add(chat.NewSecret("sk-canary"))
	f.Add(chat.NewSecret(canary))
	for _, log := range logs {
		log.With("with", canary).WithGroup("g").Error("message "+canary, "text", canary, "error", fmt.Errorf("upstream said: %s", canary),
			"map", map[string]string{"k": canary}, canary, "as a key", slog.Group("inner", "k", canary), "bytes", json.RawMessage(`"sk-canary"`),
			"struct", &struct{ K *string }{ptr(canary)}, "lazy", lazy{}, "number", 7)
		log.WithGroup(canary).Info("in a group", "k", 1)
	}
	if got := out.String(); strings.Contains(got, "canary") || strings.Contains(got, "0123456789") || strings.Count(got, "***") < 18 || !strings.Contains(got, "none is known yet") {
		t.Errorf("%s", got)
	}
	if got := f.Clean("a short sk-canary word"); got != "a short *** word" {
		t.Errorf("%q", got)
	}
}

func ptr(s string) *string { return &s }

// lazy is a value that is only made when it is written.
type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue(canary) }

// TestSecretsThatComeAndGo: an appliance whose people sign in elsewhere for months does not know every token that there was, but what is in use.
func TestSecretsThatComeAndGo(t *testing.T) {
	var f seal.Filter
	token := func(i int) string { return fmt.Sprintf("a-token-of-an-hour-%06d.", i) }
	const all, stays = 4400, "a-key-that-was-given-once"
	f.AddPassing(chat.NewSecret(stays))
	f.Add(chat.NewSecret(stays))
	for i := range all {
		f.AddPassing(chat.NewSecret(token(i)))
		if i%100 == 0 {
			f.AddPassing(chat.NewSecret(canary))
		}
	}
	if got := f.Clean(token(0)); got != token(0) {
		t.Errorf("the oldest is still known: %s", got)
	}
	if got := f.Clean(token(all-1) + canary + stays); got != "*********" {
		t.Errorf("what is in use shows: %s", got)
	}
}
