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
	Name      string      `json:"name,omitempty"`
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

func ofUser(user chat.UserID) url.Values {
	v := url.Values{}
	setIf(v, "user_id", string(user))
	return v
}
