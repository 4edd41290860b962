package thought

import "strings"

const (
	opening = "<think>"
	closing = "</think>"
)

// Splitter takes reasoning out of the text of models whose template does not tell the server that they think: a reply
// that begins with <think> is reasoning up to </think>. Tags anywhere else are text.
type Splitter struct {
	state int
	held  string
}

const (
	undecided = iota
	inside
	closed
	passed
)

// Add gives the reasoning and the text in s; what could be the beginning of a tag is held back.
func (t *Splitter) Add(s string) (reasoning, text string) {
	switch t.state {
	case passed:
		return "", s
	case closed:
		return "", t.afterClose(s)
	}
	t.held += s
	if t.state == undecided {
		lead := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(lead, opening):
			t.state = inside
			t.held = lead[len(opening):]
		case strings.HasPrefix(opening, lead):
			return "", ""
		default:
			t.state = passed
			return "", t.flushText()
		}
	}
	if before, after, found := strings.Cut(t.held, closing); found {
		t.state, t.held = closed, ""
		return before, t.afterClose(after)
	}
	keep := partialSuffix(t.held, closing)
	reasoning = t.held[:len(t.held)-keep]
	t.held = t.held[len(t.held)-keep:]
	return reasoning, ""
}

// afterClose drops the newlines between the closing tag and the text.
func (t *Splitter) afterClose(s string) string {
	s = strings.TrimLeft(s, "\r\n")
	if s != "" {
		t.state = passed
	}
	return s
}

// Flush gives what is held back when the text ends or something else comes between.
func (t *Splitter) Flush() (reasoning, text string) {
	if t.state == inside {
		reasoning = t.held
		t.held = ""
		return reasoning, ""
	}
	t.state = passed
	return "", t.flushText()
}

func (t *Splitter) flushText() string {
	s := t.held
	t.held = ""
	return s
}

// partialSuffix is the length of the longest end of s that is a beginning of tag.
func partialSuffix(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
