package cli

import (
	"io"
	"unicode/utf8"
)

// maxEscape is how long an escape sequence may be; what is longer is none and is dropped all the same.
const maxEscape = 64

// printer writes foreign text without terminal escapes and control characters other than newline and tab. With colours it keeps SGR
// sequences. Text may come in any pieces; a sequence that is cut between two of them is recognised.
type printer struct {
	w       io.Writer
	colours bool

	state escapeState
	// held is the sequence so far, cut a rune of which bytes are missing.
	held, cut []byte
	// column is 0 at the beginning of a line.
	column int
	out    []byte
}

type escapeState int

const (
	inText escapeState = iota
	inEscape
	inCSI
	// inString is a control string (OSC, DCS, APC, PM, SOS), inStringEnd an ESC inside of one.
	inString
	inStringEnd
)

// plain gives a text without escapes and colours, for one line.
func plain(s string) string {
	var p printer
	p.take([]byte(s))
	return string(p.out)
}

// print writes one piece.
func (p *printer) print(s string) error {
	p.out = p.out[:0]
	p.take([]byte(s))
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.w.Write(p.out)
	return err
}

// line ends a line that was begun.
func (p *printer) line() error {
	if p.column == 0 {
		return nil
	}
	return p.print("\n")
}

// take adds what is to be written to out.
func (p *printer) take(b []byte) {
	if len(p.cut) > 0 {
		b = append(p.cut, b...)
		p.cut = nil
	}
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			p.cut = append([]byte{}, b...)
			return
		}
		r, n := utf8.DecodeRune(b)
		if p.state == inText && r == utf8.RuneError && n == 1 {
			p.emit([]byte("\uFFFD"))
		} else {
			p.step(r, b[:n])
		}
		b = b[n:]
	}
}

func (p *printer) step(r rune, b []byte) {
	switch p.state {
	case inText:
		p.text(r, b)
	case inEscape:
		switch {
		case r == '[':
			p.state = inCSI
			p.hold(b)
		case r == ']' || r == 'P' || r == '_' || r == '^' || r == 'X':
			p.state = inString
		case r == 0x1b:
			p.held = append(p.held[:0], b...)
		case r >= 0x20 && r <= 0x2f:
			// Intermediate bytes, such as of a character set; the final one follows.
		default:
			p.state, p.held = inText, p.held[:0]
		}
	case inCSI:
		p.csi(r, b)
	case inString:
		if r == 0x07 || r == 0x9c {
			p.state, p.held = inText, p.held[:0]
		} else if r == 0x1b {
			p.state = inStringEnd
		}
	case inStringEnd:
		if r == '\\' {
			p.state, p.held = inText, p.held[:0]
		} else if r != 0x1b {
			p.state = inString
		}
	}
}

func (p *printer) text(r rune, b []byte) {
	switch {
	case r == 0x1b:
		p.state, p.held = inEscape, append(p.held[:0], b...)
	case r == 0x9b:
		p.state, p.held = inCSI, append(p.held[:0], 0x1b, '[')
	case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
		p.state = inString
	case r == '\n' || r == '\t' || r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f) && !isBidi(r):
		p.emit(b)
	}
}

// csi collects a control sequence up to its final byte; only colours are kept.
func (p *printer) csi(r rune, b []byte) {
	p.hold(b)
	if r == 0x1b {
		p.state, p.held = inEscape, append(p.held[:0], b...)
		return
	}
	if r >= 0x20 && r < 0x40 {
		return
	}
	if r == 'm' && p.colours && len(p.held) < maxEscape && isColour(p.held[2:len(p.held)-1]) {
		p.out = append(p.out, p.held...)
	}
	p.state, p.held = inText, p.held[:0]
}

func (p *printer) hold(b []byte) {
	if len(p.held) < maxEscape {
		p.held = append(p.held, b...)
	}
}

func (p *printer) emit(b []byte) {
	p.out = append(p.out, b...)
	p.column++
	if len(b) == 1 && b[0] == '\n' {
		p.column = 0
	}
}

// isColour: SGR parameters are numbers with separators.
func isColour(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return true
}

// isBidi: characters that turn the direction of a line make it read as something else.
func isBidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }
