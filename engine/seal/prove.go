package seal

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// checkName is the name of the test record.
const checkName = "check"

// checkText is what stands in it.
const checkText = "this key opens the secrets of this store"

// ErrWrongKey says that the store's secrets were sealed under another key.
var ErrWrongKey = errors.New("secret.key is not the key of this store: put the right one back, or move it away to start with a new " +
	"one and enter the secrets again")

// Prove opens the store's test record, and writes it where there is none. A key that was made just now (made) replaces it: the store came
// back without its key, so its secrets must be entered again. ErrWrongKey says that the key is another one. Where there is a key
// before, everything is sealed anew; Settle then puts the files right.
func (k *Key) Prove(ctx context.Context, store *kv.Store, made bool) error {
	var sealed []byte
	var found bool
	err := store.View(ctx, func(tx *kv.Tx) (err error) {
		sealed, found, err = tx.Secret(checkName)
		return err
	})
	if err != nil {
		return err
	}
	if found && !made {
		if _, err := k.Open(checkName, sealed); err != nil {
			return ErrWrongKey
		}
		return k.reseal(ctx, store, untold)
	}
	return store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSecret(checkName, k.Seal(checkName, chat.NewSecret(checkText))) })
}

// Hide makes all that is sealed in the store known to f, so that it is taken out of what is written from the first line on.
func (k *Key) Hide(ctx context.Context, store *kv.Store, f *Filter) error {
	return store.View(ctx, func(tx *kv.Tx) error {
		// It replaces nothing where nothing comes back.
		return tx.ReplaceSealed(func(name string, sealed []byte) []byte {
			// One that was sealed under a lost key cannot be used either.
			if secret, err := k.Open(name, sealed); err == nil && name != checkName {
				f.AddRecord(name, secret)
			}
			return nil
		})
	})
}
