package kv

import "holdfast/engine/chat"

// PutUsage adds a usage entry to a family's. Entries stay when the family goes.
func (x *Tx) PutUsage(u *chat.UsageEntry) error {
	root, err := idKey(u.RootID)
	if err != nil {
		return err
	}
	n, err := x.t.takeID()
	if err != nil {
		return err
	}
	return x.t.putJSON(bUsage, sequenceKey(root, n), u)
}

// Usage gives a family's usage entries, oldest first.
func (x *Tx) Usage(root chat.ID) ([]*chat.UsageEntry, error) {
	key, err := idKey(root)
	if err != nil {
		return nil, err
	}
	return listNoun[chat.UsageEntry](x, bUsage, key)
}
