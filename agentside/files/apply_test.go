package files

import (
	"strings"
	"testing"
	"testing/quick"

	"holdfast/engine/chat"
)

// TestApply is of case 55.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, text, search, replace string
		all                         bool
		want                        string
		level                       int
	}{
		{name: "exact", text: "a b c", search: "b", replace: "x", want: "a x c"},
		{name: "all", text: "aXbXc", search: "X", replace: "YY", all: true, want: "aYYbYYc"},
		{name: "all without overlap", text: "aaaa", search: "aa", replace: "b", all: true, want: "bb"},
		{name: "exact lines", text: "a\nb\nc\n", search: "b\n", replace: "", want: "a\nc\n"},
		{name: "exact joins when told", text: "a\nb\n", search: "a\n", replace: "a", want: "ab\n"},

		{name: "trailing blanks", text: "if x {  \n\ty()\t\n}\n", search: "if x {\n\ty()\n}", replace: "if x {\n\tz()\n}", want: "if x {  \n\tz()\t\n}\n", level: 1},
		{name: "trailing blanks kept where both agree", text: "one  \ntwo\n", search: "one\ntwo", replace: "one\n2", want: "one  \n2\n", level: 1},
		{name: "leading blanks", text: "\tif x {\n\t\ty()\n\t}\n", search: "if x {\n\ty()\n}", replace: "if x {\n\tz()\n}", want: "\tif x {\n\t\tz()\n\t}\n", level: 2},
		{name: "spaces for tabs", text: "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", search: "    if x {\n        y()\n    }",
			replace: "    if x {\n        y()\n        if z {\n            w()\n        }\n    }",
			want:    "func f() {\n\tif x {\n\t\ty()\n\t\tif z {\n\t\t\tw()\n\t\t}\n\t}\n}\n", level: 2},
		{name: "spaces for tabs, unindented", text: "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", search: "if x {\n  y()\n}",
			replace: "if x {\n  y()\n  if z {\n    w()\n  }\n}",
			want:    "func f() {\n\tif x {\n\t\ty()\n\t\tif z {\n\t\t\tw()\n\t\t}\n\t}\n}\n", level: 2},
		{name: "four for two", text: "a:\n  b:\n    c: 1\n  d: 2\n", search: "    b:\n        c: 1", replace: "    b:\n        c: 1\n        e:\n            f: 3",
			want: "a:\n  b:\n    c: 1\n    e:\n      f: 3\n  d: 2\n", level: 2},
		{name: "block wrapped", text: "\tcall()\n\tnext()\n", search: "    call()\n    next()", replace: "    if ok {\n        call()\n    }\n    next()",
			want: "\tif ok {\n\t\tcall()\n\t}\n\tnext()\n", level: 2},
		{name: "block unwrapped", text: "x\n\tif ok {\n\t\tcall()\n\t}\n", search: "    if ok {\n        call()\n    }", replace: "    call()", want: "x\n\tcall()\n", level: 2},
		{name: "new lines at level 1 take the unit", text: "func f() {  \n}\n\nfunc g() {\n\tx()\n}\n", search: "func f() {\n}", replace: "func f() {\n    y()\n}",
			want: "func f() {  \n\ty()\n}\n\nfunc g() {\n\tx()\n}\n", level: 1},
		{name: "mixed as given", text: "\ta\n  b\n", search: "a\nb", replace: "a\n   n\nb", want: "\ta\n\t   n\n  b\n", level: 2},
		{name: "comments do not set the step", text: "    /**\n     * doc\n     */\n    f()\n", search: "f()\n\n", replace: "", want: "", level: -1},
		{name: "blank new line has no blanks", text: "\ta()\n\tb()\n", search: "    a()\n    b()", replace: "    a()\n    \n    b()", want: "\ta()\n\n\tb()\n", level: 2},
		{name: "shorter does not glue", text: "  a\n  b\n  c\n", search: "a\nb\n", replace: "x", want: "  x\n  c\n", level: 2},
		{name: "empty replacement takes the lines", text: "  a\n  b\n  c\n", search: "a\nb", replace: "", want: "  c\n", level: 2},
		{name: "no newline at the end stays", text: "  a\n  b", search: "b\n", replace: "c\nd\n", want: "  a\n  c\n  d", level: 2},
		{name: "no newline is left at the end", text: "  a\n  b ", search: "a\nb\n", replace: "a\n", want: "  a", level: 2},
		{name: "newline at the end stays", text: "  a\n  b\n", search: "b", replace: "c", want: "  a\n  c\n"},

		{name: "LF search in a CRLF file", text: "a\r\nb\r\nc\r\n", search: "a\nb\n", replace: "a\nx\nb\n", want: "a\r\nx\r\nb\r\nc\r\n"},
		{name: "LF search within CRLF lines", text: "one a\r\nb two\r\n", search: "a\nb", replace: "a\nnew\nb", want: "one a\r\nnew\r\nb two\r\n"},
		{name: "single line in a CRLF file", text: "a\r\nb\r\n", search: "b", replace: "b\nc", want: "a\r\nb\r\nc\r\n"},
		{name: "CRLF search in a LF file", text: "a\nb\n", search: "a\r\nb\r\n", replace: "a\r\nx\r\nb\r\n", want: "a\nx\nb\n"},
		{name: "mixed endings win line by line", text: "a\r\nb\nc\r\nd\r\n", search: "a\nb\nc\n", replace: "a\nb\nx\nc\n", want: "a\r\nb\nx\r\nc\r\nd\r\n"},
		{name: "CRLF at level 2", text: "\ta\r\n\tb\r\n", search: "    a\n    b", replace: "    a\n    n\n    b", want: "\ta\r\n\tn\r\n\tb\r\n", level: 2},
		{name: "all in a CRLF file", text: "x\r\ny\r\nx\r\ny\r\n", search: "x\ny\n", replace: "z\n", all: true, want: "z\r\nz\r\n"},
		{name: "a wish to change endings", text: "a\r\nb\r\n", search: "a\r\nb\r\n", replace: "a\nb\n", want: "a\nb\n"},
		{name: "as many of both is LF", text: "a\r\nb\n", search: "b", replace: "b\nc", want: "a\r\nb\nc\n"},
		{name: "unicode", text: "héllo\n  世界  \n", search: "世界\n", replace: "world\n", want: "héllo\n  world\n", level: -2},
	} {
		got, level, m := apply(c.text, chat.TextEdit{Search: c.search, Replace: c.replace, All: c.all})
		switch {
		case c.level == -1:
			if m == nil || m.kind != "no_match" {
				t.Errorf("%s: %q %v", c.name, got, m)
			}
		case m != nil:
			t.Errorf("%s: %s", c.name, m.text)
		case c.level == -2:
			if level != 2 || !strings.Contains(got, "  world") {
				t.Errorf("%s: %q", c.name, got)
			}
		case got != c.want || level != c.level:
			t.Errorf("%s: level %d\n got %q\nwant %q", c.name, level, got, c.want)
		}
	}
}

