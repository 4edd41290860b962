package text

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update writes it):\n%s", file, got)
	}
}

// TestGolden renders each testdata/*.md and compares it with the .html beside it.
func TestGolden(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.md")
	if err != nil || len(sources) < 4 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	for _, file := range sources {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, b := range Prose(string(src)) {
			out.WriteString("== " + strconv.Itoa(b.N) + "\n" + string(b.HTML) + "\n")
		}
		golden(t, strings.TrimSuffix(file, ".md")+".html", out.String())
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, src string
		want      []string
		open      bool
	}{
		{"empty", "", nil, false},
		{"blank", "\n\n", nil, false},
		{"paragraphs", "a\nb\n\nc\n\n", []string{"a\nb\n", "c\n"}, false},
		{"open paragraph", "a\n\nb", []string{"a\n", "b"}, true},
		{"code", "a\n\n```go\nx\n\ny\n```\nb", []string{"a\n", "go:x\n\ny\n", "b"}, true},
		{"code cuts a paragraph", "a\n```\nx\n```\n", []string{"a\n", ":x\n"}, false},
		{"fence may go on", "a\n```\nx\n```", []string{"a\n", ":x\n"}, true},
		{"fence just opened", "a\n\n```g", []string{"a\n", "g:"}, true},
		{"fence in a paragraph", "a\n```g", []string{"a\n"}, true},
		{"item may come", "- a\n\n1", []string{"- a\n"}, true},
		{"blank not ended", "a\n ", []string{"a\n"}, true},
		{"open code", "```go\nx\n", []string{"go:x\n"}, true},
		{"fence not closed yet", "```go\nx\n``", []string{"go:x\n"}, true},
		{"tildes hold backticks", "~~~\n```\n~~~\n", []string{":```\n"}, false},
		{"longer fence", "````\n```\n````\n", []string{":```\n"}, false},
		{"loose list", "- a\n\n- b\n\n  c\n\nd\n\n", []string{"- a\n\n- b\n\n  c\n", "d\n"}, false},
		{"list may go on", "- a\n\n", []string{"- a\n"}, true},
		{"code in a list", "- a\n\n  ```\n  x\n\n  y\n  ```\n\nb\n\n", []string{"- a\n\n  ```\n  x\n\n  y\n  ```\n", "b\n"}, false},
		{"numbers", "1. a\n\n2. b\n\nc\n\n", []string{"1. a\n\n2. b\n", "c\n"}, false},
		{"no list", "1.5 is a number\n\n-x\n\n", []string{"1.5 is a number\n", "-x\n"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spans := split(tt.src, false)
			var got []string
			for _, s := range spans {
				piece := tt.src[s.start:s.end]
				if s.code {
					piece = s.lang + ":" + piece
				}
				got = append(got, piece)
			}
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if n := len(spans); n > 0 && spans[n-1].open != tt.open {
				t.Errorf("open is %v", spans[n-1].open)
			}
		})
	}
}

func TestLongBlocksAreCut(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := \"0123456789\"\n", 2000)
	spans := split(code, false)
	if len(spans) < 4 {
		t.Fatalf("%d spans for %d bytes of code", len(spans), len(code))
	}
	total := 0
	for _, s := range spans {
		if s.end-s.start > maxBlock+100 || !s.code || s.lang != "go" {
			t.Errorf("span %+v", s)
		}
		total += s.end - s.start
	}
	if total != len(code)-len("```go\n") {
		t.Errorf("%d bytes of %d are shown", total, len(code)-6)
	}
	if n := len(split(strings.Repeat("a line of prose without any blank line\n", 1000), false)); n < 4 {
		t.Errorf("long prose has %d blocks", n)
	}
}

