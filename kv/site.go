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

// SiteOf is Site for a value that every Turn reads: it is decoded once for as long as the stored bytes are the same, and what a View gets may
// share its slices, maps and pointers with what others read. begin is what counts where nothing is stored and what the stored fields are laid
// over; a name is always read with the same one.
func SiteOf[T any](x *Tx, key string, begin T) (T, error) {
	if _, fixed := x.fixedSite(key); fixed || x.t.done || x.t.shared.bt.Writable() {
		_, err := x.Site(key, &begin)
		return begin, err
	}
	stored, err := x.t.raw(bSite, []byte(key))
	if err != nil || stored == nil {
		return begin, err
	}
	r := row{key: []byte(key), value: stored}
	if kept, ok := x.s.decoded.find(bSite, r).(*T); ok {
		return *kept, nil
	}
	if _, err := x.Site(key, &begin); err != nil {
		return begin, err
	}
	own := begin
	x.s.decoded.keep(bSite, r, &own)
	return begin, nil
}
