package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"

	"holdfast/engine/chat"
)

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// exact refuses what the decoder takes in silence: a field that is there twice, of which it keeps the last, and one in other case. What is free in
// its shape, as a tool's arguments are, is not looked into. Text that is no JSON is the decoder's business.
func exact(b []byte, into any) error {
	err := exactValue(json.NewDecoder(bytes.NewReader(b)), reflect.TypeOf(into), "")
	if errors.Is(err, errDecoders) {
		return nil
	}
	return err
}

// errDecoders ends the look at what the decoder refuses anyway.
var errDecoders = errors.New("what the decoder refuses")

func exactValue(d *json.Decoder, t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer && !t.Implements(decodesItself) {
		t = t.Elem()
	}
	fixed := t.Kind() == reflect.Struct || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	if !fixed || t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		var free json.RawMessage
		if d.Decode(&free) != nil {
			return errDecoders
		}
		return nil
	}
	open, err := d.Token()
	if err != nil {
		return errDecoders
	}
	switch open {
	case json.Delim('{'):
		return exactObject(d, t, at)
	case json.Delim('['):
		if t.Kind() != reflect.Slice {
			return errDecoders
		}
		for d.More() {
			if err := exactValue(d, t.Elem(), at); err != nil {
				return err
			}
		}
		return exactEnd(d)
	}
	return nil
}

func exactEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errDecoders
	}
	return nil
}

func exactObject(d *json.Decoder, t reflect.Type, at string) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok || t.Kind() == reflect.Slice {
			return errDecoders
		}
		where := strings.TrimPrefix(at+"."+name, ".")
		if seen[name] {
			return chat.Invalid(where, "is there twice")
		}
		seen[name] = true
		inner := t
		if t.Kind() == reflect.Map {
			inner = t.Elem()
		} else {
			field, spelled := fieldOf(t, name)
			if field == nil {
				return errDecoders
			}
			if spelled != name {
				return chat.Invalid(where, "is written "+spelled)
			}
			inner = field
		}
		if err := exactValue(d, inner, where); err != nil {
			return err
		}
	}
	return exactEnd(d)
}

// field is a field of a struct as JSON has it.
type field struct {
	name string
	of   reflect.Type
}

// fields are those of the types that were asked for, []field by reflect.Type: looking through a struct costs more than reading a short body.
var fields sync.Map

// fieldsOf gives the fields of a struct.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	all := []field{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		all = append(all, field{name: tag, of: f.Type})
	}
	fields.Store(t, all)
	return all
}

// fieldOf gives the type of a field, by its name or else in other case, and how it is written; nil for none.
func fieldOf(t reflect.Type, name string) (found reflect.Type, spelled string) {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f.of, f.name
		}
		if strings.EqualFold(f.name, name) {
			found, spelled = f.of, f.name
		}
	}
	return found, spelled
}
