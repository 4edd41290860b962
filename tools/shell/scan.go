package shell

import "strings"

// token is a word or an operator of a command line. at is its place in the text; inner ones stand in parentheses or substitutions.
type token struct {
	text  string
	at    int
	op    bool
	inner bool
}

// maxDepth bounds how deep parentheses are followed; a line beyond it is taken as one without operators.
const maxDepth = 200

// operators of a POSIX shell and bash, longest first where one begins another.
var operators = []string{
	"&>>", "&&", "&>", "&", "||", "|&", "|", ";;&", ";;", ";&", ";",
	"<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "(", ")", "\n",
}

// scanner splits a command line into tokens as far as it takes to know which & are operators: quotes, escapes, comments,
// substitutions, arithmetic and here-documents are followed, keywords are words like others.
type scanner struct {
	text    string
	i       int
	depth   int
	tooDeep bool
	tokens  []token
	// word is where the current word began, -1 between words.
	word int
	// here holds the delimiters of here-documents whose bodies begin after the next newline.
	here []hereDoc
	// wantHere says that the next word is such a delimiter, dash that its body may be indented by tabs.
	wantHere, dash bool
}

type hereDoc struct {
	delimiter string
	dash      bool
}

// scan gives the tokens of a command line; comments and here-document bodies are none.
func scan(text string) []token {
	s := &scanner{text: text, word: -1}
	for s.i < len(text) && !s.tooDeep {
		// A closing parenthesis that nothing opened ends a list early.
		s.list()
	}
	if s.tooDeep {
		return nil
	}
	return s.tokens
}

func (s *scanner) begin() {
	if s.word < 0 {
		s.word = s.i
	}
}

func (s *scanner) end() {
	if s.word < 0 {
		return
	}
	raw := s.text[s.word:s.i]
	s.tokens = append(s.tokens, token{text: raw, at: s.word, inner: s.depth > 0})
	s.word = -1
	if s.wantHere {
		s.wantHere = false
		s.here = append(s.here, hereDoc{delimiter: unquote(raw), dash: s.dash})
	}
}

// list reads until the parenthesis that closes it, or to the end.
func (s *scanner) list() {
	for s.i < len(s.text) && !s.tooDeep {
		switch c := s.text[s.i]; c {
		case ' ', '\t', '\r':
			s.end()
			s.i++
		case '#':
			if s.word >= 0 {
				s.i++
				continue
			}
			s.skipTo('\n')
		case '\\':
			s.escape()
		case '\'', '"', '`', '$':
			s.quoted(c)
		default:
			if closed := s.operatorOrByte(); closed {
				return
			}
		}
	}
	s.end()
}

// escape reads a backslash and what it protects; before a newline both are nothing at all.
func (s *scanner) escape() {
	if strings.HasPrefix(s.text[s.i:], "\\\n") {
		s.i += 2
		return
	}
	s.begin()
	s.i = min(s.i+2, len(s.text))
}

// operatorOrByte reads an operator, or one byte of a word. It says whether that was the parenthesis that closes the list.
func (s *scanner) operatorOrByte() (closed bool) {
	op := operatorAt(s.text[s.i:])
	if op == "" {
		s.begin()
		s.i++
		return false
	}
	s.end()
	if op == "(" && s.arithmetic() {
		return false
	}
	at := s.i
	s.i += len(op)
	switch op {
	case "(":
		s.tokens = append(s.tokens, token{text: op, at: at, op: true, inner: s.depth > 0})
		s.nested()
		return false
	case ")":
		s.tokens = append(s.tokens, token{text: op, at: at, op: true, inner: s.depth > 1})
		return true
	case "<<", "<<-":
		s.wantHere, s.dash = true, op == "<<-"
	case "\n":
		s.bodies()
	}
	s.tokens = append(s.tokens, token{text: op, at: at, op: true, inner: s.depth > 0})
	return false
}

