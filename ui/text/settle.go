package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel is how much of a link that is still being written is held back; a bracket that is open for longer is no link's.
const maxLabel = 400

// settle ends an unfinished block so that it shows none of its marks for itself: marks at the very end wait for what follows them, a link waits for its
// address, and emphasis and code that are still open are closed.
func settle(piece string) string {
	at, ok := lastRun(piece)
	if !ok {
		return piece
	}
	run := trimMarks(piece[at:])
	var s inline
	s.read(run)
	if s.held >= 0 && len(run)-s.held <= maxLabel {
		run = trimMarks(run[:s.held])
		s = inline{}
		s.read(run)
	}
	return piece[:at] + run + s.closers()
}

// lastRun finds where the text begins that the end of a block belongs to: a paragraph, an item, a heading, a cell. ok is false in code.
func lastRun(piece string) (at int, ok bool) {
	fence, first := "", true
	for pos := 0; pos < len(piece); {
		end := len(piece)
		if i := strings.IndexByte(piece[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		line := strings.TrimLeft(piece[pos:end], " \t>")
		marker := listMarker(line)
		bare := strings.TrimLeft(line[marker:], " \t")
		opened, _, opens := openFence(strings.TrimRight(bare, "\n"))
		switch {
		case fence != "":
			if closesFence(strings.TrimRight(line, "\n"), fence) {
				fence = ""
			}
			first = true
		case opens:
			fence = opened
		case strings.TrimSpace(line) == "":
			first = true
		case marker > 0 || strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "|") || first:
			at, first = pos+strings.Index(piece[pos:end], bare), false
		}
		pos = end
	}
	indented := strings.HasPrefix(piece, "    ") || strings.HasPrefix(piece, "\t")
	if strings.HasPrefix(piece[at:], "|") {
		// A mark of a cell ends with its cell.
		at += strings.LastIndexByte(strings.TrimRight(piece[at:], "| \t\n"), '|') + 1
	}
	return at, fence == "" && !indented
}

// trimMarks takes away marks at the end: they may open something, or be the half of what closes it. What is closed by them is closed anyhow.
func trimMarks(run string) string {
	for {
		short := strings.TrimRight(run, " \t\n")
		if n := len(short) - len(strings.TrimRight(short, `\`)); n%2 == 1 {
			short = short[:len(short)-1]
		}
		bare := strings.TrimRight(short, "*_~`")
		if bare != short && strings.HasSuffix(bare, `\`) {
			_, size := utf8.DecodeRuneInString(short[len(bare):])
			bare = short[:len(bare)+size]
		}
		if bare == run {
			return run
		}
		run = bare
	}
}

// mark is a run of emphasis that is open.
type mark struct {
	char byte
	n    int
}

// inline reads the marks of a run of text.
type inline struct {
	open []mark
	// code is the run of backticks that is open, "" for none.
	code string
	// held is where a link begins that is not whole, -1 for none.
	held int
}

func (s *inline) read(run string) {
	s.held = -1
	for i := 0; i < len(run); {
		switch c := run[i]; {
		case c == '\\':
			i += 2
		case c == '`':
			i = s.backticks(run, i)
		case c == '[' || c == '!' && strings.HasPrefix(run[i:], "!["):
			i = s.bracket(run, i)
		case c == '*' || c == '_' || c == '~':
			end := i + len(run[i:]) - len(strings.TrimLeft(run[i:], string(c)))
			s.emphasis(run, i, end)
			i = end
		default:
			i++
		}
		if s.held >= 0 || s.code != "" {
			return
		}
	}
}

// backticks skips a span of code, or notes that it is open.
func (s *inline) backticks(run string, at int) int {
	end := at + len(run[at:]) - len(strings.TrimLeft(run[at:], "`"))
	marker := run[at:end]
	for pos := end; ; {
		i := strings.IndexByte(run[pos:], '`')
		if i < 0 {
			s.code = marker
			return len(run)
		}
		pos += i
		n := len(run[pos:]) - len(strings.TrimLeft(run[pos:], "`"))
		if pos += n; n == len(marker) {
			return pos
		}
	}
}

// bracket skips an image's mark and what is whole, and holds what may become a link.
func (s *inline) bracket(run string, at int) int {
	start := at
	if run[at] == '!' {
		at++
	}
	depth := 0
	for i := at; i < len(run); i++ {
		switch run[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth > 0 {
				continue
			}
			switch rest := run[i+1:]; {
			case rest == "":
			case !strings.HasPrefix(rest, "("):
				return at + 1
			case strings.IndexByte(rest, ')') >= 0 || strings.IndexByte(rest, '\n') >= 0:
				return i + 1 + max(strings.IndexByte(rest, ')'), 0) + 1
			}
			s.held = start
			return len(run)
		}
	}
	s.held = start
	return len(run)
}

// emphasis closes what a run of marks closes and opens what it opens, by the sides on which text stands.
func (s *inline) emphasis(run string, at, end int) {
	before, _ := utf8.DecodeLastRuneInString(run[:at])
	after, _ := utf8.DecodeRuneInString(run[end:])
	if at == 0 {
		before = ' '
	}
	if end == len(run) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isPunct(after) || unicode.IsSpace(before) || isPunct(before))
	right := !unicode.IsSpace(before) && (!isPunct(before) || unicode.IsSpace(after) || isPunct(after))
	c, n := run[at], end-at
	opens, closes := left, right
	switch c {
	case '_':
		opens, closes = left && (!right || isPunct(before)), right && (!left || isPunct(after))
	case '~':
		if n > 2 {
			return
		}
	}
	for closes && n > 0 {
		i := len(s.open) - 1
		for i >= 0 && s.open[i].char != c {
			i--
		}
		if i < 0 {
			break
		}
		use := min(n, s.open[i].n, 2)
		s.open = s.open[:i+1]
		if s.open[i].n -= use; s.open[i].n == 0 {
			s.open = s.open[:i]
		}
		n -= use
	}
	if opens && n > 0 {
		s.open = append(s.open, mark{c, n})
	}
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// closers ends what is open, the innermost first.
func (s *inline) closers() string {
	var b strings.Builder
	b.WriteString(s.code)
	for i := len(s.open) - 1; i >= 0; i-- {
		b.WriteString(strings.Repeat(string(s.open[i].char), s.open[i].n))
	}
	return b.String()
}
