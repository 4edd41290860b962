package kv

import "errors"

// Site reads a value of the site configuration into a pointer and says whether there is one.
func (x *Tx) Site(key string, into any) (bool, error) {
	if key == "" {
		return false, errors.New("kv: a site value without a name")
	}
	return x.t.getJSON(bSite, []byte(key), into)
}

// PutSite writes a value of the site configuration; nil removes it.
func (x *Tx) PutSite(key string, v any) error {
	if key == "" {
		return errors.New("kv: a site value without a name")
	}
	if v == nil {
		return x.t.delete(bSite, []byte(key))
	}
	return x.t.putJSON(bSite, []byte(key), v)
}
