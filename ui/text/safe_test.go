package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// unsafeParts walks markup as a browser would and names everything that must not be in it. own allows the head of our code blocks.
func unsafeParts(t testing.TB, markup HTML, own bool) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader("<body>" + string(markup)))
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Fields("html head body p br hr em strong del ul ol li blockquote h3 h4 table thead tbody tr th td pre code samp span div a")
	if own {
		allowed = append(allowed, "header", "button", "svg", "use")
	}
	var out []string
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if !slices.Contains(allowed, n.Data) {
				out = append(out, "element "+n.Data)
			}
			for _, a := range n.Attr {
				if why := unsafeAttr(n.Data, a, own); why != "" {
					out = append(out, fmt.Sprintf("%s %s=%q: %s", n.Data, a.Key, a.Val, why))
				}
			}
		}
		if n.Type == html.CommentNode || n.Type == html.DoctypeNode {
			out = append(out, "comment or doctype")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	if strings.Contains(string(markup), "\r") {
		out = append(out, "a carriage return")
	}
	if strings.Contains(strings.ToLower(string(markup)), "</body") {
		out = append(out, "an end of the body")
	}
	return out
}

var classes = regexp.MustCompile(`^(chroma|[a-z][a-z0-9]{0,2}|task|tables|a-(ok|bad|warn|info|dim)( a-bold)?|a-bold)$`)

func unsafeAttr(element string, a html.Attribute, own bool) string {
	if own && slices.Contains([]string{"header", "button", "svg", "use"}, element) {
		return ""
	}
	switch a.Key {
	case "class":
		if !classes.MatchString(a.Val) && (!own || a.Val != "code") {
			return "a class of the page"
		}
	case "href":
		if !regexp.MustCompile(`(?i)^(https?://[^/]|mailto:)`).MatchString(a.Val) {
			return "an address that is not http, https or mailto"
		}
	case "title", "rel", "tabindex", "start":
	case "target":
		if a.Val != "_blank" {
			return "another target"
		}
	default:
		return "not allowed"
	}
	return ""
}

// payloads are tries to get script, attributes, ids or our own components out of Markdown. Each is also tried inside other constructs.
var payloads = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`, `<iframe src="javascript:alert(1)"></iframe>`,
	`<a href="javascript:alert(1)">x</a>`, `[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x]( javascript:alert(1))`, `[x](java&#115;cript:alert(1))`, "[x](java\tscript:alert(1))",
	`[x](data:text/html,<script>alert(1)</script>)`, `[x](vbscript:msgbox(1))`, `[x](//evil.example)`, `[x](/logout)`, `[x](#draft)`, `[x](file:///etc/passwd)`, `[x](http:/logout)`, `[](http:)`, `<https:logout>`, `<javascript:alert(1)>`, `<https://example.org/"onmouseover=alert(1)>`,
	`![x](javascript:alert(1))`, `![x](https://evil.example/pixel.png)`, `![x](x "onerror=alert(1)")`, `![x"onerror="alert(1)](x)`, `[x](https://example.org "a" onmouseover="alert(1)")`, `[x](<https://example.org" onmouseover="alert(1)>)`,
	`<div data-init="alert(1)">x</div>`, `<div data-on:click="@post('/chats/1/delete')">x</div>`, `<p data-signals:_away="true">`, `<div id="draft">x</div>`, `<a name="log">`, `<form action="/logout" method="post"><button>x</button></form>`,
	`<button class="btn is-primary" data-act="post" data-url="/chats/1/delete">Allow once</button>`, `<section class="card-ask">x</section>`, `<dialog open>x</dialog>`, `<style>*{display:none}</style>`, `<link rel=stylesheet href=//evil.example>`,
	`<base href="//evil.example">`, `<meta http-equiv="refresh" content="0;url=//evil.example">`, `<object data="x"></object>`, `<embed src=x>`, `<math><mtext><script>alert(1)</script></mtext></math>`, `<template><script>alert(1)</script></template>`,
	`</div></div><script>alert(1)</script>`, `</body><script>alert(1)</script>`, `</textarea><script>alert(1)</script>`, `</code></pre><script>alert(1)</script>`, `<!--<script>alert(1)</script>-->`, `<!doctype html><html>`, `<![CDATA[<script>alert(1)</script>]]>`, `<?php echo 1 ?>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<p style="position:fixed">x</p>`, `<span class="card-ask">x</span>`, `<b onclick=alert(1)>x</b>`, `# x {#log}`, `# x {onclick=alert(1)}`, "abc\rdata: selector #log\rdata: elements <b>", "x\r\revent: datastar-patch-signals\rdata: signals {a:1}\r\r",
	"\x00<script>alert(1)</script>", "<scr\x00ipt>alert(1)</script>", "<\u200bscript>alert(1)</script>", `&lt;script&gt;alert(1)&lt;/script&gt;`, `\<script>alert(1)</script>`, `<ScRiPt >alert(1)</ScRiPt >`, `<script/src=//evil.example>`, `<a href=https://example.org/ target=_self>x</a>`, `<video src=x onerror=alert(1)>`,
	`<details open ontoggle=alert(1)>`, `<input autofocus onfocus=alert(1)>`, `<select onchange=alert(1)>`, `[^1]: <script>alert(1)</script>`, `https://example.org/<script>alert(1)</script>`, `www.example.org"onclick="alert(1)`, `a@b.c"><script>alert(1)</script>`,
}

