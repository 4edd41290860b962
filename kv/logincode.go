package kv

import "holdfast/engine/chat"

// PutLoginCode keeps a one-time code; Sweep removes it after its end.
func (x *Tx) PutLoginCode(c *chat.LoginCode) error {
	key, err := hashKey(c.Hash)
	if err != nil {
		return err
	}
	return x.t.putJSON(bLoginCode, key, c)
}

// TakeLoginCode removes the code with this SHA-256 and gives it: of two takers one gets it. It may be past its end: the caller compares
// ExpiresAt.
func (x *Tx) TakeLoginCode(hash []byte) (*chat.LoginCode, bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return nil, false, err
	}
	c, found, err := getNoun[chat.LoginCode](x, bLoginCode, key)
	if err != nil || !found {
		return nil, false, err
	}
	return c, true, x.t.delete(bLoginCode, key)
}

// HasLoginCode says whether there is a code with this SHA-256, without taking it.
func (x *Tx) HasLoginCode(hash []byte) (bool, error) {
	key, err := hashKey(hash)
	if err != nil {
		return false, err
	}
	_, found, err := getNoun[chat.LoginCode](x, bLoginCode, key)
	return found, err
}
