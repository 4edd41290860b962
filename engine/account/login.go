package account

import (
	"context"
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

// CreateLogin makes a code that signs one browser in, once. KindNotFound for an unknown user, KindWrongState for one who
// is disabled.
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
		if user.Disabled {
			return disabled(user)
		}
		return tx.PutLoginCode(c)
	})
	if err != nil {
		return CreateLoginOutput{}, err
	}
	return CreateLoginOutput{Code: code, UserID: user.ID, UserName: user.Name, ExpiresAt: c.ExpiresAt}, nil
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
