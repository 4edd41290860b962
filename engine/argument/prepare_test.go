package argument_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/argument"
	"holdfast/engine/chat"
)

const editSchema = `{"type":"object","properties":{
	"path":{"type":"string"},
	"offset":{"type":"integer"},
	"ratio":{"type":"number"},
	"all":{"type":"boolean"},
	"timeout":{"type":"string"},
	"kind":{"type":"string","enum":["content","name"]},
	"files":{"type":"array","items":{"type":"object","properties":{
		"path":{"type":"string"},
		"edits":{"type":"array","items":{"type":"object","properties":{"search":{"type":"string"},"replace":{"type":"string"},"all":{"type":"boolean"}},"required":["search","replace"]}}
	},"required":["path","edits"]}},
	"names":{"type":"array","items":{"type":"string"}}
},"required":["path"]}`

func TestPrepare(t *testing.T) {
	def := chat.ToolDef{Name: "tool", Schema: json.RawMessage(editSchema)}
	cases := []struct{ name, in, want, problem string }{
		{"as it is", `{"path":"a","offset":3,"ratio":1.5,"all":true}`, `{"all":true,"offset":3,"path":"a","ratio":1.5}`, ""},
		{"numbers and booleans as text", `{"path":"a","offset":"3","ratio":" 1.5 ","all":"True"}`, `{"all":true,"offset":3,"path":"a","ratio":1.5}`, ""},
		{"whole numbers written with a fraction", `{"path":"a","offset":3.0}`, `{"offset":3,"path":"a"}`, ""},
		{"whole numbers written with a fraction as text", `{"path":"a","offset":"3.0"}`, `{"offset":3,"path":"a"}`, ""},
		{"empty optional fields are absent", `{"path":"a","offset":"","all":"","timeout":"","files":"","kind":""}`, `{"path":"a"}`, ""},
		{"null optional fields are absent", `{"path":"a","offset":null}`, `{"path":"a"}`, ""},
		{"an empty required text is a value", `{"path":""}`, `{"path":""}`, ""},
		{"unknown fields are ignored", `{"path":"a","reason":"because","x":{"y":[1]}}`, `{"path":"a"}`, ""},
		{"a bare number for an optional text", `{"path":"a","timeout":30}`, `{"path":"a","timeout":"30"}`, ""},
		{"enum in another case", `{"path":"a","kind":"Content"}`, `{"kind":"content","path":"a"}`, ""},
		{"one object for a list, twice", `{"path":"a","files":{"path":"b","edits":{"search":"x","replace":"","all":"false"}}}`,
			`{"files":[{"edits":[{"all":false,"replace":"","search":"x"}],"path":"b"}],"path":"a"}`, ""},
		{"a list written as text", `{"path":"a","files":"[{\"path\":\"b\",\"edits\":[]}]"}`, `{"files":[{"edits":[],"path":"b"}],"path":"a"}`, ""},
		{"one object written as text for a list", `{"path":"a","files":"{\"path\":\"b\",\"edits\":[]}"}`, `{"files":[{"edits":[],"path":"b"}],"path":"a"}`, ""},
		{"one text for a list of texts", `{"path":"a","names":"x"}`, `{"names":["x"],"path":"a"}`, ""},
		{"text with marks stays as it is", `{"path":"a<b>&c"}`, `{"path":"a<b>&c"}`, ""},
		{"a bad byte becomes the replacement rune", "{\"path\":\"a\xff\"}", "{\"path\":\"a\ufffd\"}", ""},

		{"not JSON", `{"path":`, "", "they are not valid JSON: the text ends too early"},
		{"more than one value", `{"path":"a"} {"path":"b"}`, "", "they are not valid JSON: there is text after the object"},
		{"a list", `["a"]`, "", "they must be one JSON object, got a list"},
		{"text", `"a"`, "", `they must be one JSON object, got "a"`},
		{"nothing", ``, "", `"path" is missing`},
		{"null", `null`, "", `"path" is missing`},
		{"missing", `{"offset":3}`, "", `"path" is missing`},
		{"null for a required field", `{"path":null}`, "", `"path" is missing`},
		{"a number for a required text", `{"path":5}`, "", `"path" must be text, got 5`},
		{"an object for a text", `{"path":{"a":1}}`, "", `"path" must be text, got an object`},
		{"a fraction", `{"path":"a","offset":3.5}`, "", `"offset" must be a whole number, got 3.5`},
		{"words for a number", `{"path":"a","offset":"three"}`, "", `"offset" must be a whole number, got "three"`},
		{"a number for a boolean", `{"path":"a","all":1}`, "", `"all" must be true or false, got 1`},
		{"a stranger in an enum", `{"path":"a","kind":"grep"}`, "", `"kind" must be one of "content", "name", got "grep"`},
		{"the place in a list is named", `{"path":"a","files":[{"path":"b","edits":[{"search":"x","replace":"y"},{"search":"x"}]}]}`, "",
			`"files[0].edits[1].replace" is missing`},
		{"several problems", `{"offset":"x"}`, "", `"path" is missing; "offset" must be a whole number, got "x"`},
		{"text for a list of objects", `{"path":"a","files":"b"}`, "", `"files" must be a list, got "b"`},
		{"a list for a number", `{"path":"a","ratio":[1]}`, "", `"ratio" must be a number, got a list`},
		{"a boolean for an enum", `{"path":"a","kind":true}`, "", `"kind" must be text, got true`},
		{"long values are not repeated", `{"path":"a","offset":"` + strings.Repeat("é", 100) + `"}`, "",
			`"offset" must be a whole number, got "` + strings.Repeat("é", 40) + `..."`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args, problem := argument.Prepare(def, json.RawMessage(c.in))
			if string(args) != c.want || problem != c.problem {
				t.Errorf("got %s, problem %q\nwant %s, problem %q", args, problem, c.want, c.problem)
			}
		})
	}
}

