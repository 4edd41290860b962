package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Token is an API token without its text.
type Token struct {
	ID        chat.TokenID `json:"id"`
	UserID    chat.UserID  `json:"user_id"`
	Name      string       `json:"name"`
	CreatedAt Time         `json:"created_at"`
	ExpiresAt *Time        `json:"expires_at"`
	LastUsed  *Time        `json:"last_used"`
	ReadOnly  bool         `json:"read_only"`
}

// TokenPage holds a user's tokens, the newest first.
type TokenPage struct {
	Tokens []Token `json:"tokens"`
}

// TokenCreate describes a token. UserID "" is the caller, a nil ExpiresAt is never.
type TokenCreate struct {
	Name      string      `json:"name"`
	UserID    chat.UserID `json:"user_id,omitempty"`
	ExpiresAt *Time       `json:"expires_at,omitempty"`
	ReadOnly  bool        `json:"read_only,omitempty"`
}

// NewToken has the text of a token, for the only time.
type NewToken struct {
	Token  string       `json:"token"`
	ID     chat.TokenID `json:"id"`
	UserID chat.UserID  `json:"user_id"`
	// User is the user's name.
	User      string `json:"user"`
	Name      string `json:"name"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt *Time  `json:"expires_at"`
	ReadOnly  bool   `json:"read_only"`
}

// LoginCreate asks for a one-time login link. UserID "" is the caller; LifetimeSeconds 0 is 60, at most 600.
type LoginCreate struct {
	UserID          chat.UserID `json:"user_id,omitempty"`
	LifetimeSeconds int         `json:"lifetime_seconds,omitempty"`
}

// NewLogin has a one-time login link, for the only time.
type NewLogin struct {
	URL       string      `json:"url"`
	UserID    chat.UserID `json:"user_id"`
	User      string      `json:"user"`
	ExpiresAt Time        `json:"expires_at"`
}

// User is a person known to the appliance.
type User struct {
	ID        chat.UserID   `json:"id"`
	Name      string        `json:"name"`
	Role      chat.UserRole `json:"role"`
	CreatedAt Time          `json:"created_at"`
	// Disabled people cannot sign in; what is theirs stays.
	Disabled    bool `json:"disabled"`
	HasPassword bool `json:"has_password"`
	// LastSeen is the last sign-in or use of any of the user's sessions and tokens, nil for never.
	LastSeen *Time `json:"last_seen"`
}

// Me is the caller.
type Me struct {
	ID          chat.UserID   `json:"id"`
	Name        string        `json:"name"`
	Role        chat.UserRole `json:"role"`
	CreatedAt   Time          `json:"created_at"`
	HasPassword bool          `json:"has_password"`
	// ReadOnly: the token may change nothing.
	ReadOnly bool `json:"read_only"`
}

// UserCreate describes a person. Role "" is a member; without a Password they sign in with one-time links until they set one.
type UserCreate struct {
	Name     string        `json:"name"`
	Role     chat.UserRole `json:"role,omitempty"`
	Password string        `json:"password,omitempty"`
}

// UserUpdate changes what is not nil; a Password of "" takes the password away.
type UserUpdate struct {
	Name     *string        `json:"name,omitempty"`
	Role     *chat.UserRole `json:"role,omitempty"`
	Disabled *bool          `json:"disabled,omitempty"`
	Password *string        `json:"password,omitempty"`
}

// PasswordChange sets one's own password; Current is needed where there is one.
type PasswordChange struct {
	Current  string `json:"current_password,omitempty"`
	Password string `json:"password"`
}

// Session is a browser's sign-in.
type Session struct {
	ID        chat.SessionID `json:"id"`
	UserID    chat.UserID    `json:"user_id"`
	Browser   string         `json:"browser"`
	CreatedAt Time           `json:"created_at"`
	LastUsed  Time           `json:"last_used"`
	ExpiresAt Time           `json:"expires_at"`
	// Current is the session that asks.
	Current bool `json:"current"`
}

// SessionPage holds a user's live sessions, the newest first.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
}

// UserPage holds all people, the oldest first.
type UserPage struct {
	Users []User `json:"users"`
}

// Tokens lists a user's tokens; "" is the caller.
func (c *Client) Tokens(ctx context.Context, user chat.UserID) ([]Token, error) {
	var out TokenPage
	err := c.call(ctx, http.MethodGet, "/tokens", ofUser(user), nil, &out)
	return out.Tokens, err
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, in TokenCreate) (NewToken, error) {
	var out NewToken
	return out, c.call(ctx, http.MethodPost, "/tokens", nil, in, &out)
}

// RevokeToken ends a token; user "" is the caller.
func (c *Client) RevokeToken(ctx context.Context, user chat.UserID, id chat.TokenID) error {
	return c.call(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(string(id)), ofUser(user), nil, nil)
}

// CreateLogin makes a one-time login link.
func (c *Client) CreateLogin(ctx context.Context, in LoginCreate) (NewLogin, error) {
	var out NewLogin
	return out, c.call(ctx, http.MethodPost, "/logins", nil, in, &out)
}

// Users lists all people; only admins may.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	var out UserPage
	err := c.call(ctx, http.MethodGet, "/users", nil, nil, &out)
	return out.Users, err
}

// User gives one person; only admins may.
func (c *Client) User(ctx context.Context, id chat.UserID) (User, error) {
	var out User
	return out, c.call(ctx, http.MethodGet, userPath(id), nil, nil, &out)
}

// CreateUser adds a person.
func (c *Client) CreateUser(ctx context.Context, in UserCreate) (User, error) {
	var out User
	return out, c.call(ctx, http.MethodPost, "/users", nil, in, &out)
}

// UpdateUser changes a person.
func (c *Client) UpdateUser(ctx context.Context, id chat.UserID, in UserUpdate) (User, error) {
	var out User
	return out, c.call(ctx, http.MethodPatch, userPath(id), nil, in, &out)
}

// DeleteUser removes a person who is disabled, with their chats.
func (c *Client) DeleteUser(ctx context.Context, id chat.UserID) error {
	return c.call(ctx, http.MethodDelete, userPath(id), nil, nil, nil)
}

// Me gives the caller.
func (c *Client) Me(ctx context.Context) (Me, error) {
	var out Me
	return out, c.call(ctx, http.MethodGet, "/me", nil, nil, &out)
}

// ChangePassword sets the caller's password and signs out their other browsers.
func (c *Client) ChangePassword(ctx context.Context, in PasswordChange) error {
	return c.call(ctx, http.MethodPut, "/me/password", nil, in, nil)
}

// Sessions lists the browsers in which a user is signed in; "" is the caller.
func (c *Client) Sessions(ctx context.Context, user chat.UserID) ([]Session, error) {
	var out SessionPage
	err := c.call(ctx, http.MethodGet, "/sessions", ofUser(user), nil, &out)
	return out.Sessions, err
}

// RevokeSession signs a browser out; user "" is the caller.
func (c *Client) RevokeSession(ctx context.Context, user chat.UserID, id chat.SessionID) error {
	return c.call(ctx, http.MethodDelete, "/sessions/"+url.PathEscape(string(id)), ofUser(user), nil, nil)
}

func userPath(id chat.UserID) string { return "/users/" + url.PathEscape(string(id)) }

func ofUser(user chat.UserID) url.Values {
	v := url.Values{}
	setIf(v, "user_id", string(user))
	return v
}
