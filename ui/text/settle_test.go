package text

import (
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestSettle(t *testing.T) {
	for src, want := range map[string]string{
		"":                                "",
		"plain":                           "plain",
		"**":                              "",
		"**bold":                          "**bold**",
		"**bold*":                         "**bold**",
		"**bold**":                        "**bold**",
		"a **bold ":                       "a **bold**",
		"a **bold\nand more":              "a **bold\nand more**",
		"***both":                         "***both***",
		"**bold *and":                     "**bold *and***",
		"*a **b":                          "*a **b***",
		"**a** and *":                     "**a** and",
		"~~gone":                          "~~gone~~",
		"run `go te":                      "run `go te`",
		"run `":                           "run",
		"``a`b":                           "``a`b``",
		"**run `x":                        "**run `x`**",
		"`**` is a mark":                  "`**` is a mark",
		"`**":                             "",
		"see [the pa":                     "see",
		"see [the page](https://exam":     "see",
		"see **[the page](ht":             "see",
		"see [the page](https://a.b/) an": "see [the page](https://a.b/) an",
		"a [1] and":                       "a [1] and",
		"a [1]":                           "a",
		"- [":                             "- ",
		"- [ ] task **no":                 "- [ ] task **no**",
		"![pic":                           "",
		"well!":                           "well!",
		"5 * 3 = 15":                      "5 * 3 = 15",
		"snake_case_name":                 "snake_case_name",
		`a \**b`:                          `a \**b*`,
		`a \*b`:                           `a \*b`,
		`a \`:                             `a`,
		`a \*`:                            `a \*`,
		"- one **two\n- three":            "- one **two\n- three",
		"- one\n- **two":                  "- one\n- **two**",
		"- one\n  **two":                  "- one\n  **two**",
		"- one **two\n  three":            "- one **two\n  three**",
		"> **said":                        "> **said**",
		"## **Head":                       "## **Head**",
		"**a\n\nb":                        "**a\n\nb",
		"| a |\n|---|\n| **b":             "| a |\n|---|\n| **b**",
		"| a |\n|---|\n| **b | c":         "| a |\n|---|\n| **b | c",
		"- x\n  ```\n  a **b":             "- x\n  ```\n  a **b",
		"    a **b":                       "    a **b",
		"[" + strings.Repeat("x", 500):    "[" + strings.Repeat("x", 500),
	} {
		if got := settle(src); got != want {
			t.Errorf("settle(%q) = %q, want %q", src, got, want)
		}
	}
}

var number = regexp.MustCompile(`(^|\n)[0-9]+[.)]?$`)

var tags = regexp.MustCompile(`<[^>]*>`)

// seen is the text that a page shows of blocks, without the space between words.
func seen(blocks []Block) string {
	var b strings.Builder
	for _, x := range blocks {
		b.WriteString(html.UnescapeString(tags.ReplaceAllString(string(x.HTML), "")))
	}
	return strings.Join(strings.Fields(b.String()), "")
}

// TestNoMarkIsSeenWhileTextGrows streams texts byte by byte: what a reader sees is, at each moment, the beginning of what stands there in the end.
func TestNoMarkIsSeenWhileTextGrows(t *testing.T) {
	whole, err := os.ReadFile("testdata/growing.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range strings.Split(string(whole), "\n===\n") {
		end := seen(Prose(src))
		longest := 0
		for i := 1; i <= len(src); i++ {
			if number.MatchString(src[:i]) {
				continue // A number is one until it is the mark of an item.
			}
			got := seen(Grow(src[:i], 0))
			if !strings.HasPrefix(end, strings.TrimRight(got, "\uFFFD")) {
				t.Errorf("after %q a reader sees %q, which is not the beginning of %q", src[max(0, i-40):i], got, end)
				break
			}
			longest = max(longest, len(got))
		}
		if longest < len(end)*9/10 {
			t.Errorf("of %d bytes only %d were seen while the text grew: %q", len(end), longest, src)
		}
	}
}

func FuzzSettle(f *testing.F) {
	for _, s := range []string{"**a `b [c](d", "- *x\n  ```\n_y", `\\\*a**`, "| **a | _b\n|---", "> > ![", "~~~~a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		got := settle(src)
		if len(got) > 2*len(src) {
			t.Errorf("settle(%q) = %q", src, got)
		}
		for _, b := range Grow(src, 0) {
			if strings.Contains(string(b.HTML), "<script") {
				t.Errorf("%q", b.HTML)
			}
		}
	})
}
