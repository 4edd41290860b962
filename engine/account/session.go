package account

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// SessionInfo is a browser's sign-in as it may be shown.
type SessionInfo struct {
	ID        chat.SessionID `json:"id"`
	UserID    chat.UserID    `json:"user_id"`
	Browser   string         `json:"browser,omitempty"`
	CreatedAt time.Time      `json:"created_at"`
	LastUsed  time.Time      `json:"last_used"`
	ExpiresAt time.Time      `json:"expires_at"`
	// Current is the session that asks.
	Current bool `json:"current"`
}

// ListSessionsInput names whose sessions; "" is the principal's own.
type ListSessionsInput struct {
	UserID chat.UserID `json:"user_id,omitempty"`
}

// ListSessionsOutput holds the live sessions, the newest first.
type ListSessionsOutput struct {
	Sessions []SessionInfo `json:"sessions"`
}

// ListSessions gives the browsers in which a user is signed in.
func (r *Room) ListSessions(ctx context.Context, p chat.Principal, in ListSessionsInput) (ListSessionsOutput, error) {
	out := ListSessionsOutput{Sessions: []SessionInfo{}}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		all, err := tx.Sessions(orSelf(in.UserID, p))
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b *chat.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
		for _, s := range all {
			used, live := r.sessionUse(s)
			if !live {
				continue
			}
			out.Sessions = append(out.Sessions, SessionInfo{ID: s.ID, UserID: s.UserID, Browser: s.Browser, CreatedAt: s.CreatedAt, LastUsed: used,
				ExpiresAt: s.ExpiresAt, Current: s.ID == p.SessionID})
		}
		return nil
	})
	return out, err
}

// RevokeSessionInput names a session and whose it is; UserID "" is the principal.
type RevokeSessionInput struct {
	ID     chat.SessionID `json:"id"`
	UserID chat.UserID    `json:"user_id,omitempty"`
}

// RevokeSessionOutput is empty.
type RevokeSessionOutput struct{}

// RevokeSession signs a browser out and ends its streams. KindNotFound when that user has no such session.
func (r *Room) RevokeSession(ctx context.Context, p chat.Principal, in RevokeSessionInput) (RevokeSessionOutput, error) {
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.Sessions(orSelf(in.UserID, p))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(s *chat.Session) bool { return s.ID == in.ID }) {
			return chat.NotFound("session")
		}
		_, err = tx.DeleteSession(in.ID)
		return err
	})
	if err != nil {
		return RevokeSessionOutput{}, err
	}
	r.ended(string(in.ID))
	return RevokeSessionOutput{}, nil
}

// SignOut ends the session that the principal came with; without one it does nothing.
//
//guard:none a read-only principal may leave too, and nobody else is concerned
func (r *Room) SignOut(ctx context.Context, p chat.Principal) error {
	if p.SessionID == "" {
		return nil
	}
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		gone, err := tx.DeleteSession(p.SessionID)
		if err != nil || !gone {
			return err
		}
		// Whoever uses this browser next must not end in this person's name what they have begun elsewhere.
		if err := tx.EndSignIns(p.UserID); err != nil {
			return err
		}
		return tx.AppendAudit(chat.AuditBy(ctx, p, chat.AuditSignOut, string(p.SessionID)))
	})
	if err != nil {
		return storeFault(err)
	}
	r.ended(string(p.SessionID))
	return nil
}

// sessionUse gives a session's last use and whether it is still valid.
func (r *Room) sessionUse(s *chat.Session) (time.Time, bool) {
	used := s.LastUsed
	if at, ok := r.lastUsed(string(s.ID)); ok && at.After(used) {
		used = at
	}
	now := r.now()
	return used, now.Before(s.ExpiresAt) && now.Before(used.Add(sessionIdle))
}
