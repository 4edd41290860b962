package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// termsOf lists the terms of a text in their order.
func termsOf(s string) []string {
	var out []string
	t := terms{emit: func(term []byte, _, _ int, _ bool) { out = append(out, string(term)) }}
	t.scan(s)
	return out
}

func TestTerms(t *testing.T) {
	long := strings.Repeat("ab", 50)
	tests := map[string][]string{
		"":                            nil,
		"  , -- ___ ?!":               nil,
		"Hello, World":                {"hello", "world"},
		"go test ./engine/search":     {"go", "test", "engine", "search"},
		"parseHTTPHeader":             {"parsehttpheader", "httpheader", "header"},
		"parse_http_header":           {"parse_http_header", "http_header", "header"},
		"__init__":                    {"__init__", "init__"},
		"SHA256Sum x2Y":               {"sha256sum", "sum", "x2y", "y"},
		"MAX_SIZE":                    {"max_size", "size"},
		"iPhone":                      {"iphone", "phone"},
		"Ärger in Åse, Straße, café":  {"arger", "in", "ase", "strasse", "cafe"},
		"cafe\u0301 e\u0301te\u0301":  {"cafe", "ete"},
		"\u0301alone":                 {"alone"},
		"ΣΟΦΟΣ σοφός":                 {"σοφοσ", "σοφόσ"},
		"Привет":                      {"привет"},
		"漢字学":                         {"漢字", "字学", "学"},
		"漢":                           {"漢"},
		"カード and 漢字test":              {"カー", "ード", "ド", "and", "漢字", "字", "test"},
		"ｆｕｌｌ　Ｗｉｄｔｈ":                  {"full", "width"},
		"don't 3.14 a@b.c":            {"don", "t", "3", "14", "a", "b", "c"},
		"한국어 단어":                      {"한국어", "단어"},
		long:                          {long[:64]},
		"bad\xff\xfeutf":              {"bad", "utf"},
		"tail_":                       {"tail_"},
		"\U0001F600 smile\u200bsplit": {"smile", "split"},
	}
	for text, want := range tests {
		if got := termsOf(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What was typed in any case, with or without marks, finds what it was typed for.
func TestFoldIsStable(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		once := appendFolded(nil, r)
		var twice []byte
		for _, f := range string(once) {
			twice = appendFolded(twice, f)
		}
		if string(once) != string(twice) {
			t.Errorf("%q folds to %q and then to %q", r, once, twice)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"parseHTTPHeader x_y_z", "漢字かな交じり test", "e\u0301 ß Ǆ İ", "\xff\xfe", strings.Repeat("aB", 90), "한글 ไทย"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := -1
		heads := map[string]bool{}
		all := map[string]bool{}
		x := terms{}
		x.emit = func(term []byte, start, end int, head bool) {
			if len(term) == 0 || len(term) > maxTerm || term[0] < '0' || strings.ContainsAny(string(term), "\n\x00 ") {
				t.Errorf("%q has the term %q", s, term)
			}
			if start < 0 || end > len(s) || start >= end || head && start < last {
				t.Errorf("%q has %q at %d to %d, after %d", s, term, start, end, last)
			}
			if head {
				last = start
				heads[string(term)] = true
			}
			all[string(term)] = true
			if e := matchEnd(s, start, end, len(term)); e <= start || e > end {
				t.Errorf("%q: %q at %d ends at %d", s, term, start, e)
			}
		}
		x.scan(s)
		// Whoever types the text itself finds it.
		for head := range heads {
			q := newMatcher([]string{head})
			if q.scan(s); q.left != 0 {
				t.Errorf("%q is not found by its own term %q", s, head)
			}
		}
		if valid := utf8.ValidString(s); valid && len(heads) > 0 {
			p, shown := snippetOf(s, []string{first(heads)})
			if n := utf8.RuneCountInString(p.Text); n > snippetRunes || shown != 1 {
				t.Errorf("the snippet %q of %q for %q has %d runes and shows %d words", p.Text, s, first(heads), n, shown)
			}
			for i, m := range p.Marks {
				if m.Start >= m.End || m.End > len(p.Text) || i > 0 && m.Start <= p.Marks[i-1].End || !utf8.ValidString(p.Text[m.Start:m.End]) {
					t.Errorf("marks %v in %q", p.Marks, p.Text)
				}
			}
		}
	})
}

func first(set map[string]bool) string {
	var all []string
	for s := range set {
		all = append(all, s)
	}
	return slices.Min(all)
}

func TestSnippet(t *testing.T) {
	filler := strings.Repeat("filler words ", 40)
	tests := []struct {
		text  string
		words []string
		want  string
	}{
		{"One tide table.", []string{"tide"}, "One [tide] table."},
		{"say\n\n  tidal\ttable", []string{"tid", "tab"}, "say [tid]al [tab]le"},
		{"the parseHTTPHeader func", []string{"http"}, "the parse[HTTP]Header func"},
		{"in Straße 7", []string{"strasse"}, "in [Straße] 7"},
		{"Cafe\u0301 noir", []string{"cafe"}, "[Cafe\u0301] noir"},
		{"これは漢字です", []string{"漢字"}, "これは[漢字]です"},
		{filler + "needle here " + filler, []string{"needle"}, "… filler words filler words [needle] here"},
		{"alpha " + filler + "alpha beta " + filler, []string{"alpha", "beta"}, "[alpha] [beta]"},
	}
	for _, x := range tests {
		s, _ := snippetOf(x.text, x.words)
		var b strings.Builder
		at := 0
		for _, m := range s.Marks {
			b.WriteString(s.Text[at:m.Start] + "[" + s.Text[m.Start:m.End] + "]")
			at = m.End
		}
		b.WriteString(s.Text[at:])
		if !strings.Contains(b.String(), x.want) {
			t.Errorf("snippet %q, want %q in it", b.String(), x.want)
		}
		if n := utf8.RuneCountInString(s.Text); n > snippetRunes {
			t.Errorf("snippet of %d runes: %q", n, s.Text)
		}
	}
}
