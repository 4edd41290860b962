package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// errReplayed: the key is known; the first answer is in the receipt's replay.
var errReplayed = errors.New("engine: this key was answered before")

// receipt makes a command with an Idempotency-Key happen once: the key is stored in the commit that does the work.
type receipt struct {
	user  chat.UserID
	key   string
	route string
	body  string
	// answer is asked at the end of the transaction; replay is the stored one when the key was known.
	answer func() any
	replay json.RawMessage
}

// newReceipt is nil without a key. body is what must be equal for a repeat to count as one.
func newReceipt(p chat.Principal, key, route string, body any) (*receipt, error) {
	if key == "" {
		return nil, nil
	}
	if len(key) > 128 || !visibleASCII(key) {
		return nil, chat.Invalid("Idempotency-Key", "It must be 1 to 128 visible ASCII characters.")
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &receipt{user: p.UserID, key: key, route: route, body: hex.EncodeToString(sum[:])}, nil
}

// Keyed is embedded in the inputs of commands that an Idempotency-Key makes happen once.
type Keyed struct {
	// Key is the Idempotency-Key, "" for none.
	Key string `json:"-"`
	// Replayed, unless nil, is told whether the key was known: then nothing was done again.
	Replayed *bool `json:"-"`
}

// changeOnce is change under a key. A repeat gives the Chat as it is now.
func (e *Engine) changeOnce(ctx context.Context, p chat.Principal, k Keyed, route string, in any, x change) (*chat.Chat, error) {
	rec, err := newReceipt(p, k.Key, route, in)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		rec.answer = func() any { return Done{} }
		x.receipt = rec
	}
	out, err := e.change(ctx, x)
	if !errors.Is(err, errReplayed) {
		return out.chat, err
	}
	if k.Replayed != nil {
		*k.Replayed = true
	}
	// The first time is on record.
	chat.AuditOf(ctx).Settle(true)
	return e.Get(ctx, p, GetInput{ChatID: x.chat})
}

// known looks the key up before anything else of the command is checked.
func (r *receipt) known(tx *kv.Tx, id chat.ID) (refused, err error) {
	old, found, err := tx.Receipt(r.user, id, r.key)
	if err != nil || !found {
		return nil, err
	}
	if old.Route != r.route || old.BodyHash != r.body {
		return &chat.Error{Kind: chat.KindIdempotency, Message: "This key was already used for something else.",
			Detail: "Send it with a new Idempotency-Key."}, nil
	}
	r.replay = old.Answer
	return errReplayed, nil
}

func (r *receipt) store(tx *kv.Tx, id chat.ID, now time.Time) error {
	raw, err := json.Marshal(r.answer())
	if err != nil {
		return err
	}
	return tx.PutReceipt(id, &chat.Receipt{UserID: r.user, Key: r.key, Route: r.route, BodyHash: r.body, Answer: raw, At: now})
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
