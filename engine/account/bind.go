package account

import (
	"context"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CauseCredentialEnded is why a bound context ended: its token or session was revoked or has expired.
const CauseCredentialEnded chat.Cause = "credential_ended"

// openStreams knows what hangs on a credential.
type openStreams struct {
	mu sync.Mutex
	// by holds the bound contexts by the ids of their credentials and their user; guarded by mu.
	by map[string]map[*bound]bool
}

// bound is one context that ends with its credentials.
type bound struct {
	ids    []string
	cancel context.CancelCauseFunc
}

// Bind gives a context that ends, with CauseCredentialEnded, as soon as the credential of p is revoked, signed out or expired, or the
// user is disabled, removed or given another role. It is for streams. A principal without a credential is bound to nothing. Call the func when the stream is done.
//
//guard:none it only follows the credential that the principal came with
func (r *Room) Bind(ctx context.Context, p chat.Principal) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &bound{cancel: cancel}
	if p.TokenID != "" || p.SessionID != "" {
		b.ids = append(b.ids, string(p.UserID))
	}
	if p.TokenID != "" {
		b.ids = append(b.ids, string(p.TokenID))
	}
	if p.SessionID != "" {
		b.ids = append(b.ids, string(p.SessionID))
	}
	// Before the read, so that no revocation falls between.
	r.open.add(b)
	done := func() {
		r.open.remove(b)
		cancel(context.Canceled)
	}
	expires, err := r.expiry(ctx, p)
	if err != nil {
		done()
		return nil, nil, err
	}
	if expires.IsZero() {
		return ctx, done, nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, expires.Sub(r.now()), CauseCredentialEnded)
	return ctx, func() { stop(); done() }, nil
}

// expiry is when the first of the principal's credentials ends; zero is never.
func (r *Room) expiry(ctx context.Context, p chat.Principal) (time.Time, error) {
	var first time.Time
	if p.TokenID == "" && p.SessionID == "" {
		return first, nil
	}
	end := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		tokens, err := tx.Tokens(p.UserID)
		if err != nil {
			return err
		}
		sessions, err := tx.Sessions(p.UserID)
		if err != nil {
			return err
		}
		u, ok, err := tx.User(p.UserID)
		if err != nil {
			return err
		}
		if !ok || u.Disabled || u.Role != p.Role {
			return unauthenticated()
		}
		found := chat.Principal{}
		for _, t := range tokens {
			if t.ID != p.TokenID {
				continue
			}
			found.TokenID = t.ID
			if t.ExpiresAt != nil {
				end(*t.ExpiresAt)
			}
		}
		for _, s := range sessions {
			if s.ID != p.SessionID {
				continue
			}
			found.SessionID = s.ID
			used, _ := r.sessionUse(s)
			end(s.ExpiresAt)
			end(used.Add(sessionIdle))
		}
		if found.TokenID != p.TokenID || found.SessionID != p.SessionID {
			return unauthenticated()
		}
		return nil
	})
	return first, storeFault(err)
}

// ended cuts all that hangs on a credential and forgets its last use.
func (r *Room) ended(id string) {
	r.open.cut(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.used, id)
}

func (o *openStreams) add(b *bound) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range b.ids {
		if o.by[id] == nil {
			o.by[id] = map[*bound]bool{}
		}
		o.by[id][b] = true
	}
}

func (o *openStreams) remove(b *bound) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range b.ids {
		delete(o.by[id], b)
		if len(o.by[id]) == 0 {
			delete(o.by, id)
		}
	}
}

func (o *openStreams) cut(id string) {
	o.mu.Lock()
	var all []*bound
	for b := range o.by[id] {
		all = append(all, b)
	}
	o.mu.Unlock()
	for _, b := range all {
		b.cancel(CauseCredentialEnded)
	}
}
