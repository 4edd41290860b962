package ollama

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// joiner makes valid UTF-8 of chunks that may end in the middle of a rune.
type joiner struct{ tail string }

// add gives what is complete of the tail and s. Bytes that can never become a rune are U+FFFD.
func (j *joiner) add(s string) string {
	if j.tail == "" && utf8.ValidString(s) {
		return s
	}
	s = j.tail + s
	cut := len(s)
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if !utf8.RuneStart(s[len(s)-back]) {
			continue
		}
		if !utf8.FullRuneInString(s[len(s)-back:]) {
			cut = len(s) - back
		}
		break
	}
	j.tail = s[cut:]
	return strings.ToValidUTF8(s[:cut], replacement)
}

// flush gives what is left as U+FFFD.
func (j *joiner) flush() string {
	s := strings.ToValidUTF8(j.tail, replacement)
	j.tail = ""
	return s
}