func TestMisses(t *testing.T) {
	many := strings.Repeat("line\n", 40)
	for _, c := range []struct {
		name, text, search, replace string
		all                         bool
		kind                        string
		says                        []string
	}{
		{name: "empty", text: "a", kind: "invalid", says: []string{"empty"}},
		{name: "twice", text: "x\na\nx\n", search: "x", kind: "no_match", says: []string{"2 times", "lines 1, 3"}},
		{name: "overlapping", text: "aaa", search: "aa", kind: "no_match", says: []string{"2 times"}},
		{name: "often", text: many, search: "line", kind: "no_match", says: []string{"more than 10 times", "9, 10."}},
		{name: "twice by lines", text: "  x \n  y\n x\n y\n", search: "x\ny\n", kind: "no_match", says: []string{"2 times", "lines 1, 3"}},
		{name: "twice in CRLF", text: "a\r\nb\r\na\r\nb\r\n", search: "a\nb\n", kind: "no_match", says: []string{"lines 1, 3"}},
		{name: "too long dashes", text: "a\n// -------\nb\n", search: "// -----\nb", kind: "no_match", says: []string{`"-" 7 times`, "search has 5", "line 2"}},
		{name: "inner spaces", text: "a  =  1\n", search: "a = 1", kind: "no_match", says: []string{"a space 2 times", "has 1"}},
		{name: "swapped", text: "new text here\n", search: "old text", replace: "new text", kind: "no_match", says: []string{"already there at line 1", "swapped"}},
		{name: "nearest", text: "p\nq\na\nb\nX\nd\n", search: "a\nb\nc\nd", kind: "no_match", says: []string{"3 of 4 lines match at line 3", `Line 5 there is "X"`, `it is "c"`}},
		{name: "indentation with all", text: "\tfoo\n", search: "    foo", all: true, kind: "no_match", says: []string{"at line 1", "exact indentation"}},
		{name: "endings wished but not there", text: "a\nb\n", search: "a\r\nb\r\n", replace: "a\nb\nc\n", kind: "no_match", says: []string{"not found"}},
		{name: "blank lines match nothing", text: "a\n \nb\n", search: "\t\n", kind: "no_match", says: []string{"not found"}},
		{name: "too much", text: strings.Repeat("a", 1<<20), search: "a", replace: strings.Repeat("b", 100), all: true, kind: "too_large", says: []string{"larger"}},
	} {
		got, _, m := apply(c.text, chat.TextEdit{Search: c.search, Replace: c.replace, All: c.all})
		if m == nil || m.kind != c.kind {
			t.Errorf("%s: %q %v", c.name, got, m)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(m.text, part) {
				t.Errorf("%s: no %q in: %s", c.name, part, m.text)
			}
		}
	}
}