func operatorAt(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

// nested reads the list of a subshell or substitution whose opening was just read.
func (s *scanner) nested() {
	if s.depth == maxDepth {
		s.tooDeep = true
		return
	}
	s.depth++
	s.list()
	s.depth--
}

// arithmetic skips ((...)) whole: & and << mean something else there. Parentheses that do not close in a pair are two subshells.
func (s *scanner) arithmetic() bool {
	if !strings.HasPrefix(s.text[s.i:], "((") {
		return false
	}
	depth := 0
	for j := s.i; j < len(s.text); j++ {
		switch s.text[j] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return false
		}
		if depth == 1 && strings.HasPrefix(s.text[j:], "))") {
			s.begin()
			s.i = j + 2
			return true
		}
	}
	return false
}

// quoted reads what begins with a quote, a backquote or a dollar sign as part of a word.
func (s *scanner) quoted(c byte) {
	s.begin()
	s.i++
	switch c {
	case '\'':
		s.skipTo('\'')
		s.i = min(s.i+1, len(s.text))
	case '"':
		s.double()
	case '`':
		s.escapedTo('`')
	case '$':
		s.dollar(false)
	}
}

// dollar reads what follows a dollar sign: a substitution, a parameter, or a quote of its own kind.
func (s *scanner) dollar(inDouble bool) {
	if s.i >= len(s.text) {
		return
	}
	switch s.text[s.i] {
	case '(':
		word := s.word
		if s.arithmetic() {
			s.word = word
			return
		}
		s.i++
		s.word = -1
		wantHere := s.wantHere
		s.wantHere = false
		s.nested()
		s.word, s.wantHere = word, wantHere
	case '{':
		s.i++
		s.brace(inDouble)
	case '\'':
		if !inDouble {
			s.i++
			s.escapedTo('\'')
		}
	}
}

// double reads to the end of a double quote.
func (s *scanner) double() {
	for s.i < len(s.text) && !s.tooDeep {
		c := s.text[s.i]
		s.i++
		switch c {
		case '"':
			return
		case '\\':
			s.i = min(s.i+1, len(s.text))
		case '`':
			s.escapedTo('`')
		case '$':
			s.dollar(true)
		}
	}
}

// brace reads to the end of a ${...}.
func (s *scanner) brace(inDouble bool) {
	if s.depth == maxDepth {
		s.tooDeep = true
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	for s.i < len(s.text) && !s.tooDeep {
		c := s.text[s.i]
		s.i++
		switch c {
		case '}':
			return
		case '\\':
			s.i = min(s.i+1, len(s.text))
		case '\'':
			if !inDouble {
				s.skipTo('\'')
				s.i = min(s.i+1, len(s.text))
			}
		case '"':
			s.double()
		case '`':
			s.escapedTo('`')
		case '$':
			s.dollar(inDouble)
		}
	}
}

// skipTo goes to the next c, or to the end.
func (s *scanner) skipTo(c byte) {
	n := strings.IndexByte(s.text[s.i:], c)
	if n < 0 {
		s.i = len(s.text)
		return
	}
	s.i += n
}

// escapedTo goes behind the next c that no backslash protects.
func (s *scanner) escapedTo(c byte) {
	for s.i < len(s.text) {
		switch s.text[s.i] {
		case '\\':
			s.i++
		case c:
			s.i++
			return
		}
		s.i++
	}
	s.i = len(s.text)
}

// bodies skips the here-documents that begin on the line that was just reached.
func (s *scanner) bodies() {
	for _, h := range s.here {
		for s.i < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.i:], "\n")
			s.i = min(s.i+len(line)+1, len(s.text))
			if h.dash {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.delimiter {
				break
			}
		}
	}
	s.here = nil
}

// unquote takes quotes and backslashes out of a here-document's delimiter.
func unquote(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		switch word[i] {
		case '\'', '"':
		case '\\':
			if i++; i < len(word) {
				b.WriteByte(word[i])
			}
		default:
			b.WriteByte(word[i])
		}
	}
	return b.String()
}
