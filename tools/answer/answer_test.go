package answer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

func TestOf(t *testing.T) {
	got := answer.Of(map[string]string{"output": "a < b && c"}, chat.ListDetail{Path: "."})
	if got.Content != `{"output":"a < b && c"}` || string(got.Detail) != `{"path":".","entries":0,"shown":0}` || got.IsError {
		t.Errorf("got %+v", got)
	}
	if bad := answer.Of(func() {}, nil); !bad.IsError || !strings.Contains(bad.Content, "cannot be encoded") {
		t.Errorf("what has no JSON gave %+v", bad)
	}
}

func FuzzLen(f *testing.F) {
	f.Add("plain", 3)
	f.Add("é\"\\\n\t\b\f\x01\u2028\u2029\x7f<>&\xff漢😀", 9)
	f.Fuzz(func(t *testing.T, text string, room int) {
		b, err := answer.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Len(text) != len(b)-2 {
			t.Fatalf("Len(%q) = %d, the JSON has %d", text, answer.Len(text), len(b)-2)
		}
		room = min(max(room, 0), len(b))
		head, tail := answer.Prefix(text, room), answer.Suffix(text, room)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || answer.Len(head) > room || answer.Len(tail) > room {
			t.Fatalf("Prefix and Suffix of %q in %d: %q, %q", text, room, head, tail)
		}
		if utf8.ValidString(text) && !(utf8.ValidString(head) && utf8.ValidString(tail)) {
			t.Fatalf("a rune of %q was cut: %q, %q", text, head, tail)
		}
		if rest := text[len(head):]; rest != "" {
			_, size := utf8.DecodeRuneInString(rest)
			if answer.Len(head)+answer.Len(rest[:size]) <= room {
				t.Fatalf("Prefix(%q, %d) = %q is not the longest", text, room, head)
			}
		}
		if !json.Valid(b) {
			t.Fatalf("no JSON: %s", b)
		}
	})
}
