package kv

import "holdfast/engine/chat"

var userFields = fieldsOf[chat.User]()

// User gives a person.
func (x *Tx) User(id chat.UserID) (*chat.User, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.User](x, bUser, key)
}

// PutUser writes a person.
func (x *Tx) PutUser(u *chat.User) error {
	key, err := idKey(u.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bUser, key, u, userFields)
}

// Users gives all people by id, which with UUIDs v7 is by age.
func (x *Tx) Users() ([]*chat.User, error) { return listNoun[chat.User](x, bUser, nil) }
