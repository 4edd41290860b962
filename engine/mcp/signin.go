package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// StateTime is how long a sign-in may take.
const StateTime = 10 * time.Minute

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
	config, at, err := r.config(ctx, in.ID, asking{Redirect: in.Redirect})
	if err != nil {
		return Connecting{}, err
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return Connecting{}, err
	}
	state := base64.RawURLEncoding.EncodeToString(raw)
	a := attempt{User: p.UserID, Server: in.ID, Version: s.Version, Verifier: oauth2.GenerateVerifier(),
		asking: asking{Redirect: in.Redirect, Client: config.ClientID, Token: at.Token, Issuer: at.Issuer, Resource: at.Resource}}
	if err := r.keepAttempt(ctx, state, a); err != nil {
		return Connecting{}, err
	}
	return Connecting{URL: config.AuthCodeURL(state, a.options(oauth2.S256ChallengeOption(a.Verifier))...), State: state}, nil
}

// FinishInput is what came back: by the address and by the cookie. Issuer is who answered, where an authorisation server says it.
type FinishInput struct {
	ID                                 chat.MCPServerID
	State, Cookie, Code, Error, Issuer string
}

// Finish ends a sign-in for the person who began it. Without the cookie of that very state nothing happens.
//
//guard:none the browser comes from another site, so that cookie and state are the only credentials it has
func (r *Room) Finish(ctx context.Context, in FinishInput) error {
	if in.State == "" || subtle.ConstantTimeCompare([]byte(in.State), []byte(in.Cookie)) != 1 {
		return chat.Invalid("state", "This sign-in was not begun in this browser, or it took over ten minutes. Begin again.")
	}
	a, found, err := r.takeAttempt(ctx, in.State)
	if err != nil {
		return err
	}
	if !found || a.Server != in.ID {
		return chat.Invalid("state", "This sign-in is not known any more. Begin again.")
	}
	// RFC 9207: a code that another authorisation server made is not taken to this one.
	if in.Issuer != "" && a.Issuer != "" && in.Issuer != a.Issuer {
		return chat.Invalid("iss", "Another authorisation server answered than the one that the MCP server named.")
	}
	if in.Error != "" || in.Code == "" {
		return chat.Invalid("code", "The authorisation server did not let you in.")
	}
	if err := r.o.Store.View(ctx, func(tx *kv.Tx) error { return unchanged(tx, in.ID, a) }); err != nil {
		return err
	}
	config, _, err := r.config(ctx, in.ID, a.asking)
	if err != nil {
		return err
	}
	got, err := config.Exchange(r.reaching(ctx), in.Code, a.options(oauth2.VerifierOption(a.Verifier))...)
	if err != nil {
		return &chat.Error{Kind: chat.KindInvalid, Message: "The authorisation server gave no token.", Detail: grantError(err), Cause: err}
	}
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		if err := unchanged(tx, in.ID, a); err != nil {
			return err
		}
		_, there, err := tx.User(a.User)
		if err == nil && !there {
			err = chat.NotFound("user")
		}
		if err != nil {
			return err
		}
		return r.putToken(tx, in.ID, a.User, tokenOf(got, token{Endpoint: a.Token, Client: config.ClientID, Resource: a.Resource}))
	})
}

// unchanged refuses to go on with a sign-in at a server that is not what it was: its secrets may be for somebody else.
func unchanged(tx *kv.Tx, id chat.MCPServerID, a attempt) error {
	s, err := server(tx, id)
	if err == nil && (s.Version != a.Version || s.AuthType != chat.MCPAuthOAuth2) {
		err = &chat.Error{Kind: chat.KindWrongState, Message: "The MCP server was changed meanwhile.", Detail: "Begin again."}
	}
	return err
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

// asking says for whom config is. Token is empty where a sign-in begins; later it is the address of the tokens, and Client whose they are.
// Issuer and Resource are those of endpoints.
type asking struct {
	Redirect string `json:"redirect"`
	Client   string `json:"client"`
	Token    string `json:"token"`
	Issuer   string `json:"issuer,omitempty"`
	Resource string `json:"resource,omitempty"`
}

// options adds what the tokens are for. An authorisation server that an admin entered may know nothing of it, and refuse the word.
func (a asking) options(o ...oauth2.AuthCodeOption) []oauth2.AuthCodeOption {
	if a.Resource != "" {
		o = append(o, oauth2.SetAuthURLParam("resource", a.Resource))
	}
	return o
}

// config reads how sign-ins at a server work. Where one begins it asks the server itself what was not configured, and registers there if
// nobody named a client.
func (r *Room) config(ctx context.Context, id chat.MCPServerID, ask asking) (*oauth2.Config, endpoints, error) {
	var s *chat.MCPServer
	var secret chat.Secret
	err := r.o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		if s, err = server(tx, id); err == nil {
			secret, err = r.secret(tx, kv.MCPServerSecret(id, fieldClientSecret))
		}
		return err
	})
	if err != nil {
		return nil, endpoints{}, err
	}
	at := endpoints{Auth: s.OAuth2AuthURL, Token: s.OAuth2TokenURL}
	switch {
	case ask.Token != "" && at.Token != "" && at.Token != ask.Token:
		// The client's secret may be for the new address alone.
		return nil, endpoints{}, signInAgain(*s, "sign in again")
	case ask.Token != "":
		at.Token = ask.Token
	case at.Auth == "":
		if at, err = r.discover(ctx, s.URL); err != nil {
			return nil, endpoints{}, err
		}
	}
	if s.OAuth2TokenURL == "" && s.OAuth2ClientID != "" && secret.Set() {
		return nil, endpoints{}, &chat.Error{Kind: chat.KindConfig, Message: "The client secret of this MCP server is not sent: nobody has entered where to.",
			Detail: "An admin enters both addresses of the sign-in in its settings."}
	}
	if !isWeb(at.Token) || ask.Token == "" && !isWeb(at.Auth) {
		return nil, endpoints{}, &chat.Error{Kind: chat.KindConfig, Message: "The address for the sign-in is not http or https."}
	}
	out := &oauth2.Config{ClientID: s.OAuth2ClientID, ClientSecret: secret.Reveal(), Scopes: words(s.OAuth2Scopes), RedirectURL: ask.Redirect,
		Endpoint: oauth2.Endpoint{AuthURL: at.Auth, TokenURL: at.Token}}
	if out.ClientID != "" {
		return out, at, nil
	}
	own, err := r.ownClient(ctx, *s, at, ask)
	out.ClientID, out.ClientSecret, out.Endpoint.AuthStyle = own.ID, own.Secret, own.style()
	return out, at, err
}

func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
