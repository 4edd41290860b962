package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"

	"holdfast/engine/chat"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// version is the first byte of what is sealed.
const version = 1

// ErrNotOpened says that sealed bytes do not open: another key, another name, or bytes that were changed.
var ErrNotOpened = errors.New("seal: the secret cannot be opened with this key")

// Key seals secrets. It is safe for concurrent use.
type Key struct {
	// A func, as fmt would print the bytes of the cipher.
	aead func() cipher.AEAD
}

// New makes a Key of KeySize bytes.
func New(raw []byte) (*Key, error) {
	if len(raw) != KeySize {
		return nil, fmt.Errorf("seal: a key has %d bytes, want %d", len(raw), KeySize)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Key{aead: func() cipher.AEAD { return aead }}, nil
}

// Format prints nothing of the key.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// Seal gives version 1 | nonce 12 | text and tag. They open under the same name only.
func (k *Key) Seal(name string, s chat.Secret) []byte {
	return k.aead().Seal([]byte{version}, nil, []byte(s.Reveal()), []byte(name))
}

// Open gives the text that was sealed under the name, or ErrNotOpened.
func (k *Key) Open(name string, sealed []byte) (chat.Secret, error) {
	if len(sealed) == 0 || sealed[0] != version {
		return chat.Secret{}, ErrNotOpened
	}
	text, err := k.aead().Open(nil, nil, sealed[1:], []byte(name))
	if err != nil {
		return chat.Secret{}, ErrNotOpened
	}
	return chat.NewSecret(string(text)), nil
}
