package kv

import (
	"encoding/json"
	"errors"
)

// Site reads a value of the site configuration into a pointer and says whether there is one; what FixSite has fixed comes before what is
// stored.
func (x *Tx) Site(key string, into any) (bool, error) {
	if key == "" {
		return false, errors.New("kv: a site value without a name")
	}
	if raw, fixed := x.fixedSite(key); fixed {
		return true, json.Unmarshal(raw, into)
	}
	return x.t.getJSON(bSite, []byte(key), into)
}

// PutSite writes a value of the site configuration; nil removes it. One that the configuration file fixes is KindWrongState.
func (x *Tx) PutSite(key string, v any) error {
	if key == "" {
		return errors.New("kv: a site value without a name")
	}
	if _, fixed := x.fixedSite(key); fixed {
		return errFixed()
	}
	if v == nil {
		return x.t.delete(bSite, []byte(key))
	}
	return x.t.putJSON(bSite, []byte(key), v)
}
