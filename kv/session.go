package kv

import "holdfast/engine/chat"

var sessionFields = fieldsOf[chat.Session]()

// SessionByHash gives the Session with this SHA-256. It may be expired: the caller compares ExpiresAt.
func (x *Tx) SessionByHash(hash []byte) (*chat.Session, bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.Session](x, bSession, key)
}

// Sessions gives a person's Sessions.
func (x *Tx) Sessions(user chat.UserID) ([]*chat.Session, error) {
	return listWhere(x, bSession, func(s *chat.Session) bool { return s.UserID == user })
}

// PutSession writes a Session. Its hash never changes.
func (x *Tx) PutSession(s *chat.Session) error {
	key, err := hashKey(s.Hash)
	if err != nil {
		return err
	}
	return putNoun(x, bSession, key, s, sessionFields)
}

// DeleteSession removes a Session and says whether there was one.
func (x *Tx) DeleteSession(id chat.SessionID) (bool, error) {
	return deleteWhere(x, bSession, func(s *chat.Session) bool { return s.ID == id })
}
