package account

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TokenPrefix begins the text of every API token.
const TokenPrefix = "hf_"

// TokenInfo is a token as it may be shown: all but its hash.
type TokenInfo struct {
	ID        chat.TokenID `json:"id"`
	UserID    chat.UserID  `json:"user_id"`
	Name      string       `json:"name"`
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt *time.Time   `json:"expires_at,omitempty"`
	LastUsed  *time.Time   `json:"last_used,omitempty"`
	ReadOnly  bool         `json:"read_only"`
}

// ListTokensInput names whose tokens; "" is the principal's own.
type ListTokensInput struct {
	UserID chat.UserID `json:"user_id,omitempty"`
}

// ListTokensOutput holds the tokens, the newest first, expired ones included.
type ListTokensOutput struct {
	Tokens []TokenInfo `json:"tokens"`
}

// ListTokens gives the tokens of a user.
func (r *Room) ListTokens(ctx context.Context, p chat.Principal, in ListTokensInput) (ListTokensOutput, error) {
	out := ListTokensOutput{Tokens: []TokenInfo{}}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		all, err := tx.Tokens(orSelf(in.UserID, p))
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b *chat.Token) int { return b.CreatedAt.Compare(a.CreatedAt) })
		for _, t := range all {
			out.Tokens = append(out.Tokens, r.tokenInfo(t))
		}
		return nil
	})
	return out, err
}

// CreateTokenInput describes a token. UserID "" is the principal, a nil ExpiresAt is never.
type CreateTokenInput struct {
	UserID    chat.UserID `json:"user_id,omitempty"`
	Name      string      `json:"name"`
	ExpiresAt *time.Time  `json:"expires_at,omitempty"`
	ReadOnly  bool        `json:"read_only,omitempty"`
}

// CreateTokenOutput has the text of the token, for the only time.
type CreateTokenOutput struct {
	TokenInfo
	Token    string `json:"token"`
	UserName string `json:"user"`
}

// CreateToken makes a token. KindInvalid names a bad field, KindNotFound an unknown user.
func (r *Room) CreateToken(ctx context.Context, p chat.Principal, in CreateTokenInput) (CreateTokenOutput, error) {
	now := r.now().UTC()
	name, err := cleanName(in.Name)
	if err != nil {
		return CreateTokenOutput{}, err
	}
	if name == "" {
		return CreateTokenOutput{}, chat.Invalid("name", "must say what the token is for")
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(now) {
		return CreateTokenOutput{}, chat.Invalid("expires_at", "must lie in the future")
	}
	text, hash := newSecret(TokenPrefix)
	t := &chat.Token{ID: chat.TokenID(newID()), UserID: orSelf(in.UserID, p), Name: name, Hash: hash, CreatedAt: now,
		ExpiresAt: in.ExpiresAt, ReadOnly: in.ReadOnly}
	var owner *chat.User
	err = r.store.Update(ctx, func(tx *kv.Tx) (err error) {
		if owner, err = mustUser(tx, t.UserID); err != nil {
			return err
		}
		if owner.Disabled {
			return disabled(owner)
		}
		return putToken(tx, t)
	})
	if err != nil {
		return CreateTokenOutput{}, err
	}
	return CreateTokenOutput{TokenInfo: r.tokenInfo(t), Token: text, UserName: owner.Name}, nil
}

func putToken(tx *kv.Tx, t *chat.Token) error {
	have, err := tx.Tokens(t.UserID)
	if err != nil {
		return err
	}
	if len(have) >= maxTokens {
		return &chat.Error{Kind: chat.KindWrongState, Message: "There are too many tokens.",
			Detail: "A user has at most " + strconv.Itoa(maxTokens) + " tokens. Revoke some first."}
	}
	return tx.PutToken(t)
}

// RevokeTokenInput names a token and whose it is; UserID "" is the principal.
type RevokeTokenInput struct {
	ID     chat.TokenID `json:"id"`
	UserID chat.UserID  `json:"user_id,omitempty"`
}

// RevokeTokenOutput is empty.
type RevokeTokenOutput struct{}

// RevokeToken ends a token and every stream that it holds open. KindNotFound when that user has no such token.
func (r *Room) RevokeToken(ctx context.Context, p chat.Principal, in RevokeTokenInput) (RevokeTokenOutput, error) {
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.Tokens(orSelf(in.UserID, p))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(t *chat.Token) bool { return t.ID == in.ID }) {
			return chat.NotFound("token")
		}
		_, err = tx.DeleteToken(in.ID)
		return err
	})
	if err != nil {
		return RevokeTokenOutput{}, err
	}
	r.ended(string(in.ID))
	return RevokeTokenOutput{}, nil
}

func (r *Room) tokenInfo(t *chat.Token) TokenInfo {
	i := TokenInfo{ID: t.ID, UserID: t.UserID, Name: t.Name, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsed: t.LastUsed,
		ReadOnly: t.ReadOnly}
	if at, ok := r.lastUsed(string(t.ID)); ok && (i.LastUsed == nil || at.After(*i.LastUsed)) {
		i.LastUsed = &at
	}
	return i
}

// cleanName trims a label and refuses what would not print on one line.
func cleanName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > maxName {
		return "", chat.Invalid("name", "must have at most "+strconv.Itoa(maxName)+" characters")
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return "", chat.Invalid("name", "must be printable text")
	}
	return name, nil
}
