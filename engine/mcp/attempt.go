package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// maxPending bounds how many sign-ins are under way, maxPersonally those of one person.
const (
	maxPending    = 500
	maxPersonally = 20
)

// attempt is a sign-in under way. It is sealed in the store, so that a restart in the middle does not end it; its name has a hash of the
// state, whose holder alone can finish it.
type attempt struct {
	User     chat.UserID      `json:"user"`
	Server   chat.MCPServerID `json:"server"`
	Version  int64            `json:"version"`
	Verifier string           `json:"verifier"`
	asking
}

// attemptKey is what the name of an attempt says: how long it counts, and whose it is.
type attemptKey struct {
	name  string
	until time.Time
	user  chat.UserID
	sum   string
}

func keyOf(state string, user chat.UserID, until time.Time) attemptKey {
	sum := sha256.Sum256([]byte(state))
	k := attemptKey{until: until, user: user, sum: hex.EncodeToString(sum[:])}
	k.name = kv.SignInSecret(fmt.Sprintf("%d/%s/%s", until.Unix(), user, k.sum))
	return k
}

// attempts gives the names of all that are under way.
func attempts(tx *kv.Tx) ([]attemptKey, error) {
	names, err := tx.SignInSecrets()
	var out []attemptKey
	for _, name := range names {
		parts := strings.Split(strings.TrimPrefix(name, kv.SignInSecret("")), "/")
		k := attemptKey{name: name}
		if len(parts) == 3 {
			// What cannot be read counts no longer, and goes with the next that begins.
			seconds, _ := strconv.ParseInt(parts[0], 10, 64)
			k.until, k.user, k.sum = time.Unix(seconds, 0), chat.UserID(parts[1]), parts[2]
		}
		out = append(out, k)
	}
	return out, err
}

// keepAttempt keeps a sign-in that has begun, and forgets those whose time is over.
func (r *Room) keepAttempt(ctx context.Context, state string, a attempt) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		all, err := attempts(tx)
		if err != nil {
			return err
		}
		now, mine, others := r.o.Now(), 0, 0
		for _, k := range all {
			switch {
			case now.After(k.until):
				if err := tx.PutSecret(k.name, nil); err != nil {
					return err
				}
			case k.user == a.User:
				mine++
			default:
				others++
			}
		}
		if mine >= maxPersonally || mine+others >= maxPending {
			return &chat.Error{Kind: chat.KindRateLimited, Message: "Too many sign-ins are under way.", Detail: "Finish one, or wait ten minutes."}
		}
		return r.putSecret(tx, keyOf(state, a.User, now.Add(StateTime)).name, chat.NewSecret(string(text)))
	})
}

// takeAttempt gives the sign-in of a state, once.
func (r *Room) takeAttempt(ctx context.Context, state string) (a attempt, found bool, err error) {
	want := keyOf(state, "", time.Time{}).sum
	err = r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		a, found = attempt{}, false
		all, err := attempts(tx)
		if err != nil {
			return err
		}
		for _, k := range all {
			if k.sum != want {
				continue
			}
			sealed, err := r.secret(tx, k.name)
			if err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(sealed.Reveal()), &a); err != nil {
				return err
			}
			found = !r.o.Now().After(k.until)
			return tx.PutSecret(k.name, nil)
		}
		return nil
	})
	return a, found, err
}
