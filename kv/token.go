package kv

import "holdfast/engine/chat"

// Tokens stand under their hash, which every request asks for; what is by id or person walks the few that there are.

var tokenFields = fieldsOf[chat.Token]()

// TokenByHash gives the Token with this SHA-256. It may be expired: the caller compares ExpiresAt.
func (x *Tx) TokenByHash(hash []byte) (*chat.Token, bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.Token](x, bToken, key)
}

// Tokens gives a person's Tokens.
func (x *Tx) Tokens(user chat.UserID) ([]*chat.Token, error) {
	return listWhere(x, bToken, func(t *chat.Token) bool { return t.UserID == user })
}

// PutToken writes a Token. Its hash never changes.
func (x *Tx) PutToken(t *chat.Token) error {
	key, err := hashKey(t.Hash)
	if err != nil {
		return err
	}
	return putNoun(x, bToken, key, t, tokenFields)
}

// DeleteToken removes a Token and says whether there was one.
func (x *Tx) DeleteToken(id chat.TokenID) (bool, error) {
	return deleteWhere(x, bToken, func(t *chat.Token) bool { return t.ID == id })
}
