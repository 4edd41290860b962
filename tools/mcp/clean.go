package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean removes what a person does not see and a model reads: control, bidirectional, tag and zero-width characters, and bytes that are
// no text. Line breaks and tabs stay. It says how many were removed.
func Clean(text string) (clean string, removed int) {
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") || unseen(r) {
			removed++
			continue
		}
		b.WriteRune(r)
	}
	if removed == 0 {
		return text, 0
	}
	return b.String(), removed
}

// unseen: format characters (Cf) hold the bidirectional, zero-width and tag ones; variation selectors and fillers carry text unseen too.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Co, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2028, r == 0x2029:
		return true
	}
	return false
}