// TestGrowByByte streams a text byte by byte, as a page gets it, and compares the end with the finished text.
func TestGrowByByte(t *testing.T) {
	src, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	var page []HTML
	for i := 1; i <= len(src); i++ {
		from := max(0, len(page)-1)
		page = page[:from]
		for _, b := range Grow(string(src[:i]), from) {
			if b.N != len(page) {
				t.Fatalf("at %d: block %d at place %d", i, b.N, len(page))
			}
			page = append(page, b.HTML)
		}
	}
	whole := Prose(string(src))
	if len(whole) != len(page) {
		t.Fatalf("%d blocks streamed, %d finished", len(page), len(whole))
	}
	for i, b := range whole {
		if b.HTML != page[i] {
			t.Errorf("block %d: streamed %q, finished %q", i, page[i], b.HTML)
		}
	}
}

func TestHold(t *testing.T) {
	for src, want := range map[string]string{
		"| a | b |":              "",
		"| a | b |\n|--":         "",
		"| a | b |\n|---|---|":   "| a | b |\n|---|---|",
		"text\n| a |":            "text\n",
		"text\n``":               "text\n",
		"a `b":                   "a `b",
		"| a |\n|---|\n| 1 | 2":  "| a |\n|---|\n| 1 | 2",
		"| a |\n|---|\n| 1 |\n|": "| a |\n|---|\n| 1 |\n|",
	} {
		if got := hold(src); got != want {
			t.Errorf("hold(%q) = %q, want %q", src, got, want)
		}
	}
}

