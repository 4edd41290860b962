package gguf

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"text/template"
)

func TestFile(t *testing.T) {
	one, err := File(Scripts())
	if err != nil {
		t.Fatal(err)
	}
	two, err := File(Scripts())
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("two files differ: %v", err)
	}
	if !bytes.HasPrefix(one, []byte("GGUF\x03\x00\x00\x00")) || binary.LittleEndian.Uint64(one[8:]) != 12 || binary.LittleEndian.Uint64(one[16:]) != 24 {
		t.Errorf("the head is % x", one[:24])
	}
	if len(one)%align != 0 || len(one) > 4<<20 {
		t.Errorf("%d bytes", len(one))
	}
}

// follow reads a script out of the table as the network does.
func follow(v *vocabulary, key string, limit int) string {
	begin := -1
	for id, text := range v.texts {
		if text == "<|go:"+key+"|>" {
			begin = id
		}
	}
	state := 0
	if begin >= 0 {
		state = v.state[begin]
	}
	spelled := ""
	for range limit {
		token := v.next[state]
		if token == endToken {
			break
		}
		spelled += v.texts[token]
		state = v.state[token]
	}
	for b, rune := range v.bytes {
		if b < '!' || b > '~' {
			spelled = strings.ReplaceAll(spelled, rune, string([]byte{byte(b)}))
		}
	}
	return spelled
}

func TestTableHoldsTheScripts(t *testing.T) {
	v, err := newVocabulary(Scripts())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Scripts() {
		want := s.Text
		if s.Parts != nil {
			want = strings.Join(s.Parts, "")
		}
		if s.Loop {
			if got := follow(v, s.Key, 50); len(got) < 100 || !strings.HasPrefix(got, strings.Repeat(want, 2)) {
				t.Errorf("%s: %q", s.Key, got)
			}
			continue
		}
		if got := follow(v, s.Key, 1000); got != want {
			t.Errorf("%s: %q, want %q", s.Key, got, want)
		}
	}
	if got := follow(v, "no such key", 1000); got != Fallback {
		t.Errorf("%q", got)
	}
}

func TestSameTextTwiceIsAnError(t *testing.T) {
	if _, err := File([]Script{{Key: "a", Text: "word"}, {Key: "b", Text: "word"}}); err == nil {
		t.Error("two scripts of one token")
	}
	if _, err := File([]Script{{Key: "a", Text: "x"}, {Key: "a", Text: "y"}}); err == nil {
		t.Error("two scripts with one key")
	}
}

// TestTemplate renders as the server does, with its field names.
func TestTemplate(t *testing.T) {
	type function struct {
		Name      string
		Arguments string
	}
	type toolCall struct{ Function function }
	type message struct {
		Role, Content, Thinking string
		ToolCalls               []toolCall
	}
	tmpl, err := template.New("").Option("missingkey=zero").Funcs(template.FuncMap{"json": func(v any) string { return "{}" }}).Parse(Template)
	if err != nil {
		t.Fatal(err)
	}
	user := func(s string) message { return message{Role: "user", Content: s} }
	used := []message{{Role: "assistant", ToolCalls: []toolCall{{function{"read_file", "{}"}}}}, {Role: "tool", Content: `{"content":"1"}`}}
	failed := []message{{Role: "assistant", ToolCalls: []toolCall{{function{"read_file", "{}"}}}}, {Role: "tool", Content: `{"error":"no"}`}}
	for _, c := range []struct {
		system   string
		messages []message
		want     string
	}{
		{"You are Holdfast.", []message{user("say hello")}, "say hello"},
		{"", append([]message{user("go")}, used...), "go+"},
		{"", append(append([]message{user("go")}, used...), failed...), "go+-"},
		{"", append(append([]message{user("go")}, used...), user("next")), "next"},
		{"", []message{user("Your last reply was empty. Answer in text or call a tool.")}, KeyNudge},
		{"", append(used, user("You made the same call 3 times and got the same result.")), KeyNudge},
		{"", []message{user("Your previous reply was cut off. Continue.")}, KeyGoOn},
		{"You name conversations. Read", []message{user("The person wrote:")}, KeyTitle},
		{"You are Holdfast.", []message{user("say hello"), user("This is a request by the appliance, not by the person. Name this conversation: a title")}, KeyTitle},
	} {
		var out bytes.Buffer
		if err := tmpl.Execute(&out, map[string]any{"System": c.system, "Messages": c.messages, "Tools": []int{1}}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), "<|im_start|>assistant\n<|go:"+c.want+"|>") {
			t.Errorf("want %q: %s", c.want, out.String())
		}
	}
}
