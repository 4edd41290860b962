//go:build unix

package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

func find(t *testing.T, f *Files, q chat.FindQuery) chat.Found {
	t.Helper()
	found, err := f.Find(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return found
}

func names(found chat.Found) []string {
	var all []string
	for _, e := range found.Entries {
		name := e.Path
		switch e.Type {
		case "dir":
			name += "/"
		case "link":
			name += " -> " + e.Target
		case "other":
			name += " other"
		}
		all = append(all, name)
	}
	for _, m := range found.Matches {
		sign := ":"
		if m.Context {
			sign = "-"
		}
		all = append(all, fmt.Sprintf("%s%s%d%s%s", m.Path, sign, m.Line, sign, m.Text))
	}
	return all
}

var project = map[string]string{
	".gitignore": "*.log\n/out/\nsecret*\n!secret-not.txt\n", "a.go": "package a\n// needle one\n", "a.log": "needle", "out/gen.go": "needle",
	"sub/out/kept.go": "// needle two\n", "sub/.gitignore": "local.txt\n!keep.log\n", "sub/local.txt": "needle", "sub/keep.log": "needle three\n",
	"secret.txt": "needle", "secret-not.txt": "needle four\n", "node_modules/x/i.js": "needle", ".git/config": "needle", "bin.dat": "needle\x00",
	"loop -> .": "", "sub/up -> ..": "", "filelink -> a.go": "", "gone -> /etc/passwd": "", "sub/deep/er/z.txt": "NEEDLE five\n", "large.txt": "",
}

func newProject(t *testing.T) *Files {
	t.Helper()
	f := tree(t, project)
	if err := os.WriteFile(filepath.Join(f.dir, "large.txt"), []byte("needle\n"+strings.Repeat("x\n", maxFileGrep/2)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFindContent is of case 57.
func TestFindContent(t *testing.T) {
	f := newProject(t)
	found := find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "needle"})
	want := []string{"a.go:2:// needle one", "secret-not.txt:1:needle four", "sub/keep.log:1:needle three", "sub/out/kept.go:1:// needle two"}
	if !slices.Equal(names(found), want) {
		t.Errorf("%q", names(found))
	}
	for _, part := range []string{".git, node_modules", "4 entries named by .gitignore", "1 binary file", "1 file over 2 MiB"} {
		if !strings.Contains(found.Incomplete, part) {
			t.Errorf("no %q in %q", part, found.Incomplete)
		}
	}
	for _, c := range []struct {
		q    chat.FindQuery
		want []string
	}{
		{chat.FindQuery{Pattern: "NEEDLE \\w+$", IgnoreCase: true, Path: "sub"}, []string{"sub/deep/er/z.txt:1:NEEDLE five", "sub/keep.log:1:needle three", "sub/out/kept.go:1:// needle two"}},
		{chat.FindQuery{Pattern: "needle", Path: "node_modules"}, []string{"node_modules/x/i.js:1:needle"}},
		{chat.FindQuery{Pattern: "needle", Path: "a.log"}, []string{"a.log:1:needle"}},
		{chat.FindQuery{Pattern: "needle", Glob: "*.go"}, []string{"a.go:2:// needle one", "sub/out/kept.go:1:// needle two"}},
		{chat.FindQuery{Pattern: "needle", Glob: "sub/**/*.go"}, []string{"sub/out/kept.go:1:// needle two"}},
		{chat.FindQuery{Pattern: "needle", Path: "a.go", Glob: "*.js", Context: 1}, []string{"a.go-1-package a", "a.go:2:// needle one"}},
		{chat.FindQuery{Pattern: "nothing like it"}, nil},
	} {
		c.q.Kind = chat.FindContent
		if got := names(find(t, f, c.q)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	for _, q := range []chat.FindQuery{
		{Kind: chat.FindContent, Pattern: "("}, {Kind: chat.FindContent}, {Kind: chat.FindContent, Pattern: "x", Glob: "["},
		{Kind: chat.FindName}, {Kind: chat.FindName, Pattern: "{a"}, {Kind: "other", Pattern: "x"}, {Kind: chat.FindContent, Pattern: "(?!x)"},
	} {
		if _, err := f.Find(t.Context(), q); refusal(err) != "invalid" {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for path, kind := range map[string]string{"none": "not_found", "..": "outside_workspace", "gone": "outside_workspace"} {
		if _, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Pattern: "x", Path: path}); refusal(err) != kind {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFindContextAndCaps(t *testing.T) {
	f := tree(t, map[string]string{"a": "1\nhit\n3\nhit\nhit\n6\n7\n8\nhit", "crlf": "x\r\nhit\r\n", "long": strings.Repeat("世", 1000) + "hit" + strings.Repeat("y", 1000)})
	got := names(find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "hit", Path: "a", Context: 1}))
	if want := []string{"a-1-1", "a:2:hit", "a-3-3", "a:4:hit", "a:5:hit", "a-6-6", "a-8-8", "a:9:hit"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := names(find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "hit$", Path: "crlf"})); !slices.Equal(got, []string{"crlf:2:hit"}) {
		t.Errorf("%q", got)
	}
	long := find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "hit", Path: "long"}).Matches[0].Text
	if len(long) > matchBytes || !strings.Contains(long, "hit") || !strings.HasPrefix(long, "[...] 世") || !strings.HasSuffix(long, lineCut) {
		t.Errorf("%d %q", len(long), long)
	}
	for i := range 15 {
		plant(t, f.dir, map[string]string{fmt.Sprintf("m%02d", i): strings.Repeat("match\n", 25)})
	}
	found := find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "match"})
	if len(found.Matches) != 200 || !strings.Contains(found.Incomplete, "stopped after 200 matches") || !strings.Contains(found.Incomplete, "first 20 matches of each of 9 files") {
		t.Errorf("%d %q", len(found.Matches), found.Incomplete)
	}
	found = find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "match", Limit: 3})
	if len(found.Matches) != 3 || !strings.Contains(found.Incomplete, "stopped after 3 matches") {
		t.Errorf("%d %q", len(found.Matches), found.Incomplete)
	}
}

