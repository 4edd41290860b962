package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestFieldsAreWrittenOnceAndAsTheyAre(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	type named struct {
		Label string `json:"label"`
	}
	type body struct {
		named
		Enabled *bool             `json:"enabled"`
		Headers map[string]string `json:"headers"`
		List    []inner           `json:"list"`
		One     *inner            `json:"one"`
		Raw     json.RawMessage   `json:"raw"`
		Any     any               `json:"any"`
	}
	for text, want := range map[string]string{
		`{"list":[{"name":"a"},{"name":`: "The request is not valid.",
		`{"list":[{"name":"a" "b"}]}`:    "The request is not valid.",
		`{"list":[1 2`:                   "The request is not valid.",
		`{"headers":{"a":x`:              "The request is not valid.",
		`{"enabled":true,"label":"x","headers":{"X-Key":"a","x-key":"b"},"list":[{"name":"a"},{"name":"b"}],"one":{"name":"c"}}`: "",
		`{"raw":{"a":1,"a":2,"A":3},"any":{"b":1,"b":2},"list":[],"one":null,"headers":null}`:                                    "",
		`{"Enabled":true}`:                                "Enabled: is written enabled",
		`{"LABEL":"x"}`:                                   "LABEL: is written label",
		`{"enabled":true,"enabled":false}`:                "enabled: is there twice",
		`{"enabled":true,"\u0065nabled":false}`:           "enabled: is there twice",
		`{"headers":{"a":"1","a":"2"}}`:                   "headers.a: is there twice",
		`{"list":[{"name":"a"},{"name":"b","Name":"c"}]}`: "list.Name: is written name",
		`{"one":{"name":"a","name":"b"}}`:                 "one.name: is there twice",
		`{"colour":1}`:                                    "colour: is not known here",
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		got := ""
		var told *chat.Error
		if err := ReadJSON(r, &body{}); errors.As(err, &told) && len(told.Validations) == 1 {
			got = told.Validations[0].Field + ": " + told.Validations[0].Detail
		} else if err != nil {
			got = told.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzExact holds the look at a text against one through encoding/json's own tokens.
func FuzzExact(f *testing.F) {
	type leaf struct {
		Name string          `json:"name"`
		Raw  json.RawMessage `json:"raw"`
	}
	type body struct {
		leaf
		List    []leaf            `json:"list"`
		Headers map[string]string `json:"headers"`
		One     *leaf             `json:"one"`
		Any     any               `json:"any"`
		Bytes   []byte            `json:"bytes"`
		Deep    map[string][]leaf `json:"deep"`
	}
	for _, s := range []string{
		`{"name":"a","list":[{"name":"a"},{"Name":"b"}],"headers":{"x":"1","x":"2"},"any":{"b":[1,{"c":"\\"}],"b":2}}`,
		"{\"one\":null,\"\\u006eame\":1,\"name\":\"\\\"}\"}", `{"deep":{"a":[{"raw":[1,[2,"]"]],"raw":3}]},"bytes":"AAA="}`, ` [ ] `, `{"list":{}}`, `{"name":tru e}`,
		"{\"\xff\":1,\"\ufffd\":2}", `{"headers":{"é":"1","\u00e9":"2"}}`, `{"list":[,]}`, `"`, `{"any":[}]}`, `{"any"::1}`,
		`{"headers":{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","k":"","j":""}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := exact(text, &body{})
		if !json.Valid(text) {
			return
		}
		want := exactValue(json.NewDecoder(bytes.NewReader(text)), reflect.TypeFor[body](), "")
		if errors.Is(want, errDecoders) {
			want = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

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
