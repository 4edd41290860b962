package kv

import "holdfast/engine/chat"

// PutIntent keeps an Intent under its Step and Index; a second one there replaces it, as when its Result has come.
func (x *Tx) PutIntent(id chat.ID, i *chat.Intent) error {
	key, err := stepKey(id, i.Step, i.Index)
	if err != nil {
		return err
	}
	return x.t.putJSON(bIntent, key, i)
}

// Intents gives a Chat's Intents by Step and Index.
func (x *Tx) Intents(id chat.ID) ([]*chat.Intent, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	return listNoun[chat.Intent](x, bIntent, key)
}

// ClearIntents removes all Intents; it belongs in the Step's commit.
func (x *Tx) ClearIntents(id chat.ID) error { return x.clearOf(bIntent, id) }
