package account

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CreateLoginInput describes a one-time code. UserID "" is the principal; Lifetime 0 is 60 s, at most 10 minutes.
type CreateLoginInput struct {
	UserID   chat.UserID   `json:"user_id,omitempty"`
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// CreateLoginOutput has the code, for the only time. It goes into the query of /login.
type CreateLoginOutput struct {
	Code      string      `json:"code"`
	UserID    chat.UserID `json:"user_id"`
	UserName  string      `json:"user"`
	ExpiresAt time.Time   `json:"expires_at"`
}

// CreateLogin makes a code that signs one browser in, once. KindNotFound for an unknown user.
func (r *Room) CreateLogin(ctx context.Context, p chat.Principal, in CreateLoginInput) (CreateLoginOutput, error) {
	life := in.Lifetime
	if life == 0 {
		life = codeLife
	}
	if life < 0 || life > codeLifeMax {
		return CreateLoginOutput{}, chat.Invalid("lifetime", "must be positive and at most "+codeLifeMax.String())
	}
	code, hash := newSecret("")
	c := &chat.LoginCode{Hash: hash, UserID: orSelf(in.UserID, p), ExpiresAt: r.now().UTC().Add(life)}
	var user *chat.User
	err := r.store.Update(ctx, func(tx *kv.Tx) (err error) {
		if user, err = mustUser(tx, c.UserID); err != nil {
			return err
		}
		return tx.PutLoginCode(c)
	})
	if err != nil {
		return CreateLoginOutput{}, err
	}
	return CreateLoginOutput{Code: code, UserID: user.ID, UserName: user.Name, ExpiresAt: c.ExpiresAt}, nil
}

// RedeemLogin consumes a code and opens a session: the cookie's value and when it ends. A used, an expired and an unknown code
// are the same KindUnauthenticated.
// Not a command: the code itself is the credential.
func (r *Room) RedeemLogin(ctx context.Context, code string) (cookie string, expires time.Time, err error) {
	cookie, hash := newSecret("")
	now := r.now().UTC()
	s := &chat.Session{ID: chat.SessionID(newID()), Hash: hash, CreatedAt: now, LastUsed: now, ExpiresAt: now.Add(sessionLife)}
	var good bool
	var dropped []chat.SessionID
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		good, dropped = false, nil
		want := hashOf(code)
		c, ok, err := tx.TakeLoginCode(want)
		if err != nil || !ok || subtle.ConstantTimeCompare(c.Hash, want) != 1 || !now.Before(c.ExpiresAt) {
			// An expired code goes away with this commit.
			return err
		}
		if _, ok, err = tx.User(c.UserID); err != nil || !ok {
			return err
		}
		good, s.UserID = true, c.UserID
		if dropped, err = r.dropSessions(tx, c.UserID); err != nil {
			return err
		}
		return tx.PutSession(s)
	})
	if err != nil {
		return "", time.Time{}, storeFault(err)
	}
	for _, id := range dropped {
		r.ended(string(id))
	}
	if !good {
		return "", time.Time{}, &chat.Error{Kind: chat.KindUnauthenticated, Message: "This login link is not valid.",
			Detail: "It was used already or is too old. Make a new one with: holdfast token login"}
	}
	return cookie, s.ExpiresAt, nil
}

// dropSessions removes a user's dead sessions, and the oldest live ones where there would be too many.
func (r *Room) dropSessions(tx *kv.Tx, user chat.UserID) ([]chat.SessionID, error) {
	all, err := tx.Sessions(user)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *chat.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	var gone []chat.SessionID
	kept := 0
	for _, s := range all {
		if _, live := r.sessionUse(s); live && kept < maxSessions-1 {
			kept++
			continue
		}
		if _, err := tx.DeleteSession(s.ID); err != nil {
			return nil, err
		}
		gone = append(gone, s.ID)
	}
	return gone, nil
}
