package link

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
	"unicode"

	"holdfast/engine/chat"
)

const nonceSize = 32

// PeerKey is the SHA-256 of a public key in its SPKI form; of a plain connection, which has none, it is zero.
type PeerKey [sha256.Size]byte

// ErrProof is that an Agent did not prove that it holds its key, for this appliance.
var ErrProof = errors.New("the agent did not prove its key")

// proofText is what an Agent signs: it names both sides, so that a proof made for one appliance is worth nothing at another.
func proofText(nonce [nonceSize]byte, id chat.AgentID, appliance PeerKey) []byte {
	text := []byte("holdfast-link-v1\n")
	text = append(text, nonce[:]...)
	text = append(text, id...)
	return append(text, appliance[:]...)
}

// challenge asks for the proof on a connection of its own.
func challenge(conn net.Conn, id chat.AgentID, key ed25519.PublicKey, appliance PeerKey, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	var nonce [nonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	if _, err := conn.Write(nonce[:]); err != nil {
		return fmt.Errorf("send the challenge: %w", err)
	}
	signature := make([]byte, ed25519.SignatureSize)
	if _, err := io.ReadFull(conn, signature); err != nil {
		return fmt.Errorf("read the proof: %w", err)
	}
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, proofText(nonce, id, appliance), signature) {
		return ErrProof
	}
	_, err := conn.Write([]byte{1})
	return err
}

// prove answers a challenge. An appliance that does not take the proof closes the link instead of the answer.
func prove(conn net.Conn, id chat.AgentID, key ed25519.PrivateKey, appliance PeerKey, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(conn, nonce[:]); err != nil {
		return fmt.Errorf("read the challenge: %w", err)
	}
	if _, err := conn.Write(ed25519.Sign(key, proofText(nonce, id, appliance))); err != nil {
		// The other side may have read it and hung up before the write came back.
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	var taken [1]byte
	if _, err := io.ReadFull(conn, taken[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	return nil
}

func printable(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
