package text

import (
	"html"
	"strconv"
	"strings"
)

// Terminal gives the output of a command as HTML: ANSI colours become spans with the classes a-ok, a-bad, a-warn, a-info, a-dim and
// a-bold; every other escape and control character is removed. A line that was overwritten with carriage returns shows its last form.
func Terminal(out string) HTML {
	out = strings.ToValidUTF8(strings.ReplaceAll(out, "\r\n", "\n"), "\uFFFD")
	var w strings.Builder
	w.Grow(len(out) + len(out)/8)
	t := terminal{w: &w}
	for i, line := range strings.Split(out, "\n") {
		if i > 0 {
			w.WriteByte('\n')
		}
		line = strings.TrimRight(line, "\r")
		if cut := strings.LastIndexByte(line, '\r'); cut >= 0 {
			t.state(line[:cut])
			line = line[cut+1:]
		}
		t.line(line)
	}
	t.end()
	return HTML(w.String())
}

// terminal keeps the colours that are on; a span never crosses a line, so that each line is whole markup.
type terminal struct {
	w     *strings.Builder
	color string
	bold  bool
	dim   bool
	class string
}

// state follows the colours of text that is not shown.
func (t *terminal) state(s string) {
	scan(s, func(string) {}, t.sgr)
}

func (t *terminal) line(s string) {
	scan(s, t.text, t.sgr)
	t.end()
}

func (t *terminal) text(s string) {
	class := t.color
	if class == "" && t.dim {
		class = "a-dim"
	}
	if t.bold {
		class = strings.TrimSpace(class + " a-bold")
	}
	if class != t.class {
		t.end()
		if class != "" {
			t.w.WriteString(`<span class="` + class + `">`)
		}
		t.class = class
	}
	t.w.WriteString(html.EscapeString(s))
}

func (t *terminal) end() {
	if t.class != "" {
		t.w.WriteString("</span>")
		t.class = ""
	}
}

func (t *terminal) sgr(params string) {
	list := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(list) == 0 {
		list = []string{"0"}
	}
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		if err != nil {
			return
		}
		switch {
		case n == 0:
			t.color, t.bold, t.dim = "", false, false
		case n == 1:
			t.bold = true
		case n == 2:
			t.dim = true
		case n == 22:
			t.bold, t.dim = false, false
		case n == 38 || n == 48:
			// 5;n and 2;r;g;b: colours of a palette that is not ours are not shown.
			if i+1 < len(list) && list[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		case n == 39:
			t.color = ""
		case n >= 30 && n <= 37:
			t.color = ansiClasses[n-30]
		case n >= 90 && n <= 97:
			t.color = ansiClasses[n-90]
		}
	}
	if len(list) > 0 && strings.HasSuffix(params, "90") {
		t.color = "a-dim"
	}
}

// ansiClasses stand for black, red, green, yellow, blue, magenta, cyan, white: meanings, since the page has its own colours.
var ansiClasses = [8]string{"a-dim", "a-bad", "a-ok", "a-warn", "a-info", "a-info", "a-info", ""}

// scan walks a line: runs of text go to text, SGR parameters to sgr, all other escapes and control characters nowhere.
func scan(s string, text, sgr func(string)) {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != 0x7f || c == '\t' {
			i++
			continue
		}
		if i > start {
			text(s[start:i])
		}
		if c == 0 {
			text("\u2400")
		}
		if c != 0x1b {
			i++
			start = i
			continue
		}
		i = escape(s, i+1, sgr)
		start = i
	}
	if start < len(s) {
		text(s[start:])
	}
}

// escape skips the sequence after ESC at s[i-1] and gives the index behind it.
func escape(s string, i int, sgr func(string)) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[':
		j := i + 1
		for j < len(s) && s[j] >= 0x20 && s[j] <= 0x3f {
			j++
		}
		if j >= len(s) {
			return j
		}
		if s[j] == 'm' {
			sgr(s[i+1 : j])
		}
		return j + 1
	case ']', 'P', '_', '^', 'X':
		for j := i + 1; j < len(s); j++ {
			if s[j] == 0x07 {
				return j + 1
			}
			if s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\' {
				return j + 2
			}
		}
		return len(s)
	case '(', ')', '*', '+', '#', '%', ' ':
		return min(i+2, len(s))
	}
	if s[i] >= 0x30 && s[i] < 0x7f {
		return i + 1
	}
	return i
}
