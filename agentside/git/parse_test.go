package git

import (
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestParseStatus(t *testing.T) {
	out := "# branch.oid 0123456789abcdef\x00# branch.head a b\x00# branch.upstream o/x\x00# branch.ab +12 -3\x00" +
		"1 M. N... 100644 100644 100644 1 2 ? odd\x002 R. N... 100644 100644 100644 1 2 R100 new\x00? old\x00" +
		"u UU N... 1 2 3 4 5 6 7 con flict\x00? with space\n\x00! ignored\x00? cut"
	got := parseStatus(out, true)
	want := branch{name: "a b", upstream: "o/x", ahead: 12, behind: 3, commit: "0123456789abcdef", untracked: []string{"with space\n"},
		conflicts: []string{"con flict"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid (initial)\x00# branch.ab +1 -2\x00? a\x002 R. x\x00? b\x00u UU N... 1 2 3 4 5 6 7 c\x00", false)
	f.Add("? a\x00? b", true)
	f.Fuzz(func(t *testing.T, out string, cut bool) {
		b := parseStatus(out, cut)
		for _, name := range append(b.untracked, b.conflicts...) {
			if name == "" || strings.ContainsRune(name, 0) || !strings.Contains(out, name) {
				t.Errorf("%q is no name of %q", name, out)
			}
		}
		if b.ahead < 0 || b.behind < 0 {
			t.Errorf("got %+v", b)
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	f.Add(":100644 100644 a b M\x00x\x00:100644 100644 a b R100\x00o\x00n\x001\t2\tx\x00-\t-\t\x00o\x00n\x00", false)
	f.Add(":1 2 3 4 D\x00:x\x000\t1\t:x\x00:1 2 3 4 A\x00", true)
	f.Fuzz(func(t *testing.T, out string, cut bool) {
		seen := map[string]bool{}
		for _, e := range parseChanges(out, cut) {
			if e.Path == "" || e.State == "" || e.Additions < 0 || e.Deletions < 0 || seen[e.Path] || strings.ContainsRune(e.Path, 0) {
				t.Errorf("%+v from %q", e, out)
			}
			seen[e.Path] = true
		}
	})
}

func FuzzParseSettings(f *testing.F) {
	f.Add("core.bare\nfalse\x00branch.a.b.remote\norigin\x00x.y\x00", "a.b")
	f.Add("branch.x\"]\n[core.merge\nrefs/heads/x\"\n\x00core.autocrlf\ninput\x00", "x\"]\n[core")
	f.Fuzz(func(t *testing.T, out, head string) {
		for _, s := range parseSettings(out) {
			if s.section == "" {
				t.Errorf("%+v from %q", s, out)
			}
		}
		// Nothing of a name or a value can begin a line of its own but what we write there.
		for line := range strings.Lines(strings.TrimSuffix(configOf(parseSettings(out), head), ours)) {
			line = strings.TrimSpace(line)
			known := strings.HasPrefix(line, "[core]") || strings.HasPrefix(line, "[index]") || strings.HasPrefix(line, "[extensions]") ||
				strings.HasPrefix(line, `[branch "`) && strings.HasSuffix(line, `"]`) || strings.HasPrefix(line, `[remote "`) && strings.HasSuffix(line, `"]`)
			if name, _, ok := strings.Cut(line, " = "); ok && (harmless()["core."+name] != nil || harmless()["index."+name] != nil ||
				harmless()["extensions."+name] != nil || name == "remote" || name == "merge" || name == "fetch") {
				known = true
			}
			if !known {
				t.Errorf("line %q from %q", line, out)
			}
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add("diff --git F/a T/a\nindex 1..2\n--- F/a\n+++ T/a\n@@ -1 +1 @@\n-x\n+diff --git F/b T/b\ndiff --git \"F/q\\\"\\303\\244\" \"T/q\\\"\\303\\244\"\nBinary files a and b differ\n", 100)
	f.Add("@@ nothing\ndiff --git x\n", 0)
	f.Fuzz(func(t *testing.T, text string, max int) {
		p := patch{from: "F/", to: "T/", max: max % 1000}
		if err := p.read(iotest.OneByteReader(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		total := 0
		for name, s := range p.files {
			total += len(s.hunks)
			if s.hunks != "" && !strings.HasPrefix(s.hunks, "@@ ") {
				t.Errorf("%q begins with %q", name, s.hunks)
			}
		}
		if total > len(text) || total > 0 && total > p.max {
			t.Errorf("%d bytes kept, %d allowed", total, p.max)
		}
	})
}

func TestUnquoted(t *testing.T) {
	for in, want := range map[string]string{`a"`: "a", `\303\244\t\"\\"`: "ä\t\"\\", `a`: "", `a"b`: "", `\9"`: "", `\`: ""} {
		got, ok := unquoted(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q gives %q, %t", in, got, ok)
		}
		if !utf8.ValidString(got) && ok {
			t.Errorf("%q is not valid", got)
		}
	}
}
