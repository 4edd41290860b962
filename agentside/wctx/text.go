package wctx

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// shownPath writes a path with forward slashes, each byte that is not UTF-8 as \x and two digits.
func shownPath(path string) string {
	path = filepath.ToSlash(path)
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, path[i])
		} else {
			b.WriteString(path[i : i+n])
		}
		i += n
	}
	return b.String()
}

// clip makes a text valid UTF-8 of at most max bytes, cut between runes.
func clip(text string, max int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}

// clipRunes cuts a text to max runes.
func clipRunes(text string, max int) (cut string, was bool) {
	n := 0
	for i := range text {
		if n == max {
			return text[:i], true
		}
		n++
	}
	return text, false
}

// maxHeading is how long the description of an instruction file may be, in runes.
const maxHeading = 200

// heading is the first line of an instruction file that is not blank, without the marks of a heading.
func heading(content []byte) string {
	text := strings.TrimPrefix(strings.ToValidUTF8(string(content), "\uFFFD"), "\ufeff")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line != "" {
			line, _ = clipRunes(line, maxHeading)
			return line
		}
	}
	return ""
}

// joinProblems makes the error of a Snapshot.
func joinProblems(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return clip(strings.Join(some, "; "), chat.MaxResourceError)
}
