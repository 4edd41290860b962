package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// StateTime is how long a sign-in may take.
const StateTime = 10 * time.Minute

// maxPending bounds how many sign-ins are under way, in all and per person.
const (
	maxPending    = 1000
	maxPersonally = 20
)

// attempt is a sign-in under way.
type attempt struct {
	user     chat.UserID
	server   chat.MCPServerID
	version  int64
	verifier string
	redirect string
	token    string
	until    time.Time
}

// pending are the sign-ins under way, by state. They do not outlive the process.
type pending struct {
	now func() time.Time
	mu  sync.Mutex // guards all
	all map[string]attempt
}

func (p *pending) add(state string, a attempt) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, mine := p.now(), 0
	for s, old := range p.all {
		if now.After(old.until) {
			delete(p.all, s)
		} else if old.user == a.user {
			mine++
		}
	}
	if len(p.all) >= maxPending || mine >= maxPersonally {
		return false
	}
	if p.all == nil {
		p.all = map[string]attempt{}
	}
	p.all[state] = a
	return true
}

// take gives the attempt of a state, once.
func (p *pending) take(state string) (attempt, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, found := p.all[state]
	delete(p.all, state)
	return a, found && !p.now().After(a.until)
}

// ConnectInput begins a sign-in. Redirect is the address of the callback, as the person's browser reaches it.
type ConnectInput struct {
	ID       chat.MCPServerID
	Redirect string
}

// Connecting is where the browser goes, and the state that its cookie must bring back.
type Connecting struct{ URL, State string }

// Connect begins a sign-in at an MCP server.
func (r *Room) Connect(ctx context.Context, p chat.Principal, in ConnectInput) (Connecting, error) {
	s, err := r.Get(ctx, p, GetInput{ID: in.ID})
	if err != nil {
		return Connecting{}, err
	}
	if s.AuthType != chat.MCPAuthOAuth2 {
		return Connecting{}, &chat.Error{Kind: chat.KindWrongState, Message: "This MCP server has no sign-in of its own."}
	}
	config, err := r.config(ctx, in.ID)
	if err != nil {
		return Connecting{}, err
	}
	config.RedirectURL = in.Redirect
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return Connecting{}, err
	}
	state := base64.RawURLEncoding.EncodeToString(raw)
	a := attempt{user: p.UserID, server: in.ID, version: s.Version, verifier: oauth2.GenerateVerifier(), redirect: in.Redirect,
		token: config.Endpoint.TokenURL, until: r.o.Now().Add(StateTime)}
	if !r.pending.add(state, a) {
		return Connecting{}, &chat.Error{Kind: chat.KindRateLimited, Message: "Too many sign-ins are under way.", Detail: "Finish one, or wait ten minutes."}
	}
	return Connecting{URL: config.AuthCodeURL(state, oauth2.S256ChallengeOption(a.verifier)), State: state}, nil
}

// FinishInput is what came back: by the address and by the cookie.
type FinishInput struct {
	ID                         chat.MCPServerID
	State, Cookie, Code, Error string
}

// Finish ends a sign-in for the person who began it. Without the cookie of that very state nothing happens.
//
//guard:none the browser comes from another site, so that cookie and state are the only credentials it has
func (r *Room) Finish(ctx context.Context, in FinishInput) error {
	if in.State == "" || subtle.ConstantTimeCompare([]byte(in.State), []byte(in.Cookie)) != 1 {
		return chat.Invalid("state", "This sign-in was not begun in this browser, or it took over ten minutes. Begin again.")
	}
	a, found := r.pending.take(in.State)
	if !found || a.server != in.ID {
		return chat.Invalid("state", "This sign-in is not known any more. Begin again.")
	}
	if in.Error != "" || in.Code == "" {
		return chat.Invalid("code", "The authorisation server did not let you in.")
	}
	config, err := r.config(ctx, in.ID)
	if err != nil {
		return err
	}
	config.RedirectURL = a.redirect
	config.Endpoint.TokenURL = a.token
	got, err := config.Exchange(r.reaching(ctx), in.Code, oauth2.VerifierOption(a.verifier))
	if err != nil {
		return &chat.Error{Kind: chat.KindInvalid, Message: "The authorisation server gave no token.", Detail: grantError(err), Cause: err}
	}
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		s, err := server(tx, in.ID)
		if err != nil {
			return err
		}
		if s.Version != a.version || s.AuthType != chat.MCPAuthOAuth2 {
			return &chat.Error{Kind: chat.KindWrongState, Message: "The MCP server was changed meanwhile.", Detail: "Begin again."}
		}
		if _, there, err := tx.User(a.user); err != nil || !there {
			return chat.NotFound("user")
		}
		return r.putToken(tx, in.ID, a.user, tokenOf(got, token{Endpoint: a.token}))
	})
}

// DisconnectInput names a server.
type DisconnectInput struct{ ID chat.MCPServerID }

// Disconnect forgets the person's sign-in; without one it does nothing.
func (r *Room) Disconnect(ctx context.Context, p chat.Principal, in DisconnectInput) (Done, error) {
	if _, err := r.Get(ctx, p, GetInput(in)); err != nil {
		return Done{}, err
	}
	return Done{}, r.o.Store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSecret(kv.MCPUserSecret(in.ID, p.UserID), nil) })
}

// config reads how sign-ins at a server work, and asks the server itself where that was not configured.
func (r *Room) config(ctx context.Context, id chat.MCPServerID) (*oauth2.Config, error) {
	var s *chat.MCPServer
	var secret chat.Secret
	err := r.o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		if s, err = server(tx, id); err == nil {
			secret, err = r.secret(tx, kv.MCPServerSecret(id, fieldClientSecret))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	at := endpoints{Auth: s.OAuth2AuthURL, Token: s.OAuth2TokenURL}
	if at.Auth == "" {
		if at, err = r.discover(ctx, s.URL); err != nil {
			return nil, err
		}
	}
	for _, address := range []string{at.Auth, at.Token} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, &chat.Error{Kind: chat.KindConfig, Message: "The address for the sign-in is not http or https."}
		}
	}
	return &oauth2.Config{ClientID: s.OAuth2ClientID, ClientSecret: secret.Reveal(), Scopes: words(s.OAuth2Scopes),
		Endpoint: oauth2.Endpoint{AuthURL: at.Auth, TokenURL: at.Token}}, nil
}
