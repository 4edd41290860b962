package gate

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
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
