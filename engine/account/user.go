package account

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// MeInput asks who the principal is.
type MeInput struct{}

// Person is a user as people see one.
type Person struct {
	chat.User
	HasPassword bool `json:"has_password"`
	// LastSeen is the last sign-in or use of any of the user's sessions and tokens, nil for never.
	LastSeen *time.Time `json:"last_seen,omitempty"`
}

// MeOutput is the principal as the page and the API show it.
type MeOutput struct {
	User     Person `json:"user"`
	ReadOnly bool   `json:"read_only"`
}

// Me gives the principal's own user.
func (r *Room) Me(ctx context.Context, p chat.Principal, _ MeInput) (MeOutput, error) {
	var out MeOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		u, err := mustUser(tx, p.UserID)
		if err != nil {
			return err
		}
		out.ReadOnly = p.ReadOnly
		out.User, err = r.person(tx, u)
		return err
	})
	return out, err
}

// ListUsersInput asks for all people.
type ListUsersInput struct{}

// ListUsersOutput holds all people, the oldest first.
type ListUsersOutput struct {
	Users []Person `json:"users"`
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
		out.Users = make([]Person, len(users))
		for i, u := range users {
			if out.Users[i], err = r.person(tx, u); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// GetUserInput names a person.
type GetUserInput struct {
	ID chat.UserID `json:"id"`
}

// GetUser gives one person. KindNotFound for an unknown one.
func (r *Room) GetUser(ctx context.Context, _ chat.Principal, in GetUserInput) (Person, error) {
	var out Person
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		u, err := mustUser(tx, in.ID)
		if err != nil {
			return err
		}
		out, err = r.person(tx, u)
		return err
	})
	return out, err
}

// person adds to a user what can be shown about how they sign in.
func (r *Room) person(tx *kv.Tx, u *chat.User) (Person, error) {
	out := Person{User: *u}
	hash, err := tx.PasswordHash(u.ID)
	if err != nil {
		return out, err
	}
	out.HasPassword, out.LastSeen = hash != "", u.SignedIn
	seen := func(at time.Time) {
		if out.LastSeen == nil || at.After(*out.LastSeen) {
			out.LastSeen = &at
		}
	}
	sessions, err := tx.Sessions(u.ID)
	if err != nil {
		return out, err
	}
	for _, s := range sessions {
		used, _ := r.sessionUse(s)
		seen(used)
	}
	tokens, err := tx.Tokens(u.ID)
	if err != nil {
		return out, err
	}
	for _, t := range tokens {
		if used := r.tokenInfo(t).LastUsed; used != nil {
			seen(*used)
		}
	}
	return out, nil
}

// mustUser gives the user or KindNotFound.
func mustUser(tx *kv.Tx, id chat.UserID) (*chat.User, error) {
	if !isID(string(id)) {
		return nil, chat.NotFound("user")
	}
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
