package kv

import "holdfast/engine/chat"

// Tokens stand under their hash, which every request asks for; what is by id or person walks the few that there are.

var tokenFields = fieldsOf[chat.Token]()

// TokenByHash gives the Token with this SHA-256. It may be expired: the caller compares ExpiresAt.
func (tx *Tx) TokenByHash(hash []byte) (*chat.Token, bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.Token](tx, bToken, key)
}

// Tokens gives a person's Tokens.
func (tx *Tx) Tokens(user chat.UserID) ([]*chat.Token, error) {
	return listWhere(tx, bToken, func(t *chat.Token) bool { return t.UserID == user })
}

// PutToken writes a Token. Its hash never changes.
func (tx *Tx) PutToken(t *chat.Token) error {
	key, err := hashKey(t.Hash)
	if err != nil {
		return err
	}
	return putNoun(tx, bToken, key, t, tokenFields)
}

// DeleteToken removes a Token and says whether there was one.
func (tx *Tx) DeleteToken(id chat.TokenID) (bool, error) {
	return deleteWhere(tx, bToken, func(t *chat.Token) bool { return t.ID == id })
}
