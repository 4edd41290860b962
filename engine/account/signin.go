package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Visitor is who wants to sign in, as far as the gate can tell: where from, with what browser, and the mark that an earlier sign-in left.
type Visitor struct {
	Source  string
	Browser string
	Device  string
}

// Entry is a sign-in that worked: the value of the session's cookie and when it ends, and the mark for the browser.
type Entry struct {
	Cookie  string
	Expires time.Time
	Device  string
}

// SignIn opens a session for who knows the password. A wrong name, a wrong password and somebody who is disabled are the same
// KindUnauthenticated and take the same time. Too many failures from one source for one name, or from one source at all, are
// KindRateLimited for a while; a browser in which that user was signed in before is a source of its own.
// Not a command: the password itself is the credential.
func (r *Room) SignIn(ctx context.Context, v Visitor, name, password string) (Entry, error) {
	var hash string
	var key []byte
	var user *chat.User
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		hash, user = "", nil
		if key, err = deviceKey(tx); err != nil {
			return err
		}
		if user, err = userNamed(tx, name); err != nil || user == nil || user.Disabled {
			return err
		}
		hash, err = tx.PasswordHash(user.ID)
		return err
	})
	if err != nil {
		return Entry{}, storeFault(err)
	}
	counted := []allowance{{"name\x00" + v.Source + "\x00" + fold(name), triesName}, {"source\x00" + v.Source, triesSource}}
	if user != nil {
		if device := deviceOf(key, user.ID, v.Device); device != "" {
			counted = []allowance{{"device\x00" + device, triesName}}
		}
	}
	end, wait := r.tries.begin(counted...)
	if wait > 0 {
		return Entry{}, tooManyTries(wait, " A one-time link still works: holdfast token login")
	}
	ok, dated, err := r.passwords.matches(ctx, password, hash)
	if err != nil {
		// Who leaves before the answer has learned nothing, but has cost a computation.
		end(false)
		return Entry{}, err
	}
	end(ok)
	if !ok {
		if err := r.noteRefused(ctx, "password", user); err != nil {
			return Entry{}, err
		}
		return Entry{}, r.wrongPassword(counted[0])
	}
	if dated {
		if err := r.rehash(ctx, user.ID, hash, password); err != nil {
			return Entry{}, err
		}
	}
	return r.enter(ctx, v, "password", func(tx *kv.Tx) (chat.UserID, error) { return user.ID, nil })
}

func (r *Room) wrongPassword(counted allowance) *chat.Error {
	e := &chat.Error{Kind: chat.KindUnauthenticated, Message: "Name and password do not match."}
	switch left := r.tries.left(counted); left {
	case 0:
		e.Detail = "Wait a little before the next try, or sign in with a one-time link."
	case 1:
		e.Detail = "1 try left, then a wait of " + waitWords(firstWait) + "."
	default:
		e.Detail = strconv.Itoa(left) + " tries left, then a wait of " + waitWords(firstWait) + "."
	}
	return e
}

// rehash stores the password at today's cost, unless it was changed in the meantime.
func (r *Room) rehash(ctx context.Context, user chat.UserID, old, password string) error {
	fresh, err := r.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return storeFault(r.store.Update(ctx, func(tx *kv.Tx) error {
		now, err := tx.PasswordHash(user)
		if err != nil || now != old {
			return err
		}
		return tx.PutPasswordHash(user, fresh)
	}))
}

// RedeemLogin consumes a code and opens a session. A used, an expired and an unknown code are the same KindUnauthenticated, and
// KindRateLimited when there were too many of them from this source; a good code is never refused because of others.
// Not a command: the code itself is the credential.
func (r *Room) RedeemLogin(ctx context.Context, v Visitor, code string) (Entry, error) {
	want := hashOf(code)
	known := false
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		known, err = tx.HasLoginCode(want)
		return err
	})
	if err != nil {
		return Entry{}, storeFault(err)
	}
	if known {
		entry, err := r.enter(ctx, v, "link", func(tx *kv.Tx) (chat.UserID, error) {
			c, ok, err := tx.TakeLoginCode(want)
			if err != nil || !ok || subtle.ConstantTimeCompare(c.Hash, want) != 1 || !r.now().Before(c.ExpiresAt) {
				// An expired code goes away with this commit.
				return "", err
			}
			return c.UserID, nil
		})
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindUnauthenticated {
			return entry, err
		}
	}
	end, wait := r.tries.begin(allowance{"code\x00" + v.Source, triesName})
	if wait > 0 {
		return Entry{}, tooManyTries(wait, "")
	}
	end(false)
	if err := r.noteRefused(ctx, "link", nil); err != nil {
		return Entry{}, err
	}
	return Entry{}, &chat.Error{Kind: chat.KindUnauthenticated, Message: "This login link is not valid.",
		Detail: "It was used already or is too old. Make a new one with: holdfast token login"}
}

// enter opens a session for whom admitted names; "" and somebody who is gone or disabled are KindUnauthenticated, and what admitted
// wrote is kept. how is the word of the audit for what was shown.
func (r *Room) enter(ctx context.Context, v Visitor, how string, admitted func(*kv.Tx) (chat.UserID, error)) (Entry, error) {
	cookie, hash := newSecret("")
	now := r.now().UTC()
	s := &chat.Session{ID: chat.SessionID(newID()), Hash: hash, Browser: v.Browser, CreatedAt: now, LastUsed: now, ExpiresAt: now.Add(sessionLife)}
	var good bool
	var device string
	var dropped []chat.SessionID
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		good, dropped = false, nil
		id, err := admitted(tx)
		if err != nil || id == "" {
			return err
		}
		u, ok, err := tx.User(id)
		if err != nil || !ok || u.Disabled {
			return err
		}
		good, s.UserID = true, id
		if dropped, err = r.dropSessions(tx, id); err != nil {
			return err
		}
		if device, err = markDevice(tx, id); err != nil {
			return err
		}
		u.SignedIn = &now
		if err := tx.PutUser(u); err != nil {
			return err
		}
		a := chat.AuditBy(ctx, principal(u), chat.AuditSignIn, string(s.ID))
		a.SessionID, a.Facts = s.ID, map[string]string{"by": how, "browser": v.Browser}
		return errors.Join(tx.PutSession(s), tx.AppendAudit(a))
	})
	if err != nil {
		return Entry{}, storeFault(err)
	}
	for _, id := range dropped {
		r.ended(string(id))
	}
	if !good {
		return Entry{}, unauthenticated()
	}
	return Entry{Cookie: cookie, Expires: s.ExpiresAt, Device: device}, nil
}

// noteRefused records a sign-in that was refused. A name that nobody has is left out: people type passwords there.
func (r *Room) noteRefused(ctx context.Context, how string, user *chat.User) error {
	if state, _ := r.store.State(); state != kv.StateOK {
		// Nobody gets in by it, and why not is what they should read.
		return nil
	}
	a := chat.AuditBy(ctx, chat.Principal{}, chat.AuditSignInRefused, "")
	a.At, a.Facts = r.now(), map[string]string{"by": how}
	if user != nil {
		a.Object, a.Facts["name"] = string(user.ID), user.Name
	}
	return storeFault(r.store.Update(ctx, func(tx *kv.Tx) error { return tx.AppendAudit(a) }))
}

// userNamed finds a person by name, whatever its case; nil is nobody.
func userNamed(tx *kv.Tx, name string) (*chat.User, error) {
	all, err := tx.Users()
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if fold(u.Name) == fold(name) {
			return u, nil
		}
	}
	return nil, nil
}

func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