func TestTerminal(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"plain", "a < b & c\n", "a &lt; b &amp; c\n"},
		{"colours", "\x1b[31mred\x1b[0m \x1b[1;32mgood\x1b[m", `<span class="a-bad">red</span> <span class="a-ok a-bold">good</span>`},
		{"bright and dim", "\x1b[91mx\x1b[39my\x1b[2mz\x1b[22m.", `<span class="a-bad">x</span>y<span class="a-dim">z</span>.`},
		{"palette is ignored", "\x1b[38;5;196mx\x1b[48;2;1;2;3my", "xy"},
		{"over lines", "\x1b[33ma\nb\x1b[0m", "<span class=\"a-warn\">a</span>\n<span class=\"a-warn\">b</span>"},
		{"title, cursor, charset", "\x1b]0;evil\x07a\x1b[2J\x1b[10;5Hb\x1b(Bc\x1b=d", "abcd"},
		{"device string", "\x1bPpayload\x1b\\x", "x"},
		{"progress", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"windows lines", "a\r\nb\r\n", "a\nb\n"},
		{"controls", "a\x07b\x08c\x7f", "abc"},
		{"nul", "a\x00b", "a\u2400b"},
		{"cut escape", "a\x1b[3", "a"},
		{"bad utf-8", "a\xffb", "a\ufffdb"},
		{"grey", "\x1b[90mx\x1b[0my", `<span class="a-dim">x</span>y`},
	}
	for _, tt := range tests {
		if got := string(Terminal(tt.src)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestDiff(t *testing.T) {
	src := "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@ func a\n x := 1\n-y := \"<b>\"\n+y := 2\n z\n\\ No newline at end of file\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+-- a\n+++ b\n"
	files := Diff("", src)
	if len(files) != 2 || files[0].Path != "a.go" || files[0].Adds != 1 || files[0].Dels != 1 || files[1].Path != "new.txt" || !files[1].Created || files[1].Adds != 2 {
		t.Fatalf("%+v", files)
	}
	rows := files[0].Rows
	if rows[0].Kind != RowHunk || rows[2].Kind != RowDel || rows[2].Old != 2 || rows[2].New != 0 || rows[3].Kind != RowAdd || rows[3].New != 2 || rows[4].Old != 3 || rows[4].New != 3 || rows[5].Kind != RowNote {
		t.Errorf("%+v", rows)
	}
	if want := HTML(`y := <span class="s">&#34;&lt;b&gt;&#34;</span>`); rows[2].HTML != want {
		t.Errorf("got %s, want %s", rows[2].HTML, want)
	}
	if files[1].Rows[2].HTML != "++ b" {
		t.Errorf("a line that looks like a file head: %+v", files[1].Rows)
	}
	if odd := Diff("x", "not a diff"); len(odd) != 1 || len(odd[0].Rows) != 1 || odd[0].Rows[0].HTML != "not a diff" {
		t.Errorf("%+v", odd)
	}
	if named := Diff("x.go", "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"); len(named) != 1 || named[0].Path != "x.go" {
		t.Errorf("%+v", named)
	}
}

func TestSource(t *testing.T) {
	got := Source("a.go", "41\tfunc a() {\n42\t}\n… 3 lines left out")
	if len(got) != 3 || got[0].N != 41 || got[1].N != 42 || got[2].N != 0 || !strings.Contains(string(got[0].HTML), `<span class="k">func </span>`) {
		t.Errorf("%+v", got)
	}
	if Source("a.go", "") != nil {
		t.Error("no text has lines")
	}
}

// TestLexers loads every embedded lexer and colours something with it: a broken file would show at first use only.
func TestLexers(t *testing.T) {
	names, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d lexers, %v", len(names), err)
	}
	if got := len(registry().Lexers); got != len(names)+2 {
		t.Errorf("%d lexers registered, %d files and 2 of our own", got, len(names))
	}
	for _, l := range registry().Lexers {
		if _, err := chroma.Tokenise(l, nil, "if x == 1 { return \"a\" } # c\n<a href='b'>c</a>\n"); err != nil {
			t.Errorf("%s: %v", l.Config().Name, err)
		}
	}
	for lang, want := range map[string]string{
		"go": `<span class="k">return nil </span><span class="c">// x</span>`, "main.go": `<span class="k">return nil </span><span class="c">// x</span>`,
		"nonsense": "return nil // x", "": "return nil // x", "GO": `<span class="k">return nil </span><span class="c">// x</span>`} {
		if got := string(Highlight(lang, "return nil // x")); got != want {
			t.Errorf("%q: %s", lang, got)
		}
	}
	for _, lang := range []string{"js", "ts", "tsx", "py", "sh", "bash", "rust", "c", "cpp", "json", "yaml", "yml", "toml", "sql", "html", "css", "Dockerfile", "Makefile", "java", "kt", "rb", "diff", "md", "x.proto"} {
		if find(lang) == nil {
			t.Errorf("no lexer for %q", lang)
		}
	}
}

func TestHighlightKeepsTheText(t *testing.T) {
	strip := strings.NewReplacer(`</span>`, "", "&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")
	for _, src := range []string{"", "\n", "a\n\n", "x := `a\nb`\n/* c\nd */ e", "<a b='c'>\n", strings.Repeat("x", 60<<10) + "\n\ny"} {
		for _, lang := range []string{"go", "html", "py", "php", "nothing"} {
			got := string(Highlight(lang, src))
			for _, class := range []string{"k", "kt", "nf", "s", "m", "c", "gi", "gd"} {
				got = strings.ReplaceAll(got, `<span class="`+class+`">`, "")
			}
			if got = strip.Replace(got); got != src {
				t.Errorf("%s: %.60q became %.60q", lang, src, got)
			}
		}
	}
}

func TestCache(t *testing.T) {
	c := NewCache(4000)
	big := strings.Repeat("word ", 200)
	for i := range int64(10) {
		c.Prose(Key{Message: i}, big)
		if c.Bytes() > 4000 {
			t.Fatalf("%d bytes", c.Bytes())
		}
		c.Prose(Key{Message: 0}, "other text: a hit is not rendered again")
	}
	if got := c.Prose(Key{Message: 0}, "x")[0].HTML; !strings.Contains(string(got), "word") {
		t.Errorf("the piece in use was dropped: %q", got)
	}
	if got := c.Prose(Key{Message: 1}, "new")[0].HTML; got != "<p>new</p>\n" {
		t.Errorf("the oldest piece is still there: %q", got)
	}
	c.Prose(Key{Message: 99}, strings.Repeat("word ", 2000))
	if got := c.Prose(Key{Message: 99}, "small")[0].HTML; got != "<p>small</p>\n" {
		t.Errorf("a piece larger than the cache was kept: %.40q", got)
	}
}
