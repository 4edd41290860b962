package kv

import "holdfast/engine/chat"

var owedFields = fieldsOf[chat.OwedNotice]()

// OwedNotice gives what a Chat's person is still to be told.
func (x *Tx) OwedNotice(id chat.ID) (*chat.OwedNotice, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.OwedNotice](x, bOwed, key)
}

// PutOwedNotice replaces it.
func (x *Tx) PutOwedNotice(id chat.ID, n *chat.OwedNotice) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	return putNoun(x, bOwed, key, n, owedFields)
}

// DeleteOwedNotice removes it and says whether there was one.
func (x *Tx) DeleteOwedNotice(id chat.ID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	return deleteNoun(x, bOwed, key)
}

// OwedNotices names the Chats that have one.
func (x *Tx) OwedNotices() ([]chat.ID, error) {
	var out []chat.ID
	err := x.t.scan(bOwed, nil, nil, func(r row) (bool, error) {
		out = append(out, chat.ID(toID(r.key).String()))
		return true, nil
	})
	return out, err
}
