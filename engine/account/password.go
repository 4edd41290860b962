package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"holdfast/engine/chat"
)

const (
	minPassword = 10
	maxPassword = 200
	// computations is how many hashes of passwords are made at once; each takes its memory.
	computations = 2
)

// hashCost is what the hash of a password costs. The standard is the second choice of RFC 9106, for machines that have other work too.
type hashCost struct {
	time, memory uint32 // passes, and KiB
	threads      uint8
}

var standardCost = hashCost{time: 3, memory: 64 << 10, threads: 4}

const (
	saltSize = 16
	keySize  = 32
)

// hasher makes and compares hashes of passwords with argon2id.
type hasher struct {
	cost hashCost
	// slots bounds the memory that all computations take.
	slots chan struct{}
}

func newHasher() *hasher {
	return &hasher{cost: standardCost, slots: make(chan struct{}, computations)}
}

// hash gives the encoded hash of a password: "$argon2id$v=19$m=…,t=…,p=…$salt$key".
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt)
	key, err := h.compute(ctx, password, salt, h.cost)
	if err != nil {
		return "", err
	}
	c := h.cost
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// matches says whether the password has this encoded hash. Without a hash it takes as long and says no. dated: the hash has another cost
// than new ones.
func (h *hasher) matches(ctx context.Context, password, encoded string) (ok, dated bool, err error) {
	if encoded == "" {
		_, err := h.compute(ctx, password, make([]byte, saltSize), h.cost)
		return false, false, err
	}
	cost, salt, want, err := parseHash(encoded)
	if err != nil {
		return false, false, err
	}
	key, err := h.compute(ctx, password, salt, cost)
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(key, want) == 1, cost != h.cost, nil
}

// compute waits for a slot; a caller who leaves makes room for the next.
func (h *hasher) compute(ctx context.Context, password string, salt []byte, c hashCost) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer h.leave()
	return argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, keySize), nil
}

// leave gives a slot back. The memory of a computation is many times what the rest of the appliance needs, so the last one returns it at
// once.
func (h *hasher) leave() {
	<-h.slots
	if len(h.slots) == 0 && h.cost.memory >= standardCost.memory {
		debug.FreeOSMemory()
	}
}

// parseHash reads an encoded hash. Its bounds keep a damaged record from taking all memory.
func parseHash(encoded string) (c hashCost, salt, key []byte, err error) {
	bad := func(what string) (hashCost, []byte, []byte, error) {
		return hashCost{}, nil, nil, &chat.Error{Kind: chat.KindStoreDamaged, Message: "A stored password cannot be read.",
			Detail: "Its " + what + " is not known. An admin can set a new one."}
	}
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return bad("form")
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.threads); err != nil || n != 3 ||
		c.time < 1 || c.time > 100 || c.threads < 1 || c.memory < 8 || c.memory > 1<<20 {
		return bad("cost")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(salt) < 8 {
		return bad("salt")
	}
	if key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(key) != keySize {
		return bad("key")
	}
	return c, salt, key, nil
}

// checkPassword refuses what could be guessed at once. What makes a password good is its length, so there are no rules of characters.
func checkPassword(password, name string) error {
	n := utf8.RuneCountInString(password)
	switch {
	case !utf8.ValidString(password):
		return chat.Invalid("password", "must be text")
	case n < minPassword:
		return chat.Invalid("password", "must have at least "+strconv.Itoa(minPassword)+" characters")
	case n > maxPassword:
		return chat.Invalid("password", "must have at most "+strconv.Itoa(maxPassword)+" characters")
	}
	different := map[rune]bool{}
	for _, c := range password {
		different[c] = true
	}
	if len(different) < 5 {
		return chat.Invalid("password", "must have at least 5 different characters")
	}
	if rest := strings.ReplaceAll(strings.ToLower(password), strings.ToLower(name), ""); utf8.RuneCountInString(rest) < minPassword/2 {
		return chat.Invalid("password", "must be more than your name")
	}
	return nil
}