func TestFindNamesAndLists(t *testing.T) {
	f := newProject(t)
	for _, c := range []struct {
		q    chat.FindQuery
		want []string
	}{
		{chat.FindQuery{Kind: chat.FindName, Pattern: "*.go"}, []string{"a.go", "sub/out/kept.go"}},
		{chat.FindQuery{Kind: chat.FindName, Pattern: "**/*.{txt,GO}", IgnoreCase: true}, []string{"a.go", "large.txt", "secret-not.txt", "sub/deep/er/z.txt", "sub/out/kept.go"}},
		{chat.FindQuery{Kind: chat.FindName, Pattern: "deep"}, []string{"sub/deep/"}},
		{chat.FindQuery{Kind: chat.FindName, Pattern: "out/*", Path: "sub"}, []string{"sub/out/kept.go"}},
		{chat.FindQuery{Kind: chat.FindName, Pattern: "sub/out/*", Path: "sub"}, []string{"sub/out/kept.go"}},
		{chat.FindQuery{Kind: chat.FindList, Depth: 1}, []string{".git/", ".gitignore", "a.go", "a.log", "bin.dat", "fifo other", "filelink -> a.go", "gone -> ", "large.txt",
			"loop -> .", "node_modules/", "out/", "secret-not.txt", "secret.txt", "sub/"}},
		{chat.FindQuery{Kind: chat.FindList, Path: "sub"}, []string{"sub/.gitignore", "sub/deep/", "sub/deep/er/", "sub/keep.log", "sub/local.txt", "sub/out/", "sub/out/kept.go", "sub/up -> ."}},
		{chat.FindQuery{Kind: chat.FindList, Path: "loop", Depth: 1, Glob: "a.*"}, []string{"a.go", "a.log"}},
		{chat.FindQuery{Kind: chat.FindList, Path: "a.go"}, []string{"a.go"}},
		{chat.FindQuery{Kind: chat.FindList, Path: f.dir + "/node_modules/x"}, []string{"node_modules/x/i.js"}},
	} {
		if got := names(find(t, f, c.q)); !slices.Equal(got, c.want) {
			t.Errorf("%+v:\n got %q\nwant %q", c.q, got, c.want)
		}
	}
	found := find(t, f, chat.FindQuery{Kind: chat.FindList, Limit: 2})
	if len(found.Entries) != 2 || !strings.Contains(found.Incomplete, "stopped after 2 entries") {
		t.Errorf("%+v", found)
	}
	if e := find(t, f, chat.FindQuery{Kind: chat.FindList, Path: "a.go"}).Entries[0]; e.Size != int64(len(project["a.go"])) {
		t.Error(e.Size)
	}
}

