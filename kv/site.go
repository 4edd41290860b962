package kv

import "errors"

// Site reads a value of the site configuration into a pointer and says whether there is one.
func (tx *Tx) Site(key string, into any) (bool, error) {
	if key == "" {
		return false, errors.New("kv: a site value without a name")
	}
	return tx.t.getJSON(bSite, []byte(key), into)
}

// PutSite writes a value of the site configuration; nil removes it.
func (tx *Tx) PutSite(key string, v any) error {
	if key == "" {
		return errors.New("kv: a site value without a name")
	}
	if v == nil {
		return tx.t.delete(bSite, []byte(key))
	}
	return tx.t.putJSON(bSite, []byte(key), v)
}
