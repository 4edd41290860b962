package seal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
)

// killedDir and killedStep make this program the child that is killed: where it changes the key, and at which step it waits for that.
const (
	killedDir  = "SEAL_TEST_DIR"
	killedStep = "SEAL_TEST_STEP"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedDir); dir != "" {
		if err := rotateUntilKilled(dir, os.Getenv(killedStep)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// rotateUntilKilled changes the key again and again. It says each step, and stays at the one that is named.
func rotateUntilKilled(dir, step string) error {
	ctx := context.Background()
	store, err := kv.Open(ctx, dir, kv.Options{})
	if err != nil {
		return err
	}
	k, made, err := seal.Load(dir)
	if err == nil {
		err = errors.Join(k.Prove(ctx, store, made), seal.Settle(dir))
	}
	if err != nil {
		return err
	}
	room := seal.NewRoom(k, dir, store)
	room.At(func(now string) {
		fmt.Println(now)
		if now == step {
			select {}
		}
	})
	for {
		if _, err := room.Rotate(ctx, chat.Principal{}, seal.RotateInput{}); err != nil {
			return err
		}
	}
}

// killedAt runs the child until it has said a step for the nth time, kills it and waits for its end.
func killedAt(t *testing.T, dir, stay, step string, n int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killedDir+"="+dir, killedStep+"="+stay)
	var said strings.Builder
	child.Stderr = &said
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); n > 0 && lines.Scan(); {
		if lines.Text() == step {
			n--
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, out)
	// That it was killed is its only error.
	_ = child.Wait()
	if n > 0 {
		t.Fatalf("the child did not come to %q: %s", step, said.String())
	}
}

// wholeAfterKill opens the store as a start does: one key reads every secret.
func wholeAfterKill(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	store, err := kv.Open(t.Context(), dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	k, made, err := seal.Load(dir)
	if err == nil {
		err = errors.Join(k.Prove(t.Context(), store, made), seal.Settle(dir))
	}
	if err != nil || made {
		t.Fatal(made, err)
	}
	raw, err := os.ReadFile(dir + "/" + seal.FileName)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := seal.New(raw)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	err = store.View(t.Context(), func(tx *kv.Tx) error {
		return tx.ReplaceSealed(func(name string, sealed []byte) []byte {
			s, err := alone.Open(name, sealed)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			read[name] = s.Reveal()
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if read[name] != text {
			t.Errorf("%s is %q", name, read[name])
		}
	}
	if _, err := os.Stat(dir + "/" + seal.FileName + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new key is still beside the one in use: %v", err)
	}
}

// sealedDir is a data directory with a key and secrets of each kind.
func sealedDir(t *testing.T) (dir string, want map[string]string) {
	t.Helper()
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	dir, want = t.TempDir(), map[string]string{"push_vapid": canary, kv.PushSecret(pushID): canary}
	store, err := kv.Open(t.Context(), dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, made, err := seal.Load(dir)
	if err == nil {
		err = k.Prove(t.Context(), store, made)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(t.Context(), func(tx *kv.Tx) error {
		for i := range 40 {
			name := fmt.Sprintf("secret %d", i)
			want[name] = canary + name
			if err := tx.PutSecret(name, k.Seal(name, chat.NewSecret(want[name]))); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutPushSubscription(&chat.PushSubscription{ID: pushID, UserID: pushUser, Name: "phone", Sealed: k.Seal(kv.PushSecret(pushID), chat.NewSecret(canary))}),
			tx.PutSite("push_vapid", map[string]any{"public": "p", "sealed": k.Seal("push_vapid", chat.NewSecret(canary))}))
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// A program that changes the key is killed at each step: the next start opens the store with one of the two keys, and every secret reads.
func TestAProgramThatChangesTheKeyIsKilledAtEachStep(t *testing.T) {
	for _, step := range []string{"begun", "the new key is written", "in the transaction", "sealed anew", "in place"} {
		t.Run(step, func(t *testing.T) {
			dir, want := sealedDir(t)
			for range 2 {
				killedAt(t, dir, step, step, 1)
				wholeAfterKill(t, dir, want)
			}
		})
	}
}

// Kills that fall where they may, one after the other in the same directory.
func TestAProgramThatChangesTheKeyIsKilledAnywhere(t *testing.T) {
	dir, want := sealedDir(t)
	for i := range 8 {
		killedAt(t, dir, "", []string{"begun", "the new key is written", "in the transaction", "sealed anew", "in place"}[i%5], i/2+1)
		wholeAfterKill(t, dir, want)
	}
}