func TestFindStops(t *testing.T) {
	f := tree(t, nil)
	for i := range 50 {
		plant(t, f.dir, map[string]string{fmt.Sprintf("f%02d", i): "x\n"})
	}
	now := time.Now()
	f.now = func() time.Time { now = now.Add(time.Second); return now }
	found := find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "x"})
	if n := len(found.Matches); n == 0 || n == 50 || !strings.Contains(found.Incomplete, "stopped after 10s") {
		t.Errorf("%d %q", n, found.Incomplete)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Find(ctx, chat.FindQuery{Kind: chat.FindContent, Pattern: "x"}); refusal(err) != "invalid" {
		t.Error(err)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go", ".go"}, []string{"a.gox", "a.go/b"}},
		{"a*c", []string{"abc", "ac"}, []string{"abd", "a/c"}},
		{"x/*.go", []string{"x/a.go"}, []string{"x/y/a.go", "a.go"}},
		{"**/*.go", []string{"a.go", "x/y/a.go"}, []string{"a.js"}},
		{"x/**", []string{"x/a", "x/y/a"}, []string{"y/a", "x"}},
		{"x/**/z", []string{"x/z", "x/a/z", "x/a/b/z"}, []string{"xz", "x/az"}},
		{"**", []string{"a", "a/b"}, nil},
		{"?.go", []string{"a.go", "世.go"}, []string{"ab.go", ".go"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x"}},
		{"[!a-c]x", []string{"dx"}, []string{"ax"}},
		{"[]a]x", []string{"]x", "ax"}, []string{"bx"}},
		{"[+--]x", []string{"+x", "-x"}, []string{"ax"}},
		{"s/[.-0]x", []string{"s/.x", "s/0x"}, []string{"s//x"}},
		{"[[:digit:]]", []string{"5"}, []string{"a"}},
		{"{a,b/{c,d}}.go", []string{"a.go", "b/c.go", "b/d.go"}, []string{"b/a.go", "c.go"}},
		{`\*x`, []string{"*x"}, []string{"ax"}},
		{`a+(b)|c.$`, []string{"a+(b)|c.$"}, []string{"aab"}},
		{"./a", []string{"a"}, []string{"b"}},
		{"a,b}", []string{"a,b}"}, []string{"a"}},
	} {
		g, err := newGlob(c.pattern, false)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, name := range c.yes {
			if !g.match(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range c.no {
			if g.match(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
}

func TestIgnoreRules(t *testing.T) {
	for _, c := range []struct {
		rules, name string
		dir, want   bool
	}{
		{"*.o", "a.o", false, true}, {"*.o", "x/y/a.o", false, true}, {"/a", "a", false, true}, {"/a", "x/a", false, false},
		{"x/a", "x/a", false, true}, {"x/a", "y/x/a", false, false}, {"**/x/a", "y/x/a", false, true}, {"x/", "x", true, true}, {"x/", "x", false, false},
		{"x/", "y/x", true, true}, {"x/**", "x", true, false}, {"x/**", "x/a", false, true}, {"a/**/b", "a/b", false, true}, {"a/**/b", "a/x/y/b", false, true},
		{"*.o\n!a.o", "a.o", false, false}, {"!a.o\n*.o", "a.o", false, true}, {"# c\n\\#x", "#x", false, true}, {"\\!x", "!x", false, true},
		{"x  ", "x", false, true}, {"x\\ ", "x ", false, true}, {"x\\ ", "x", false, false}, {"", "x", false, false}, {"/", "x", true, false}, {"[", "[", false, false},
		{"a.b", "axb", false, false}, {"*\n!*/\n!*.go", "x", true, false}, {"*\n!*/\n!*.go", "x/a.go", false, false}, {"*\n!*/\n!*.go", "x/a.c", false, true},
		{"x\r\n", "x", false, true}, {"\uFEFFx", "x", false, true}, {"{a,b}", "{a,b}", false, true}, {"{a,b}", "a", false, false},
	} {
		if got := ignores([]*ignoreFile{parseIgnore("", c.rules)}, c.name, c.dir); got != c.want {
			t.Errorf("%q ignores %q (dir %t): %t", c.rules, c.name, c.dir, got)
		}
	}
	two := []*ignoreFile{parseIgnore("", "*.o\n/b"), parseIgnore("x", "!a.o\n/b\n")}
	for name, want := range map[string]bool{"a.o": true, "x/a.o": false, "x/c.o": true, "x/b": true, "x/y/b": false} {
		if ignores(two, name, false) != want {
			t.Errorf("%s: not %t", name, want)
		}
	}
}

// FuzzGlob: a pattern is either refused or matches in bounded time, a star never crosses a slash, and a name without anything
// special matches itself.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*", "**/a", "[a-z]", "[!]]", "{a,{b,c}}", `\`, "[[:alpha:]", "[z-a]", "a/**/b/***", "[--0]", "\xff*"} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := newGlob(pattern, false)
		if err == nil {
			g.match(name)
			if !strings.Contains(pattern, "**") && !strings.ContainsAny(pattern, `{\`) && !g.baseOnly &&
				g.match(name) && strings.Count(strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/"), "/") < strings.Count(name, "/") {
				t.Fatalf("%q crosses a slash in %q", pattern, name)
			}
		}
		parseIgnore("", pattern)
		ignores([]*ignoreFile{parseIgnore("", pattern)}, name, false)
		if name != "" && !strings.ContainsAny(name, "*?[]{}\\") && strings.Trim(name, "./") == name && strings.ToValidUTF8(name, "") == name && len(name) < maxPattern {
			if g, err := newGlob(name, false); err != nil || !g.match(name) {
				t.Fatalf("%q does not match itself: %v", name, err)
			}
		}
	})
}
