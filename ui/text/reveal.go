package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Reveal is Plain for text that a person decides about, such as a command: what cannot be seen, or makes a line read in another order
// than it runs, stands there as its number.
func Reveal(s string) string {
	s = Plain(s)
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden: controls, characters of format (direction, zero width, tags), fillers that look like a space, and separators of lines.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case 0x2028, 0x2029, 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800:
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}
