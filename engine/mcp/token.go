package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// refreshAt is how much must be left of a token that is sent; refreshTime bounds a refresh.
const (
	refreshAt   = 10 * time.Second
	refreshTime = 30 * time.Second
)

// token is a person's sign-in as it is sealed. Endpoint is where it is refreshed, Client who asked for it, Resource what for ("" for unsaid).
type token struct {
	Access   string    `json:"access"`
	Refresh  string    `json:"refresh,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Endpoint string    `json:"endpoint"`
	Client   string    `json:"client,omitempty"`
	Resource string    `json:"resource,omitempty"`
}

func (t token) fresh(now time.Time) bool {
	return t.Access != "" && (t.Until.IsZero() || t.Until.Sub(now) >= refreshAt)
}

// tokenOf takes what an authorisation server gave; it may keep the old refresh token by not naming one.
func tokenOf(got *oauth2.Token, old token) token {
	t := old
	t.Access, t.Until = got.AccessToken, got.Expiry.UTC()
	if got.RefreshToken != "" {
		t.Refresh = got.RefreshToken
	}
	return t
}

func (r *Room) putToken(tx *kv.Tx, id chat.MCPServerID, user chat.UserID, t token) error {
	r.o.Known(chat.NewSecret(t.Access))
	r.o.Known(chat.NewSecret(t.Refresh))
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return r.putSecret(tx, kv.MCPUserSecret(id, user), chat.NewSecret(string(text)))
}

func (r *Room) readToken(ctx context.Context, id chat.MCPServerID, user chat.UserID) (t token, found bool, err error) {
	var s chat.Secret
	err = r.o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		s, err = r.secret(tx, kv.MCPUserSecret(id, user))
		return err
	})
	if err != nil || !s.Set() {
		return token{}, false, err
	}
	err = json.Unmarshal([]byte(s.Reveal()), &t)
	r.o.Known(chat.NewSecret(t.Access))
	r.o.Known(chat.NewSecret(t.Refresh))
	return t, true, err
}

// accessToken gives a token that is good for a while and not the one that was refused ("" for none), refreshed by one caller for all who wait.
func (r *Room) accessToken(ctx context.Context, s chat.MCPServer, user chat.UserID, refused string) (token, error) {
	// Not the context of the first who asks: the others wait for the same answer.
	done := r.refresh.DoChan(string(s.ID)+" "+string(user), func() (any, error) {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
		defer cancel()
		return r.refreshed(own, s, user, refused)
	})
	select {
	case <-ctx.Done():
		return token{}, context.Cause(ctx)
	case got := <-done:
		t, _ := got.Val.(token)
		if got.Err == nil && refused != "" && t.Access == refused {
			// It was asked for by one who did not know that.
			return r.accessToken(ctx, s, user, refused)
		}
		return t, got.Err
	}
}

func (r *Room) refreshed(ctx context.Context, s chat.MCPServer, user chat.UserID, not string) (token, error) {
	t, found, err := r.readToken(ctx, s.ID, user)
	if err != nil {
		return token{}, err
	}
	if !found {
		return token{}, signInAgain(s, "sign in to use it")
	}
	if t.fresh(r.o.Now()) && t.Access != not {
		return t, nil
	}
	if t.Refresh == "" {
		return token{}, r.signedOut(ctx, s, user, t)
	}
	config, _, err := r.config(ctx, s.ID, asking{Client: t.Client, Token: t.Endpoint})
	if err != nil {
		return token{}, err
	}
	if t.Client != "" && t.Client != config.ClientID {
		return token{}, r.signedOut(ctx, s, user, t)
	}
	got, err := r.renew(ctx, config, t)
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return token{}, r.signedOut(ctx, s, user, t)
	}
	if err != nil {
		return token{}, &chat.Error{Kind: chat.KindUnreachable, Message: "the sign-in could not be renewed", Detail: grantError(err), Cause: err}
	}
	next := tokenOf(got, t)
	if err := r.storeRefreshed(ctx, s.ID, user, t, next); err != nil {
		// This Turn has it; the next one asks again.
		r.o.Log.Warn("a renewed sign-in could not be stored", chat.LogServer, s.Slug, chat.LogError, err)
	}
	if next.Access == not {
		// The authorisation server has nothing better than what was refused.
		return token{}, r.signedOut(ctx, s, user, next)
	}
	return next, nil
}

// renew asks for another token, for what the old one was for.
func (r *Room) renew(ctx context.Context, config *oauth2.Config, t token) (*oauth2.Token, error) {
	if t.Resource == "" {
		return config.TokenSource(r.reaching(ctx), &oauth2.Token{RefreshToken: t.Refresh}).Token()
	}
	// The library's own renewal takes no further words; a parameter without a value, here the code, counts as absent.
	return config.Exchange(r.reaching(ctx), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", t.Refresh), oauth2.SetAuthURLParam("resource", t.Resource))
}

// storeRefreshed replaces the token that was renewed; a sign-in that was ended or begun meanwhile stays as it is.
func (r *Room) storeRefreshed(ctx context.Context, id chat.MCPServerID, user chat.UserID, old, next token) error {
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		same, err := r.holds(tx, id, user, old)
		if err != nil || !same {
			return err
		}
		return r.putToken(tx, id, user, next)
	})
}

// holds says whether a sign-in is still the one that was read.
func (r *Room) holds(tx *kv.Tx, id chat.MCPServerID, user chat.UserID, old token) (bool, error) {
	s, err := r.secret(tx, kv.MCPUserSecret(id, user))
	if err != nil || !s.Set() {
		return false, err
	}
	var now token
	err = json.Unmarshal([]byte(s.Reveal()), &now)
	return now.Access == old.Access && now.Refresh == old.Refresh, err
}

// signedOut forgets a sign-in that is good no more; one that the person has begun anew meanwhile stays.
func (r *Room) signedOut(ctx context.Context, s chat.MCPServer, user chat.UserID, old token) error {
	err := r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		same, err := r.holds(tx, s.ID, user, old)
		if err != nil || !same {
			return err
		}
		return tx.PutSecret(kv.MCPUserSecret(s.ID, user), nil)
	})
	if err != nil {
		return err
	}
	return signInAgain(s, "sign in again")
}

// reaching lets the library call through the one way out.
func (r *Room) reaching(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, r.o.HTTP)
}

// grantError is what an authorisation server said, in its own code word alone.
func grantError(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		if code := refused.ErrorCode; code != "" && len(code) < 60 && oneLine(code) {
			return "It said " + code + "."
		}
		return "It answered " + refused.Response.Status + "."
	}
	return "It could not be reached, or its answer not be read."
}

func words(text string) []string { return strings.Fields(text) }
