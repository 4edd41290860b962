package shell

import "strings"

// plain makes what a program wrote for a terminal into plain text: escape sequences are removed, of a line that was rewritten
// after carriage returns only the last state is kept, NUL becomes U+FFFD.
func plain(text string) string {
	var e escapes
	lines := strings.Split(e.strip(text), "\n")
	for i, line := range lines {
		lines[i] = lastState(line)
	}
	return strings.Join(lines, "\n")
}

// lastState gives what stands on the screen after a line with carriage returns.
func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// escapes removes escape sequences (ECMA-48) from text that comes in pieces; a piece may end within a sequence.
type escapes struct{ at place48 }

// place48 is where in a sequence the text before ended.
type place48 int

const (
	outside   place48 = iota
	escape            // behind ESC
	charset           // behind ESC and intermediate bytes
	control           // within ESC [ ...
	str               // within a string such as ESC ] ... that ST or BEL ends
	strEscape         // behind an ESC within such a string
)

// strip gives text without sequences and with NUL replaced. A line ends every sequence, so that a broken one hides one line at most.
func (e *escapes) strip(text string) string {
	if e.at == outside && !strings.ContainsAny(text, "\x1b\x00") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\n' {
			e.at = outside
		}
		if e.at != outside {
			var again bool
			if e.at, again = e.at.next(c); !again {
				continue
			}
		}
		switch c {
		case '\x1b':
			e.at = escape
		case 0:
			b.WriteString("\uFFFD")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// next gives the place behind c; again says that c is no part of the sequence, which it broke off.
func (p place48) next(c byte) (to place48, again bool) {
	switch p {
	case escape, charset:
		switch {
		case p == escape && c == '[':
			return control, false
		case p == escape && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'):
			return str, false
		case c >= 0x20 && c <= 0x2f:
			return charset, false
		}
		return outside, c < 0x30 || c > 0x7e
	case control:
		if c >= 0x20 && c <= 0x3f {
			return control, false
		}
		return outside, c < 0x40 || c > 0x7e
	case str:
		switch c {
		case '\a':
			return outside, false
		case '\x1b':
			return strEscape, false
		}
		return str, false
	case strEscape:
		if c == '\\' {
			return outside, false
		}
		// A new sequence began before the string ended.
		return escape.next(c)
	}
	return outside, true
}

// maxLine bounds how much of an unfinished line the live output remembers.
const maxLine = 8 << 10

// live makes the pieces of a running program's output into plain text that only ever grows. A line that is rewritten cannot be
// taken back: it is held until it ends, and then begins anew where it does not continue what was shown of it.
type live struct {
	escapes escapes
	// line is the unfinished line, shown what was given out of it.
	line, shown string
}

// add takes a piece and gives the text to show.
func (l *live) add(piece string) string {
	var b strings.Builder
	rest := l.line + l.escapes.strip(piece)
	for {
		line, after, ended := strings.Cut(rest, "\n")
		if !ended {
			break
		}
		b.WriteString(l.rest(lastState(line)))
		b.WriteByte('\n')
		l.shown, rest = "", after
	}
	switch {
	case !strings.Contains(rest, "\r"):
		b.WriteString(l.rest(rest))
		l.shown = rest
	case len(rest) > maxLine:
		// What was rewritten is forgotten, but not that the next byte rewrites again.
		again := rest[len(strings.TrimRight(rest, "\r")):]
		rest = "\r" + lastState(rest) + again[:min(1, len(again))]
	}
	if len(rest) > maxLine {
		b.WriteString(l.rest(lastState(rest)))
		rest, l.shown = "", ""
	}
	l.line = rest
	return b.String()
}

// end gives what is still held of the last line.
func (l *live) end() string {
	text := l.rest(lastState(l.line))
	l.line, l.shown = "", ""
	return text
}

// rest gives what must be added to show state.
func (l *live) rest(state string) string {
	if tail, ok := strings.CutPrefix(state, l.shown); ok {
		return tail
	}
	return "\n" + state
}
