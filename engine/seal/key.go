package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"holdfast/engine/chat"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// version is the first byte of what is sealed.
const version = 1

// ErrNotOpened says that sealed bytes do not open: another key, another name, or bytes that were changed.
var ErrNotOpened = errors.New("seal: the secret cannot be opened with this key")

// Key seals secrets. It is safe for concurrent use. While secrets are sealed anew it also opens what stands under the key before. Seal
// inside of the transaction that stores what it gives: then nothing that is sealed under the key before comes after the sealing anew.
type Key struct {
	// A pointer, as fmt would print the bytes of the ciphers.
	ring *atomic.Pointer[ring]
}

// ring holds the cipher that seals, and the one before while there is one.
type ring struct{ now, before cipher.AEAD }

// New makes a Key of KeySize bytes.
func New(raw []byte) (*Key, error) {
	aead, err := newCipher(raw)
	if err != nil {
		return nil, err
	}
	k := &Key{ring: new(atomic.Pointer[ring])}
	k.ring.Store(&ring{now: aead})
	return k, nil
}

func newCipher(raw []byte) (cipher.AEAD, error) {
	if len(raw) != KeySize {
		return nil, fmt.Errorf("seal: a key has %d bytes, want %d", len(raw), KeySize)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Format prints nothing of the key.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// Seal gives version 1 | nonce 12 | text and tag. They open under the same name only.
func (k *Key) Seal(name string, s chat.Secret) []byte {
	return k.ring.Load().now.Seal([]byte{version}, nil, []byte(s.Reveal()), []byte(name))
}

// Open gives the text that was sealed under the name, or ErrNotOpened.
func (k *Key) Open(name string, sealed []byte) (chat.Secret, error) {
	s, _, err := k.open(name, sealed)
	return s, err
}

// open also says whether the bytes are sealed under the key before.
func (k *Key) open(name string, sealed []byte) (s chat.Secret, old bool, err error) {
	if len(sealed) == 0 || sealed[0] != version {
		return chat.Secret{}, false, ErrNotOpened
	}
	r := k.ring.Load()
	text, err := r.now.Open(nil, nil, sealed[1:], []byte(name))
	if err != nil && r.before != nil {
		old = true
		text, err = r.before.Open(nil, nil, sealed[1:], []byte(name))
	}
	if err != nil {
		return chat.Secret{}, false, ErrNotOpened
	}
	return chat.NewSecret(string(text)), old, nil
}
