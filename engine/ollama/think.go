package ollama

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter takes reasoning out of the text of models whose template does not tell the server that they think: a reply
// that begins with <think> is reasoning up to </think>. Tags anywhere else are text.
type thinkSplitter struct {
	state int
	held  string
}

const (
	thinkUndecided = iota
	thinkInside
	thinkClosed
	thinkPassed
)

// add gives the reasoning and the text in s; what could be the beginning of a tag is held back.
func (t *thinkSplitter) add(s string) (reasoning, text string) {
	switch t.state {
	case thinkPassed:
		return "", s
	case thinkClosed:
		return "", t.afterClose(s)
	}
	t.held += s
	if t.state == thinkUndecided {
		lead := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(lead, thinkOpen):
			t.state = thinkInside
			t.held = lead[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, lead):
			return "", ""
		default:
			t.state = thinkPassed
			return "", t.flushText()
		}
	}
	if before, after, found := strings.Cut(t.held, thinkClose); found {
		t.state, t.held = thinkClosed, ""
		return before, t.afterClose(after)
	}
	keep := partialSuffix(t.held, thinkClose)
	reasoning = t.held[:len(t.held)-keep]
	t.held = t.held[len(t.held)-keep:]
	return reasoning, ""
}

// afterClose drops the newlines between the closing tag and the text.
func (t *thinkSplitter) afterClose(s string) string {
	s = strings.TrimLeft(s, "\r\n")
	if s != "" {
		t.state = thinkPassed
	}
	return s
}

// flush gives what is held back when the text ends or something else comes between.
func (t *thinkSplitter) flush() (reasoning, text string) {
	if t.state == thinkInside {
		reasoning = t.held
		t.held = ""
		return reasoning, ""
	}
	t.state = thinkPassed
	return "", t.flushText()
}

func (t *thinkSplitter) flushText() string {
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
