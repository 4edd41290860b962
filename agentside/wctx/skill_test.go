package wctx

import (
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

func TestCase12SkillsThatAreNotValid(t *testing.T) {
	dir := tree(t, map[string]string{"skills/one/SKILL.md": skillFile("other"), "skills/Make_Coffee/SKILL.md": skillFile("Make_Coffee"), "skills/open/SKILL.md": "---\nname: open\n# body\n",
		"skills/42/SKILL.md": "---\nname: 42\n---\n"})
	b := resolved(t, newResolver(t), root{path: dir})
	seen := map[string]bool{}
	for _, r := range b.resources {
		if r.Status != chat.ResourceInvalid || r.Error == "" || r.Payload != nil || r.ContentHash == (chat.Hash{}) || r.SizeBytes == 0 {
			t.Errorf("%+v", r)
		}
		seen[r.Error] = true
	}
	if len(b.resources) != 4 || len(seen) != 4 {
		t.Errorf("%d resources, %v", len(b.resources), seen)
	}
}

func TestFrontMatter(t *testing.T) {
	long := strings.Repeat("ä", 1030)
	for _, c := range []struct {
		name, file, description, says string
	}{
		{"plain", "---\nname: brew\ndescription: makes coffee\n---\nbody", "makes coffee", ""},
		{"byte order mark, CRLF and blanks", "\ufeff  --- \r\nname: brew\r\ndescription: \"a\"\r\n ---\t\r\nbody", "a", ""},
		{"no description", "---\nname: brew\n---", "", ""},
		{"folded", "---\nname: brew\ndescription: >\n  one\n  two\n\n---\n", "one two", ""},
		{"kept line breaks", "---\nname: brew\ndescription: |+\n  one\n\n\n---\n", "one", ""},
		{"unknown keys", "---\nname: brew\nallowed-tools: [a, {b: c}]\nversion: 1.0\nnested:\n  name: other\n---\n", "", ""},
		{"long description", "---\nname: brew\ndescription: " + long + "\n---\n", long[:2048], ""},
		{"no fence", "name: brew\n", "", "does not begin"},
		{"empty", "", "", "does not begin"},
		{"not closed", "---\nname: brew\n--\n", "", "not closed"},
		{"no name", "---\ndescription: x\n---\n", "", "no name"},
		{"nothing", "---\n---\n", "", "no name"},
		{"a list", "---\n- name: brew\n---\n", "", "YAML"},
		{"a text", "---\nbrew\n---\n", "", "YAML"},
		{"not YAML", "---\nname: [\n---\n", "", "YAML"},
		{"a number", "---\nname: 42\n---\n", "", "the name in the front matter is not a text"},
		{"a truth", "---\nname: true\n---\n", "", "not a text"},
		{"null", "---\nname:\n---\n", "", "not a text"},
		{"a description that is a list", "---\nname: brew\ndescription: [a]\n---\n", "", "the description in the front matter is not a text"},
		{"a map", "---\nname: {a: b}\n---\n", "", "not a text"},
		{"twice", "---\nname: brew\nname: brew\n---\n", "", "twice"},
		{"an alias", "---\na: &x brew\nname: *x\n---\n", "", "aliases"},
		{"an anchor", "---\nname: &x brew\n---\n", "", "aliases"},
		{"other name", "---\nname: tea\n---\n", "", "not that of the directory"},
		{"not UTF-8", "---\nname: brew\n---\n\xff", "", "UTF-8"},
		{"large", "---\nname: brew\nx: " + strings.Repeat("y", 64<<10) + "\n---\n", "", "64 KiB"},
	} {
		m, err := parseSkill([]byte(c.file), "brew")
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %+v, %v; want %q", c.name, m, err, c.says)
			}
			continue
		}
		if err != nil || m.name != "brew" || m.description != c.description {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
		if (m.warning != "") != (c.name == "long description") {
			t.Errorf("%s warns %q", c.name, m.warning)
		}
	}
	for base, ok := range map[string]bool{"a": true, "a-b2": true, "a--b": false, "-a": false, "a-": false, "A": false, "a_b": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if _, err := parseSkill([]byte("---\nname: \""+base+"\"\n---\n"), base); (err == nil) != ok {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestHeading(t *testing.T) {
	for text, want := range map[string]string{"# Title\n\nx": "Title", "\n \r\n\t## A # b ##\r\n": "A # b ##", "": "", "###\n\ntext": "text", "\ufeff# T": "T", "\xff": "\uFFFD",
		strings.Repeat("ö", 300): strings.Repeat("ö", 200)} {
		if got := heading([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzSkill(f *testing.F) {
	for _, s := range []string{skillFile("brew"), "---\nname: &a [*a]\n---\n", "\ufeff---\r\n? a\r\n---", "---\nname: |+\n  brew\n\n---\n", "---\n%YAML 1.1\n---\n", "---\n!!binary x: y\n---"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := parseSkill(file, "brew")
		if err == nil && (m.name != "brew" || !utf8.ValidString(m.description) || utf8.RuneCountInString(m.description) > chat.MaxDescriptionRune) {
			t.Errorf("%+v", m)
		}
		if err != nil && (err.Error() == "" || len(err.Error()) > 200) {
			t.Errorf("%v", err)
		}
	})
}
