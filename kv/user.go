package kv

import (
	"maps"
	"slices"

	"holdfast/engine/chat"
)

var (
	userFields     = fieldsOf[chat.User]()
	passwordFields = passwordFieldsOf(userFields)
)

func passwordFieldsOf(user map[string]bool) map[string]bool {
	all := maps.Clone(user)
	all["password_hash"] = true
	return all
}

// storedPassword is what the record of a person holds beside the person. It is apart from chat.User, so that whoever is shown a person
// never holds it.
type storedPassword struct {
	chat.User
	// PasswordHash is the encoded hash of the password, "" for none.
	PasswordHash string `json:"password_hash,omitempty"`
}

// User gives a person.
func (x *Tx) User(id chat.UserID) (*chat.User, bool, error) {
	return getByID[chat.User](x, bUser, id)
}

// PutUser writes a person; their password stays.
func (x *Tx) PutUser(u *chat.User) error {
	key, err := idKey(u.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bUser, key, u, userFields)
}

// Users gives all people by id, which with UUIDs v7 is by age.
func (x *Tx) Users() ([]*chat.User, error) { return listNoun[chat.User](x, bUser, nil) }

// PasswordHash gives the hash of a person's password, "" for none.
func (x *Tx) PasswordHash(id chat.UserID) (string, error) {
	key, err := idKey(id)
	if err != nil {
		return "", err
	}
	// Not by getNoun: what it keeps is the person.
	var u storedPassword
	_, err = x.t.getJSON(bUser, key, &u)
	return u.PasswordHash, err
}

// PutPasswordHash writes the hash of the password of a person who is there; "" takes it away.
func (x *Tx) PutPasswordHash(id chat.UserID, hash string) error {
	u, found, err := x.User(id)
	if err != nil {
		return err
	}
	if !found {
		return chat.NotFound("user")
	}
	key, err := idKey(id)
	if err != nil {
		return err
	}
	return putNoun(x, bUser, key, &storedPassword{User: *u, PasswordHash: hash}, passwordFields)
}

// DeleteUser removes a person with their password, Tokens, Sessions, login codes, push subscriptions, Notices and sign-ins at MCP servers, and gives the ids of the Tokens and Sessions. What
// else is theirs must be gone already, but for their usage.
func (x *Tx) DeleteUser(id chat.UserID) (credentials []string, err error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	if credentials, err = x.DeleteSignIns(id); err != nil {
		return nil, err
	}
	tokens, err := x.Tokens(id)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		if _, err := x.DeleteToken(t.ID); err != nil {
			return nil, err
		}
		credentials = append(credentials, string(t.ID))
	}
	pushes, err := x.PushSubscriptions(id)
	if err != nil {
		return nil, err
	}
	for _, p := range pushes {
		if _, err := x.DeletePushSubscription(id, p.ID); err != nil {
			return nil, err
		}
	}
	if err := x.deleteMCPSignIns(id); err != nil {
		return nil, err
	}
	if err := x.trimNotices(id, 0); err != nil {
		return nil, err
	}
	_, err = deleteNoun(x, bUser, key)
	return credentials, err
}

// DeleteSignIns removes a person's Sessions but those to keep, and all their login codes. It gives the ids of the Sessions.
func (x *Tx) DeleteSignIns(id chat.UserID, keep ...chat.SessionID) (sessions []string, err error) {
	all, err := x.Sessions(id)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if slices.Contains(keep, s.ID) {
			continue
		}
		if _, err := x.DeleteSession(s.ID); err != nil {
			return nil, err
		}
		sessions = append(sessions, string(s.ID))
	}
	codes, err := listWhere(x, bLoginCode, func(c *chat.LoginCode) bool { return c.UserID == id })
	if err != nil {
		return nil, err
	}
	for _, c := range codes {
		if err := x.t.delete(bLoginCode, c.Hash); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}
