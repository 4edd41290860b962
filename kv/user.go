package kv

import "holdfast/engine/chat"

var userFields = fieldsOf[chat.User]()

// User gives a person.
func (tx *Tx) User(id chat.UserID) (*chat.User, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.User](tx, bUser, key)
}

// PutUser writes a person.
func (tx *Tx) PutUser(u *chat.User) error {
	key, err := idKey(u.ID)
	if err != nil {
		return err
	}
	return putNoun(tx, bUser, key, u, userFields)
}

// Users gives all people by id, which with UUIDs v7 is by age.
func (tx *Tx) Users() ([]*chat.User, error) { return listNoun[chat.User](tx, bUser, nil) }