var frames = []string{"%s", "> %s", "- %s", "**%s**", "| a |\n|---|\n| %s |", "`%s`", "```html\n%s\n```", "```\"><script>%s\nx\n```", "1. x\n\n   ```js\n   %s\n   ```"}

func TestNothingEscapes(t *testing.T) {
	count := 0
	for _, p := range payloads {
		for _, f := range frames {
			src := fmt.Sprintf(f, p)
			count++
			for _, bad := range unsafeParts(t, Markdown(src), false) {
				t.Errorf("Markdown(%q): %s\n%s", src, bad, Markdown(src))
			}
			for _, b := range append(Prose(src), Grow(src, 0)...) {
				for _, bad := range unsafeParts(t, b.HTML, true) {
					t.Errorf("Prose(%q): %s\n%s", src, bad, b.HTML)
				}
			}
			for _, bad := range unsafeParts(t, Terminal(src), false) {
				t.Errorf("Terminal(%q): %s", src, bad)
			}
		}
	}
	if count < 200 {
		t.Fatalf("only %d payloads", count)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, p := range payloads {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, bad := range unsafeParts(t, Markdown(src), false) {
			t.Fatalf("%q: %s", src, bad)
		}
	})
}

// FuzzGrow checks that blocks but the last never change while a text grows, and that no cut makes markup that escapes.
func FuzzGrow(f *testing.F) {
	f.Add("a\n\nb\n\n```go\nx := 1\n```\n\n- a\n\n  b\n- c\n\nend", 7)
	f.Add("```\na\n\nb", 3)
	for _, p := range payloads {
		f.Add(p+"\n\n"+p, len(p)/2)
	}
	f.Fuzz(func(t *testing.T, src string, cut int) {
		if cut < 0 || cut > len(src) || len(src) > 4<<10 {
			return
		}
		whole, part := clean(src), clean(src[:cut])
		if !strings.HasPrefix(whole, part) {
			return // the cut went through a rune or a line end
		}
		before, after := Grow(part, 0), Grow(whole, 0)
		if len(before) > len(after) {
			t.Fatalf("%q at %d: %d blocks became %d", src, cut, len(before), len(after))
		}
		for i := 0; i+1 < len(before); i++ {
			if before[i] != after[i] {
				t.Fatalf("%q at %d: block %d changed from %q to %q", src, cut, i, before[i].HTML, after[i].HTML)
			}
		}
		if n := len(before); n > 0 && !before[n-1].Open && before[n-1] != after[n-1] {
			t.Fatalf("%q at %d: a closed block changed from %q to %q", src, cut, before[n-1].HTML, after[n-1].HTML)
		}
		for _, b := range after {
			if bad := unsafeParts(t, b.HTML, true); len(bad) > 0 {
				t.Fatalf("%q: %v", src, bad)
			}
		}
	})
}

func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\r50%\r100%\n\x1bP+q\x1b\\")
	f.Fuzz(func(t *testing.T, src string) {
		out := Terminal(src)
		if bad := unsafeParts(t, out, false); len(bad) > 0 {
			t.Fatalf("%q: %v", src, bad)
		}
		if strings.ContainsAny(string(out), "\x1b\x07\x08\r\x00") {
			t.Fatalf("%q: a control character is left in %q", src, out)
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			if strings.Count(line, "<span") != strings.Count(line, "</span>") {
				t.Fatalf("%q: a span crosses a line: %q", src, line)
			}
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("a.go", "--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
	f.Add("", "@@ -1,99999 +0 @@\n@@ bad\n\\ No newline")
	f.Fuzz(func(t *testing.T, name, src string) {
		for _, file := range Diff(name, src) {
			adds, dels := 0, 0
			for _, r := range file.Rows {
				if bad := unsafeParts(t, r.HTML, false); len(bad) > 0 {
					t.Fatalf("%q: %v", src, bad)
				}
				switch r.Kind {
				case RowAdd:
					adds++
				case RowDel:
					dels++
				}
			}
			if adds != file.Adds || dels != file.Dels {
				t.Fatalf("%q: %d and %d rows, counted %d and %d", src, adds, dels, file.Adds, file.Dels)
			}
		}
	})
}

// TestEndlessLines: a line that no person writes is shown as it is, and is not parsed: what is left open in it would cost minutes.
func TestEndlessLines(t *testing.T) {
	for _, mark := range []string{"[a](b", "<b>*_", "[", "`"} {
		src := strings.Repeat(mark, maxBlock/len(mark)+1)
		if got, want := Markdown("one\n"+src), HTML("<p>one\n"+html.EscapeString(src)+"</p>"); got != want {
			t.Errorf("%q is parsed: %.60q", mark, got)
		}
	}
	if got := Markdown(strings.Repeat("*a*\n\n", maxBlock)); !strings.HasPrefix(string(got), "<p><em>a</em></p>") {
		t.Errorf("many short lines are not parsed: %.60q", got)
	}
}
