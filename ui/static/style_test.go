package static

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var token = regexp.MustCompile(`--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`)

// colors gives the plain pairs of tokens.css: light, dark.
func colors(t *testing.T) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, m := range token.FindAllStringSubmatch(read(t, "tokens.css"), -1) {
		out[m[1]] = [2]string{m[2], m[3]}
	}
	if len(out) < 30 {
		t.Fatalf("only %d tokens could be read", len(out))
	}
	return out
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var l [3]float64
	for i := range 3 {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			l[i] = c / 12.92
		} else {
			l[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

func TestContrast(t *testing.T) {
	c := colors(t)
	surfaces := []string{"canvas", "rail", "raised", "well", "hover", "press"}
	type pair struct {
		fore  string
		backs []string
		least float64
	}
	pairs := []pair{
		{"ink", surfaces, 4.5}, {"ink-2", surfaces, 4.5}, {"ink-3", surfaces, 4.5},
		{"accent", append([]string{"accent-soft"}, surfaces...), 4.5}, {"on-accent", []string{"accent-solid", "accent-solid-hover"}, 4.5},
		{"edge", []string{"canvas", "rail", "raised", "well"}, 3}, {"focus", surfaces, 3}, {"accent-solid", []string{"canvas", "raised", "well"}, 3},
		{"ok", []string{"canvas", "rail", "raised", "ok-soft", "add"}, 4.5}, {"warn", []string{"canvas", "rail", "raised", "warn-soft"}, 4.5},
		{"danger", []string{"canvas", "rail", "raised", "danger-soft", "del", "well"}, 4.5},
		{"ink", []string{"ok-soft", "warn-soft", "danger-soft", "accent-soft", "add", "del"}, 4.5}, {"ink-2", []string{"warn-soft"}, 4.5}, {"ink-3", []string{"warn-soft", "danger-soft", "add", "del"}, 4.5},
	}
	for _, syn := range []string{"syn-key", "syn-str", "syn-fn", "syn-type", "syn-num", "syn-com"} {
		pairs = append(pairs, pair{syn, []string{"well", "add", "del"}, 4.5})
	}
	for _, p := range pairs {
		for _, back := range p.backs {
			for theme, name := range []string{"light", "dark"} {
				f, okF := c[p.fore]
				b, okB := c[back]
				if !okF || !okB {
					t.Fatalf("no token %s or %s", p.fore, back)
				}
				x, y := luminance(t, f[theme]), luminance(t, b[theme])
				if ratio := (max(x, y) + 0.05) / (min(x, y) + 0.05); ratio < p.least {
					t.Errorf("%s: %s on %s has %.2f, less than %.1f", name, p.fore, back, ratio, p.least)
				}
			}
		}
	}
}

func TestStyleRules(t *testing.T) {
	css := read(t, "app.css")
	if total := len(css) + len(read(t, "tokens.css")); total > 60_000 {
		t.Errorf("the style sheets have %d bytes, more than 60000", total)
	}
	rules := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(css, "")
	// The one picture in the sheet is a data URL and cannot name a token.
	rules = regexp.MustCompile(`url\("data:[^"]*"\)`).ReplaceAllString(rules, "")
	for _, bad := range []*regexp.Regexp{regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b[^{]*;`), regexp.MustCompile(`\b(rgb|rgba|hsl|oklch)\(`), regexp.MustCompile(`font(-size)?:[^;}/]*\dpx`), regexp.MustCompile(`url\(`)} {
		for _, hit := range bad.FindAllString(rules, -1) {
			t.Errorf("app.css has %q: colours and sizes come from tokens.css", hit)
		}
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9-]+)`).FindAllStringSubmatch(css, -1) {
		used[m[1]] = true
	}
	defined := map[string]bool{"c": true, "bg": true, "p": true}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+):`).FindAllStringSubmatch(read(t, "tokens.css"), -1) {
		defined[m[1]] = true
	}
	for name := range used {
		if !defined[name] {
			t.Errorf("app.css uses --%s, which tokens.css does not have", name)
		}
	}
	if strings.Count(rules, "{") != strings.Count(rules, "}") {
		t.Errorf("braces do not match: %d and %d", strings.Count(rules, "{"), strings.Count(rules, "}"))
	}
	if regexp.MustCompile(`\.turn[^{]*(:first-child|\+ \.turn)`).MatchString(rules) {
		t.Error(".turn has a rule by its neighbours: older messages put before it would move the page")
	}
	if strings.Contains(rules, "text-wrap:pretty") && regexp.MustCompile(`\.prose\{[^}]*text-wrap:(pretty|balance)`).MatchString(rules) {
		t.Error(".prose breaks its lines anew while text streams")
	}
}

// TestTemplates reads the sources of the pages: what the content policy forbids must not be written anywhere.
func TestTemplates(t *testing.T) {
	var sources []string
	for _, glob := range []string{"../view/*.templ", "../gallery/*.templ"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	if len(sources) < 10 {
		t.Fatalf("only %d templates found", len(sources))
	}
	reserved := "signals|init|on|show|text|style|class|attr|bind|ref|effect|computed|indicator|ignore|ignore-morph|preserve-attr|json-signals|animate|persist|scope"
	ours := regexp.MustCompile(`\bdata-(text|style|show|ref|bind|effect|attr|init|indicator|computed)="[^"]*"`)
	icons := read(t, "icons.svg")
	for _, file := range append(sources, "app.js", "queue.js", "attach.js") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := string(b)
		for bad, why := range map[string]string{` style=`: "a style attribute", `<style`: "an inline style sheet", ` onclick`: "an inline handler", `javascript:`: "an inline script", `http://`: "a foreign host", `https://`: "a foreign host"} {
			if strings.Contains(src, bad) {
				t.Errorf("%s has %s", file, why)
			}
		}
		if hit := ours.FindString(src); hit != "" {
			t.Errorf("%s: %s is one of Datastar's names (%s)", file, hit, reserved)
		}
		for _, m := range regexp.MustCompile(`[iI]con(?:Tone)?\("(i-[a-z]+)"|#(i-[a-z]+)`).FindAllStringSubmatch(src, -1) {
			name := m[1] + m[2]
			if !strings.Contains(icons, fmt.Sprintf(`id="%s"`, name)) {
				t.Errorf("%s uses the icon %s, which icons.svg does not have", file, name)
			}
		}
	}
}
