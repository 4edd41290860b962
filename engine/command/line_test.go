package command

import (
	"slices"
	"strings"
	"testing"
)

func (l Line) text() string {
	var all []string
	for _, c := range l.Commands {
		var words []string
		for _, w := range c {
			if w.Known {
				words = append(words, w.Text)
			} else {
				words = append(words, "?"+w.Text)
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line, commands string
		writes         []string
		sure           bool
	}{
		{"go test ./...", "go test ./...", nil, true},
		{"go vet && go test ./... | tail -3; ls", "go vet; go test ./...; tail -3; ls", nil, true},
		{"(cd sub && make) || { echo no; }", "cd sub; make; echo no", nil, true},
		{`r\m -rf 'a b' "c\"d"`, `rm -rf a b c"d`, nil, true},
		{"ls 2>&1 >/dev/null", "ls", nil, true},
		{"go test > ../y 2>>log", "go test", []string{"../y", "log"}, true},
		{"cat <<X\nhi\nX", "cat", nil, true},
		{"cat *.md $X", "cat ?*.md ?", nil, true},
		{"go test > $F", "go test", nil, false},
		{"go test $(cat f)", "go test ?; cat f", nil, false},
		{"echo `id`", "echo ?; id", nil, false},
		{"diff <(a) <(b)", "diff ? ?; a; b", nil, false},
		{"cat <<X\n$(rm x)\nX", "cat; rm x", nil, false},
		{"X=1 go test", "go test", nil, false},
		{"$X y", "? y", nil, false},
		{"/usr/bin/rg? y", "?/usr/bin/rg? y", nil, false},
		{"{rm,-rf,x}", "?{rm,-rf,x}", nil, false},
		{"~/x", "?~/x", nil, false},
		{`$'rm' x`, "?rm x", nil, false},
		{"eval rm x", "eval rm x; rm x; x", nil, false},
		{`sh -c "rm x"`, "sh -c rm x; -c rm x; rm x; rm x", nil, false},
		{"ls; sudo rm x", "ls; sudo rm x; rm x; x", nil, false},
		{"find . -exec rm {} +", "find . -exec rm ?{} +", nil, false},
		{"f() { rm x; }; f", "rm x; f", nil, false},
		{"if true; then rm x; fi", "true; rm x", nil, false},
		{"for i in a; do rm $i; done", "rm ?", nil, false},
		{"echo ${X:=y}", "echo ?", nil, false},
		{"export PATH=.", "", nil, false},
		{"echo 'open", "", nil, false},
		{strings.Repeat("a", maxBytes+1), "", nil, false},
		{"a\x00b", "", nil, false},
	} {
		got := Parse(c.line)
		if got.text() != c.commands || !slices.Equal(got.Writes, c.writes) || (got.Unsure == "") != c.sure {
			t.Errorf("%.60q: commands %q, writes %q, unsure %q", c.line, got.text(), got.Writes, got.Unsure)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		covers, names bool
	}{
		{"go test *", "go test ./...", true, true}, {"go test *", "go test", true, true}, {"go test *", "go tests", false, false},
		{"go test", "go test x", false, false}, {"*", "rm x", false, false}, {"ls", "./ls", false, true}, {"rm *", "/bin/rm -rf /", false, true},
		{"cat *.md", "cat a.md", true, true}, {"cat *.md", "cat $X", false, true}, {"cat *", "cat $X", true, true}, {"rm *", "$X y", false, false}, {"rm -rf *", "rm $X y", false, true},
		{"npm run *:*", "npm run a:b", true, true}, {"npm run *:*", "npm run ab", false, false}, {"", "ls", false, false},
	} {
		s := Parse(c.line).Commands[0]
		if got := Covers(c.pattern, s); got != c.covers {
			t.Errorf("covers %q %q: %t", c.pattern, c.line, got)
		}
		if got := Names(c.pattern, s); got != c.names {
			t.Errorf("names %q %q: %t", c.pattern, c.line, got)
		}
	}
}

// FuzzParse: nothing that is read breaks, and a line that one is sure of has only commands whose program is written out.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"go test ./... && rm -rf x", "a $(b) `c` <(d)", "sh -c 'x; y'", "X=1 y > z", "echo \"a\\\"$b\"", "{a,b}", "a\\\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := Parse(text)
		for _, s := range l.Commands {
			if l.Unsure == "" && (len(s) == 0 || !s[0].Known || s[0].Text == "" || wrappers[s[0].Text]) {
				t.Errorf("%q: sure of %+v", text, s)
			}
		}
		for _, word := range []string{"$(", "`", "<(", "eval "} {
			if l.Unsure == "" && strings.HasPrefix(text, word) {
				t.Errorf("%q: sure", text)
			}
		}
	})
}
