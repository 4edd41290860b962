package account

import (
	"context"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CreateUserInput describes a new person. Role "" is a member; without a Password they sign in with one-time links until they set one.
type CreateUserInput struct {
	Name     string        `json:"name"`
	Role     chat.UserRole `json:"role,omitempty"`
	Password string        `json:"password,omitempty"`
}

// CreateUser adds a person. KindInvalid names a bad field; a name is unique whatever its case.
func (r *Room) CreateUser(ctx context.Context, _ chat.Principal, in CreateUserInput) (Person, error) {
	u := &chat.User{ID: chat.UserID(newID()), Role: in.Role, CreatedAt: r.now().UTC()}
	if u.Role == "" {
		u.Role = chat.UserMember
	}
	var err error
	if u.Name, err = userName(in.Name); err != nil {
		return Person{}, err
	}
	if err := checkRole(u.Role); err != nil {
		return Person{}, err
	}
	hash, err := r.newPassword(ctx, in.Password, u.Name)
	if err != nil {
		return Person{}, err
	}
	chat.AuditOf(ctx).About(string(u.ID))
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		if err := nameIsFree(tx, u); err != nil {
			return err
		}
		if err := tx.PutUser(u); err != nil || hash == "" {
			return err
		}
		return tx.PutPasswordHash(u.ID, hash)
	})
	if err != nil {
		return Person{}, err
	}
	return Person{User: *u, HasPassword: hash != ""}, nil
}

// UpdateUserInput names a person and what changes; nil fields stay. Password "" takes the password away.
type UpdateUserInput struct {
	ID       chat.UserID    `json:"id"`
	Name     *string        `json:"name,omitempty"`
	Role     *chat.UserRole `json:"role,omitempty"`
	Disabled *bool          `json:"disabled,omitempty"`
	Password *string        `json:"password,omitempty"`
}

// UpdateUser changes a person, at once: another role counts for the next request and ends open streams, which are asked for anew; a new
// password and disabling sign the person out everywhere, and disabling stops what runs for them. The last admin stays one.
func (r *Room) UpdateUser(ctx context.Context, p chat.Principal, in UpdateUserInput) (Person, error) {
	if in.Role != nil {
		if err := checkRole(*in.Role); err != nil {
			return Person{}, err
		}
	}
	before, err := r.GetUser(ctx, p, GetUserInput{ID: in.ID})
	if err != nil {
		return Person{}, err
	}
	name := before.Name
	if in.Name != nil {
		if name, err = userName(*in.Name); err != nil {
			return Person{}, err
		}
	}
	var hash string
	if in.Password != nil {
		if hash, err = r.newPassword(ctx, *in.Password, name); err != nil {
			return Person{}, err
		}
	}
	var out Person
	var ended []string
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		u, err := mustUser(tx, in.ID)
		if err != nil {
			return err
		}
		old := *u
		if ended, err = changeUser(tx, u, in, name); err != nil {
			return err
		}
		if in.Password != nil {
			if err := tx.PutPasswordHash(u.ID, hash); err != nil {
				return err
			}
		}
		if in.Password != nil || u.Disabled && !old.Disabled {
			keep := p.SessionID
			if in.ID != p.UserID {
				keep = ""
			}
			if ended, err = tx.DeleteSignIns(u.ID, keep); err != nil {
				return err
			}
		}
		if u.Role != old.Role || u.Disabled && !old.Disabled {
			ended = append(ended, string(u.ID))
		}
		out, err = r.person(tx, u)
		return err
	})
	if err != nil {
		return Person{}, err
	}
	for _, id := range ended {
		r.ended(id)
	}
	if in.Disabled != nil && *in.Disabled && r.chats.Stop != nil {
		if err := r.chats.Stop(ctx, in.ID); err != nil {
			return Person{}, err
		}
	}
	return out, nil
}

// changeUser writes the person with what changes, if an admin is left then.
func changeUser(tx *kv.Tx, u *chat.User, in UpdateUserInput, name string) ([]string, error) {
	if in.Name != nil {
		u.Name = name
		if err := nameIsFree(tx, u); err != nil {
			return nil, err
		}
	}
	if in.Role != nil {
		u.Role = *in.Role
	}
	if in.Disabled != nil {
		u.Disabled = *in.Disabled
	}
	if err := adminLeft(tx, u); err != nil {
		return nil, err
	}
	return nil, tx.PutUser(u)
}

// DeleteUserInput names a person.
type DeleteUserInput struct {
	ID chat.UserID `json:"id"`
}

// DeleteUserOutput is empty.
type DeleteUserOutput struct{}

// DeleteUser removes a person who is disabled, with their chats, workspaces, agents, sessions and tokens; what they used stays in the sums.
// KindWrongState for one who is not disabled or for whom something still runs.
func (r *Room) DeleteUser(ctx context.Context, p chat.Principal, in DeleteUserInput) (DeleteUserOutput, error) {
	who, err := r.GetUser(ctx, p, GetUserInput(in))
	if err != nil {
		return DeleteUserOutput{}, err
	}
	if !who.Disabled {
		return DeleteUserOutput{}, notDisabled(&who.User)
	}
	// Who is disabled can make no new ones, and families are removed one by one.
	for _, remove := range []func(context.Context, chat.UserID) error{r.chats.Delete, r.chats.Workspaces} {
		if remove == nil {
			continue
		}
		if err := remove(ctx, in.ID); err != nil {
			return DeleteUserOutput{}, err
		}
	}
	var ended []string
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		u, err := mustUser(tx, in.ID)
		if err != nil {
			return err
		}
		if !u.Disabled {
			return notDisabled(u)
		}
		if err := deleteWorkspaces(tx, u.ID); err != nil {
			return err
		}
		ended, err = tx.DeleteUser(u.ID)
		return err
	})
	if err != nil {
		return DeleteUserOutput{}, err
	}
	for _, id := range append(ended, string(in.ID)) {
		r.ended(id)
	}
	return DeleteUserOutput{}, nil
}

