package account

import (
	"context"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// MeInput asks who the principal is.
type MeInput struct{}

// MeOutput is the principal as the page and the API show it.
type MeOutput struct {
	User     chat.User `json:"user"`
	ReadOnly bool      `json:"read_only"`
}

// Me gives the principal's own user.
func (r *Room) Me(ctx context.Context, p chat.Principal, _ MeInput) (MeOutput, error) {
	var out MeOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		u, err := mustUser(tx, p.UserID)
		if err != nil {
			return err
		}
		out = MeOutput{User: *u, ReadOnly: p.ReadOnly}
		return nil
	})
	return out, err
}

// ListUsersInput asks for all people.
type ListUsersInput struct{}

// ListUsersOutput holds all people, the oldest first.
type ListUsersOutput struct {
	Users []chat.User `json:"users"`
}

// ListUsers gives everybody.
func (r *Room) ListUsers(ctx context.Context, _ chat.Principal, _ ListUsersInput) (ListUsersOutput, error) {
	var out ListUsersOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		users, err := tx.Users()
		if err != nil {
			return err
		}
		slices.SortFunc(users, byAge)
		for _, u := range users {
			out.Users = append(out.Users, *u)
		}
		return nil
	})
	return out, err
}

// mustUser gives the user or KindNotFound.
func mustUser(tx *kv.Tx, id chat.UserID) (*chat.User, error) {
	u, ok, err := tx.User(id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, chat.NotFound("user")
	}
	return u, nil
}

// orSelf is the named user, or the principal where none is named.
func orSelf(named chat.UserID, p chat.Principal) chat.UserID {
	if named == "" {
		return p.UserID
	}
	return named
}