func TestAlignPairsEachLineOnce(t *testing.T) {
	check := func(a, b []byte) bool {
		linesOf := func(s []byte) []line {
			var out []line
			for _, c := range s {
				out = append(out, line{text: string(rune('a' + c%4))})
			}
			return out
		}
		partner := align(linesOf(a), linesOf(b), line.body)
		last := -1
		for _, j := range partner {
			if j < 0 {
				continue
			}
			if j <= last || j >= len(a) {
				return false
			}
			last = j
		}
		return len(partner) == len(b)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

// FuzzApply: whatever is searched, what lies outside of the lines that matched stays byte for byte, no newline is added or lost
// at the end by lines, and searching what is there once always finds it.
func FuzzApply(f *testing.F) {
	f.Add("a\r\nb\r\nc", "b\n", "x\ny\n", false)
	f.Add("\tif x {\n\t\ty()\n\t}\n", "if x {\n    y()\n}", "if z {\n    y()\n    w()\n}", false)
	f.Add("aaa", "a", "", true)
	f.Add("a\nb", "b\n", "", false)
	f.Fuzz(func(t *testing.T, text, search, replace string, all bool) {
		if len(text)+len(search)+len(replace) > 1<<16 {
			return
		}
		after, level, m := apply(text, chat.TextEdit{Search: search, Replace: replace, All: all})
		if m != nil {
			if m.text == "" || m.kind == "" || strings.Count(text, search) == 1 && search != "" && !strings.Contains(m.text, "times") {
				t.Fatalf("%+v", m)
			}
			return
		}
		if level == 0 && strings.Contains(text, search) && !strings.Contains(replace, "\n") {
			n := 1
			if all {
				n = -1
			}
			if want := strings.Replace(text, search, replace, n); after != want {
				t.Fatalf("%q, want %q", after, want)
			}
			return
		}
		if all || level == 0 {
			return
		}
		before := splitLines(text)
		at := windows(before, splitLines(search), level, false)
		if len(at) != 1 {
			t.Fatalf("replaced with %d matches", len(at))
		}
		var head, tail strings.Builder
		write(&head, before[:at[0]])
		write(&tail, before[at[0]+len(splitLines(search)):])
		if tail.Len() > 0 && !strings.HasPrefix(after, head.String()) || !strings.HasSuffix(after, tail.String()) {
			t.Fatalf("%q: touched more than lines %d of %q", after, at[0], text)
		}
		// A blank last line is there when nothing follows the newline before it.
		last := append(splitLines(replace), line{})[max(0, len(splitLines(replace))-1)]
		if len(splitLines(replace)) == 0 && at[0] > 0 {
			last = before[at[0]-1]
		}
		if after != "" && strings.HasSuffix(after, "\n") && !strings.HasSuffix(text, "\n") && last.body() != "" {
			t.Fatalf("%q gained a newline at the end over %q", after, text)
		}
		if after != "" && strings.HasSuffix(text, "\n") && !strings.HasSuffix(after, "\n") {
			t.Fatalf("%q lost the newline at the end of %q", after, text)
		}
	})
}