func deleteWorkspaces(tx *kv.Tx, user chat.UserID) error {
	all, err := tx.Workspaces()
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.OwnerID != user {
			continue
		}
		if _, err := tx.DeleteWorkspace(w.ID); err != nil {
			return err
		}
	}
	return nil
}

// ChangePasswordInput is the principal's new password, and the present one where there is one.
type ChangePasswordInput struct {
	Current  string `json:"current_password,omitempty"`
	Password string `json:"password"`
}

// ChangePasswordOutput is empty.
type ChangePasswordOutput struct{}

// ChangePassword sets the principal's own password and signs out all their other browsers. KindInvalid names a wrong present password,
// KindRateLimited comes after some of them.
func (r *Room) ChangePassword(ctx context.Context, p chat.Principal, in ChangePasswordInput) (ChangePasswordOutput, error) {
	var old string
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		if _, err = mustUser(tx, p.UserID); err != nil {
			return err
		}
		old, err = tx.PasswordHash(p.UserID)
		return err
	})
	if err != nil {
		return ChangePasswordOutput{}, err
	}
	if old != "" {
		if err := r.proveCurrent(ctx, p, in.Current, old); err != nil {
			return ChangePasswordOutput{}, err
		}
	}
	if in.Password == "" {
		return ChangePasswordOutput{}, chat.Invalid("password", "must not be empty")
	}
	hash, err := r.newPassword(ctx, in.Password, p.Name)
	if err != nil {
		return ChangePasswordOutput{}, err
	}
	var ended []string
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		now, err := tx.PasswordHash(p.UserID)
		if err != nil {
			return err
		}
		if now != old {
			return &chat.Error{Kind: chat.KindWrongState, Message: "The password was changed somewhere else just now."}
		}
		if err := tx.PutPasswordHash(p.UserID, hash); err != nil {
			return err
		}
		ended, err = tx.DeleteSignIns(p.UserID, p.SessionID)
		return err
	})
	if err != nil {
		return ChangePasswordOutput{}, err
	}
	for _, id := range ended {
		r.ended(id)
	}
	return ChangePasswordOutput{}, nil
}

// proveCurrent refuses who does not know their present password: an open page or a token alone must not become one.
func (r *Room) proveCurrent(ctx context.Context, p chat.Principal, current, hash string) error {
	end, wait := r.tries.begin(allowance{"own\x00" + string(p.UserID), triesName})
	if wait > 0 {
		return tooManyTries(wait, "")
	}
	ok, _, err := r.passwords.matches(ctx, current, hash)
	end(ok && err == nil)
	if err != nil {
		return err
	}
	if !ok {
		return chat.Invalid("current_password", "is not your present password")
	}
	return nil
}

// newPassword checks a password and gives its hash; "" is none.
func (r *Room) newPassword(ctx context.Context, password, name string) (string, error) {
	if password == "" {
		return "", nil
	}
	if err := checkPassword(password, name); err != nil {
		return "", err
	}
	return r.passwords.hash(ctx, password)
}

func userName(name string) (string, error) {
	name, err := cleanName(name)
	if err == nil && name == "" {
		err = chat.Invalid("name", "must not be empty")
	}
	return name, err
}

func checkRole(role chat.UserRole) error {
	if role != chat.UserAdmin && role != chat.UserMember {
		return chat.Invalid("role", "must be admin or member")
	}
	return nil
}

// nameIsFree refuses a name that somebody else has.
func nameIsFree(tx *kv.Tx, u *chat.User) error {
	all, err := tx.Users()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(o *chat.User) bool { return o.ID != u.ID && fold(o.Name) == fold(u.Name) }) {
		return chat.Invalid("name", "somebody else has this name")
	}
	return nil
}

// adminLeft refuses a change after which no admin could sign in.
func adminLeft(tx *kv.Tx, changed *chat.User) error {
	all, err := tx.Users()
	if err != nil {
		return err
	}
	works := func(u *chat.User) bool { return u.Role == chat.UserAdmin && !u.Disabled }
	if works(changed) || slices.ContainsFunc(all, func(u *chat.User) bool { return u.ID != changed.ID && works(u) }) {
		return nil
	}
	return &chat.Error{Kind: chat.KindWrongState, Message: changed.Name + " is the last admin.",
		Detail: "Make somebody else an admin first; the appliance must have one."}
}

func disabled(u *chat.User) *chat.Error {
	return &chat.Error{Kind: chat.KindWrongState, Message: u.Name + " is disabled.", Detail: "Enable them first."}
}

func notDisabled(u *chat.User) *chat.Error {
	return &chat.Error{Kind: chat.KindWrongState, Message: u.Name + " is not disabled.",
		Detail: "Disable them first; that stops what runs for them."}
}
