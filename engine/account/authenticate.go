package account

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Credentials is everything that a request offers as proof: the texts of its bearer tokens and of its session cookies.
type Credentials struct {
	Bearers []string
	Cookies []string
}

// Empty says that nothing was offered.
func (c Credentials) Empty() bool { return len(c.Bearers) == 0 && len(c.Cookies) == 0 }

// lastUse is when a credential was used, and when that was last written.
type lastUse struct {
	at, written time.Time
}

// Authenticate says who offers these credentials. Each of them must be valid and all must belong to one user, else it is
// KindUnauthenticated; the error does not tell which was wrong. The Principal is read-only when one of them is.
// Not a command: it is what makes a Principal.
func (r *Room) Authenticate(ctx context.Context, c Credentials) (chat.Principal, error) {
	if c.Empty() {
		return chat.Principal{}, unauthenticated()
	}
	var p chat.Principal
	var stale []func(*kv.Tx) error
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		p, stale = chat.Principal{}, nil
		for _, text := range c.Bearers {
			t, err := r.liveToken(tx, text)
			if err != nil {
				return err
			}
			if p.UserID != "" && p.UserID != t.UserID {
				return unauthenticated()
			}
			p.UserID, p.TokenID, p.ReadOnly = t.UserID, t.ID, p.ReadOnly || t.ReadOnly
			var written time.Time
			if t.LastUsed != nil {
				written = *t.LastUsed
			}
			if at, due := r.use(string(t.ID), written); due {
				stale = append(stale, tokenUse(t.Hash, at))
			}
		}
		for _, text := range c.Cookies {
			s, err := r.liveSession(tx, text)
			if err != nil {
				return err
			}
			if p.UserID != "" && p.UserID != s.UserID {
				return unauthenticated()
			}
			p.UserID, p.SessionID = s.UserID, s.ID
			if at, due := r.use(string(s.ID), s.LastUsed); due {
				stale = append(stale, sessionUse(s.Hash, at))
			}
		}
		u, ok, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if !ok || u.Disabled {
			return unauthenticated()
		}
		p.Name, p.Role = u.Name, u.Role
		return nil
	})
	if err != nil {
		return chat.Principal{}, storeFault(err)
	}
	r.writeUse(ctx, stale)
	return p, nil
}

func (r *Room) liveToken(tx *kv.Tx, text string) (*chat.Token, error) {
	hash := hashOf(text)
	t, ok, err := tx.TokenByHash(hash)
	if err != nil {
		return nil, err
	}
	if !ok || subtle.ConstantTimeCompare(t.Hash, hash) != 1 || t.ExpiresAt != nil && !r.now().Before(*t.ExpiresAt) {
		return nil, unauthenticated()
	}
	return t, nil
}

func (r *Room) liveSession(tx *kv.Tx, text string) (*chat.Session, error) {
	hash := hashOf(text)
	s, ok, err := tx.SessionByHash(hash)
	if err != nil {
		return nil, err
	}
	if !ok || subtle.ConstantTimeCompare(s.Hash, hash) != 1 {
		return nil, unauthenticated()
	}
	if _, live := r.sessionUse(s); !live {
		return nil, unauthenticated()
	}
	return s, nil
}

// use notes that the credential is used now. It says due to one caller only when the store's knowledge is too old.
func (r *Room) use(id string, stored time.Time) (at time.Time, due bool) {
	now := r.now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.used[id]
	u.at = now
	if u.written.Before(stored) {
		u.written = stored
	}
	if due = now.Sub(u.written) >= useEvery; due {
		u.written = now
	}
	r.used[id] = u
	return now, due
}

func (r *Room) lastUsed(id string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := r.used[id]
	return u.at, ok
}

// writeUse stores last uses. A person is never refused because that failed: the time stays in memory and is written with a later
// request.
func (r *Room) writeUse(ctx context.Context, stale []func(*kv.Tx) error) {
	if state, _ := r.store.State(); len(stale) == 0 || state != "ok" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		for _, f := range stale {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.log.WarnContext(ctx, "last use of a credential could not be stored", slog.Any(chat.LogError, err))
	}
}

// tokenUse and sessionUse read the record again, so that one revoked in the meantime does not come back.
func tokenUse(hash []byte, at time.Time) func(*kv.Tx) error {
	return func(tx *kv.Tx) error {
		t, ok, err := tx.TokenByHash(hash)
		if err != nil || !ok {
			return err
		}
		t.LastUsed = &at
		return tx.PutToken(t)
	}
}

func sessionUse(hash []byte, at time.Time) func(*kv.Tx) error {
	return func(tx *kv.Tx) error {
		s, ok, err := tx.SessionByHash(hash)
		if err != nil || !ok {
			return err
		}
		s.LastUsed = at
		return tx.PutSession(s)
	}
}

func unauthenticated() *chat.Error {
	return &chat.Error{Kind: chat.KindUnauthenticated, Message: "You are not signed in.",
		Detail: "Send a valid token, or sign in with a link from: holdfast token login"}
}
