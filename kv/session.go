package kv

import "holdfast/engine/chat"

var sessionFields = fieldsOf[chat.Session]()

// SessionByHash gives the Session with this SHA-256. It may be expired: the caller compares ExpiresAt.
func (tx *Tx) SessionByHash(hash []byte) (*chat.Session, bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.Session](tx, bSession, key)
}

// Sessions gives a person's Sessions.
func (tx *Tx) Sessions(user chat.UserID) ([]*chat.Session, error) {
	return listWhere(tx, bSession, func(s *chat.Session) bool { return s.UserID == user })
}

// PutSession writes a Session. Its hash never changes.
func (tx *Tx) PutSession(s *chat.Session) error {
	key, err := hashKey(s.Hash)
	if err != nil {
		return err
	}
	return putNoun(tx, bSession, key, s, sessionFields)
}

// DeleteSession removes a Session and says whether there was one.
func (tx *Tx) DeleteSession(id chat.SessionID) (bool, error) {
	return deleteWhere(tx, bSession, func(s *chat.Session) bool { return s.ID == id })
}
