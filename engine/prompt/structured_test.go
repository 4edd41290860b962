package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestUnwrap(t *testing.T) {
	for raw, want := range map[string]struct {
		shown, text, calls string
		ok                 bool
	}{
		`{"text": "hello", "calls": []}`: {"hello", "hello", "", true},
		` { "text" : "a \"quoted\" line\nü \u00fc \ud83d\udc4d \\ \/ \t" , "calls" : [ ] } `:          {"a \"quoted\" line\nü ü 👍 \\ / \t", "a \"quoted\" line\nü ü 👍 \\ / \t", "", true},
		`{"text": "", "calls": [{"name": "read_file", "arguments": {"path": "a"}}]}`:                  {"", "", `read_file({"path": "a"})`, true},
		`{"text":"two","calls":[{"name":"READ-FILE","arguments":{}},{"name":"what","args":{"b":1}}]}`: {"two", "two", `read_file({}) what({"b":1})`, true},
		`{"calls": [{"name": "read_file", "arguments": {"text": "inner"}}], "text": "late"}`:          {"", "late", `read_file({"text": "inner"})`, true},
		`plain words {"text": "x"}`: {`plain words {"text": "x"}`, `plain words {"text": "x"}`, "", false},
		`{"text": "cut in the mid`:  {"cut in the mid", "cut in the mid", "", false},
		`{"text": "no calls"}`:      {"no calls", "no calls", "", true},
		`{"text": "lone \ud83d x"}`: {"lone \uFFFD x", "lone \uFFFD x", "", true},
		`{"text": "x", "calls": [{"name": "read_file", "arguments": {"path": "a"`: {"x", "x", "", false},
		``: {"", "", "", false},
	} {
		for size := 1; size <= len(raw)+1; size++ {
			var u Unwrapper
			shown := ""
			for at := 0; at < len(raw); at += size {
				shown += u.Add(raw[at:min(at+size, len(raw))])
			}
			text, calls, ok := u.Read([]string{"read_file", "execute"})
			var got []string
			for _, c := range calls {
				got = append(got, c.Name+"("+string(c.Args)+")")
			}
			if shown != want.shown || text != want.text || strings.Join(got, " ") != want.calls || ok != want.ok {
				t.Fatalf("%s in pieces of %d: shown %q, text %q, calls %v, %v", raw, size, shown, text, got, ok)
			}
		}
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add(`{"text": "a\n\u00fcb", "calls": []}`, 3)
	f.Add(`{"text": "\ud83d\udc4d`, 1)
	f.Fuzz(func(t *testing.T, raw string, size int) {
		size = max(1, size%64)
		var whole, pieces Unwrapper
		all, some := whole.Add(raw), ""
		for at := 0; at < len(raw); at += size {
			some += pieces.Add(raw[at:min(at+size, len(raw))])
		}
		a, _, _ := whole.Read(nil)
		b, _, _ := pieces.Read(nil)
		if a != b || len(raw) < maxHead && all != some {
			t.Errorf("%q: %q, in pieces of %d %q", raw, all, size, some)
		}
	})
}

func TestReplySchema(t *testing.T) {
	raw := replySchema([]chat.ToolDef{{Name: "a", Schema: json.RawMessage(`{"type": "object", "properties": {"z": {}, "b": {}}, "required": []}`)}, {Name: "b", Schema: json.RawMessage(`{}`)}})
	want := `{"type":"object","properties":{"text":{"type":"string"},"calls":{"type":"array","maxItems":8,"items":{"anyOf":[` +
		`{"type":"object","properties":{"name":{"type":"string","enum":["a"]},"arguments":{"type":"object","properties":{"z":{},"b":{}},"required":[]}},"required":["name","arguments"]},` +
		`{"type":"object","properties":{"name":{"type":"string","enum":["b"]},"arguments":{}},"required":["name","arguments"]}]}}},"required":["text","calls"]}`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
}
