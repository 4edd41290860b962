package kv

import "holdfast/engine/chat"

// ReadMark gives the newest Message of a Chat that a person has seen, 0 for none.
func (x *Tx) ReadMark(user chat.UserID, id chat.ID) (chat.MessageID, error) {
	key, err := readMarkKey(user, id)
	if err != nil {
		return 0, err
	}
	var m chat.MessageID
	_, err = x.t.getJSON(bReadMark, key, &m)
	return m, err
}

// PutReadMark keeps it.
func (x *Tx) PutReadMark(user chat.UserID, id chat.ID, m chat.MessageID) error {
	key, err := readMarkKey(user, id)
	if err != nil {
		return err
	}
	return x.t.putJSON(bReadMark, key, m)
}

func readMarkKey(user chat.UserID, id chat.ID) ([]byte, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	u, err := parseID(string(user))
	if err != nil {
		return nil, err
	}
	return append(key, u[:]...), nil
}