func TestPrepareForeignSchemas(t *testing.T) {
	cases := []struct{ name, schema, in, want, problem string }{
		{"unreadable schema", `{"type":7}`, `{"a":1}`, `{"a":1}`, ""},
		{"no schema", ``, `{"a":1}`, `{"a":1}`, ""},
		{"several types", `{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":"7"}`, `{"a":7}`, ""},
		{"no type at all", `{"properties":{"a":{"description":"x"}}}`, `{"a":[1,"b"]}`, `{"a":[1,"b"]}`, ""},
		{"unknown type", `{"properties":{"a":{"type":"date"}}}`, `{"a":"now"}`, `{"a":"now"}`, ""},
		{"free fields are kept", `{"properties":{"a":{"type":"integer"}},"additionalProperties":true}`, `{"a":"1","b":2}`, `{"a":1,"b":2}`, ""},
		{"free objects are kept", `{"properties":{"a":{"type":"object"}}}`, `{"a":{"x":1}}`, `{"a":{"x":1}}`, ""},
		{"required without a description", `{"properties":{"a":{"type":"integer"}},"required":["z"]}`, `{"a":1}`, "", `"z" is missing`},
		{"enum of numbers", `{"properties":{"a":{"type":"integer","enum":[1,2]}}}`, `{"a":"2"}`, `{"a":2}`, ""},
		{"stranger to an enum of numbers", `{"properties":{"a":{"enum":[1,2]}}}`, `{"a":3}`, "", `"a" must be one of 1, 2, got 3`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args, problem := argument.Prepare(chat.ToolDef{Schema: json.RawMessage(c.schema)}, json.RawMessage(c.in))
			if string(args) != c.want || problem != c.problem {
				t.Errorf("got %s, problem %q\nwant %s, problem %q", args, problem, c.want, c.problem)
			}
		})
	}
}

func FuzzPrepare(f *testing.F) {
	f.Add(editSchema, `{"path":"a","offset":"3","files":{"path":"b","edits":"[]"}}`)
	f.Add(editSchema, `{"path":5,"all":"yes","kind":[null]}`)
	f.Add(`{"properties":{"a":{"type":["integer","string"],"enum":[1,"1"]}}}`, `{"a":"1"}`)
	f.Add(`{"type":"object","items":{"items":{}},"required":["a","a"]}`, `{"a":""}`)
	f.Fuzz(func(t *testing.T, schema, raw string) {
		def := chat.ToolDef{Schema: json.RawMessage(schema)}
		args, problem := argument.Prepare(def, json.RawMessage(raw))
		if problem != "" {
			if args != nil {
				t.Fatalf("arguments %s beside the problem %q", args, problem)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal(args, &object); err != nil {
			t.Fatalf("%s is no object: %v", args, err)
		}
		again, problem := argument.Prepare(def, args)
		if problem != "" {
			t.Fatalf("prepared arguments %s were refused: %s", args, problem)
		}
		// What is prepared stays as it is, so that a Call may be checked again before it runs.
		if schema == editSchema && string(again) != string(args) {
			t.Fatalf("prepared twice: %s, then %s", args, again)
		}
	})
}
