package seal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// How a key is changed, so that a kill at any instant leaves secrets that open at the next start:
//
//  1. the new key is written as secret.key.new; from here on Load gives both;
//  2. one transaction seals everything anew, the test record too;
//  3. secret.key.new is renamed to secret.key; the key before is gone.
//
// A start that finds secret.key.new goes on with 2 and 3.

// reseal seals what stands under the key before anew, in one transaction. What opens under neither key stays as it is.
func (k *Key) reseal(ctx context.Context, store *kv.Store, at func(step string)) error {
	if k.ring.Load().before == nil {
		return nil
	}
	return store.Update(ctx, func(tx *kv.Tx) error {
		err := tx.ReplaceSealed(func(name string, sealed []byte) []byte {
			s, old, err := k.open(name, sealed)
			if err != nil || !old {
				return nil
			}
			return k.Seal(name, s)
		})
		at("in the transaction")
		return err
	})
}

// Settle ends a change of the key in dir that was begun, once Prove has sealed everything anew. Without one it does nothing.
func Settle(dir string) error {
	err := os.Rename(filepath.Join(dir, nextName), filepath.Join(dir, FileName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("seal: put the new key in place: %w", err)
	}
	return syncDir(dir)
}

// Room changes the key of one data directory. Its methods may be called from any goroutine.
type Room struct {
	key   *Key
	dir   string
	store *kv.Store
	// at is told of each step of a change.
	at func(step string)
	// mu lets one change run at a time.
	mu sync.Mutex
}

func untold(string) {}

// NewRoom gives the Room of the key that Load gave for dir, over the store that it was proved against.
func NewRoom(key *Key, dir string, store *kv.Store) *Room {
	return &Room{key: key, dir: dir, store: store, at: untold}
}

// RotateInput asks for a new key.
type RotateInput struct{}

// RotateOutput says how many secrets are sealed under the new key.
type RotateOutput struct{ Secrets int }

// Rotate makes a new key and seals all secrets under it, in one go. The key before stays valid until that is done. KindWrongState when
// the key is the service manager's.
func (r *Room) Rotate(ctx context.Context, _ chat.Principal, _ RotateInput) (RotateOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if given := os.Getenv("CREDENTIALS_DIRECTORY"); given != "" {
		if _, err := os.Stat(filepath.Join(given, FileName)); err == nil {
			return RotateOutput{}, &chat.Error{Kind: chat.KindWrongState, Message: "The key comes from the service manager.",
				Detail: "Give it the new key as secret.key and the one before as secret.key.old, and restart: the secrets are sealed anew then."}
		}
	}
	r.at("begun")
	next := filepath.Join(r.dir, nextName)
	if _, err := os.Stat(next); errors.Is(err, os.ErrNotExist) {
		if _, err := writeKey(r.dir, nextName); err != nil {
			return RotateOutput{}, err
		}
	}
	r.at("the new key is written")
	// A change that failed in the middle is gone on with: some secrets may stand under that key already.
	fresh, err := readKey(next)
	if err != nil {
		return RotateOutput{}, err
	}
	now, was := fresh.ring.Load().now, r.key.ring.Load()
	before := was.now
	if was.before != nil {
		before = was.before
	}
	r.key.ring.Store(&ring{now: now, before: before})
	if err := r.key.reseal(ctx, r.store, r.at); err != nil {
		return RotateOutput{}, err
	}
	r.at("sealed anew")
	if err := Settle(r.dir); err != nil {
		return RotateOutput{}, err
	}
	r.at("in place")
	r.key.ring.Store(&ring{now: now})
	var names []string
	err = r.store.View(ctx, func(tx *kv.Tx) (err error) {
		names, err = tx.SecretNames()
		return err
	})
	// The test record is none of a person.
	return RotateOutput{Secrets: max(len(names)-1, 0)}, err
}
