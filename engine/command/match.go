package command

import (
	"path"
	"strings"
)

// Covers says whether a pattern allows every command of the line that it is asked about: words, in which * stands for any text of
// one word, and as the last word for any further ones.
func Covers(pattern string, s Simple) bool { return match(strings.Fields(pattern), s, false) }

// Names says whether a pattern is about the command, wherever its program lies. An argument that is not known may be anything; of a program that
// is not known the line is unsure anyway.
func Names(pattern string, s Simple) bool {
	if len(s) == 0 {
		return false
	}
	plain := append(Simple{{Text: path.Base(s[0].Text), Known: s[0].Known}}, s[1:]...)
	return match(strings.Fields(pattern), s, true) || match(strings.Fields(pattern), plain, true)
}

func match(pattern []string, s Simple, unknown bool) bool {
	if len(pattern) == 0 {
		return false
	}
	for i, p := range pattern {
		if p == "*" && i == len(pattern)-1 && i > 0 {
			return true
		}
		if i >= len(s) || s[i].Known && !glob(p, s[i].Text) || !s[i].Known && (!unknown || i == 0) {
			return false
		}
	}
	return len(s) == len(pattern)
}

// glob compares one word; * stands for any text.
func glob(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], after
	}
}
