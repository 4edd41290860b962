package kv

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// keepUnknown adds to body the top-level fields of the stored record that this version does not know. It takes the old JSON apart only
// when a byte scan has met an unknown name, which it does not in a store that no newer version wrote.
func (x *Tx) keepUnknown(b bucket, key, body []byte, known map[string]bool) ([]byte, error) {
	old, found, err := x.t.get(b, key)
	if err != nil || !found {
		return body, err
	}
	oldBody, err := x.t.body(b, key, old)
	if err != nil {
		return nil, err
	}
	return mergeUnknown(body, oldBody, known), nil
}

func mergeUnknown(body, old []byte, known map[string]bool) []byte {
	if !hasUnknown(old, known) {
		return body
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(old, &fields) != nil || len(body) < 2 || body[len(body)-1] != '}' {
		return body
	}
	out := bytes.Clone(body[:len(body)-1])
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if known[name] {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), fields[name]...)
	}
	return append(out, '}')
}

// hasUnknown walks the bytes of a JSON object of our own making and looks at its top-level names. A name with escapes counts as unknown.
func hasUnknown(object []byte, known map[string]bool) bool {
	depth := 0
	wantName := false
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
			wantName = depth == 1
		case '}', ']':
			depth--
		case ',':
			wantName = depth == 1
		case ':':
			wantName = false
		case '"':
			end := stringEnd(object, i)
			if end < 0 {
				return true
			}
			if depth == 1 && wantName && !known[string(object[i+1:end])] {
				return true
			}
			i = end
		}
	}
	return false
}

// stringEnd is the index of the quote that closes the string opened at start, -1 when none does.
func stringEnd(b []byte, start int) int {
	for i := start + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// fieldsOf are the JSON names of T's fields.
func fieldsOf[T any]() map[string]bool {
	set := map[string]bool{}
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			set[name] = true
		}
	}
	return set
}
