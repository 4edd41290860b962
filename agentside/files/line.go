package files

import "strings"

// line is one line of a text without its ending, and the ending: LF, CRLF, or "" for a last line without one.
type line struct{ text, ending string }

func splitLines(s string) []line {
	var lines []line
	for piece := range strings.Lines(s) {
		l := line{text: piece}
		if text, ok := strings.CutSuffix(piece, "\n"); ok {
			l = line{text: text, ending: "\n"}
		}
		if text, ok := strings.CutSuffix(l.text, "\r"); ok && l.ending != "" {
			l = line{text: text, ending: "\r\n"}
		}
		lines = append(lines, l)
	}
	return lines
}

const blanks = " \t"

// body is a line without the blanks around it.
func (l line) body() string { return strings.Trim(l.text, blanks) }

func (l line) lead() string { return l.text[:len(l.text)-len(strings.TrimLeft(l.text, blanks))] }

// trail is the blanks at the end of a line that has more than blanks.
func (l line) trail() string {
	if l.body() == "" {
		return ""
	}
	return l.text[len(strings.TrimRight(l.text, blanks)):]
}

// key is what a line is compared by at a level.
func (l line) key(level int) string {
	if level == 1 {
		return strings.TrimRight(l.text, blanks)
	}
	return l.body()
}
