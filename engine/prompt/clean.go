package prompt

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

var (
	manyNewlines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n{3,}`) })
	ownTag       = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<(/?(?:` + strings.Join(sectionTags, "|") + `))`)
	})
	// controlToken matches what tokenizers read as special tokens even inside content, <|im_start|> and the like.
	controlToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<([|｜][A-Za-z0-9_:.\-/▁ ]{1,40}[|｜]>|/?(?:start|end)_of_turn>)`)
	})
)

// cleanText prepares a text of a person or a setting for the model.
func cleanText(s string) string {
	return strings.TrimSpace(manyNewlines().ReplaceAllString(cleanContent(s), "\n\n"))
}

// cleanContent is cleanText for the content of files: its lines stay, so that line numbers and searches stay right.
func cleanContent(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(visible, s)
	return defuse(s)
}

// defuse breaks our own section tags and the control tokens of models, visibly.
func defuse(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	s = ownTag().ReplaceAllString(s, "< $1")
	return defuseTokens(s)
}

// defuseTokens breaks control tokens only. Replacing once can join no new one, as only spaces are put in.
func defuseTokens(s string) string {
	// The expression is slow over code, which has many of its first characters.
	if !strings.Contains(s, "<|") && !strings.Contains(s, "<｜") && !strings.Contains(s, "_of_turn>") {
		return s
	}
	return controlToken().ReplaceAllString(s, "< $1")
}

// visible drops what a reader cannot see: controls, direction marks, zero width characters, tag characters. The two joiners and
// the variation selectors stay, as scripts and emoji need them.
func visible(r rune) rune {
	switch {
	case r == 0:
		return '\u2400'
	case r == '\n', r == '\t', r == '\u200C', r == '\u200D':
		return r
	case r == '\r':
		return '\n'
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		// Format characters by category, but signs of numbers and verses that are printed.
		return r
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return -1
	case r == '\u115F', r == '\u1160', r == '\u3164', r == '\uFFA0', r == '\u034F':
		return -1
	}
	return r
}

// shownNUL replaces NUL, which a template would cut a text at, by its visible sign.
func shownNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\u2400") }

// plainJSON rewrites the escapes of a JSON text that cost tokens or hide NUL: <, >, & and the line separators, which the store's
// encoding escapes, become themselves; NUL becomes U+2400. Everything else stays byte for byte.
func plainJSON(raw string) string {
	if !strings.Contains(raw, `\u`) {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for {
		at := strings.IndexByte(raw, '\\')
		if at < 0 || at+2 > len(raw) {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(raw[:at])
		raw = raw[at:]
		if raw[1] == 'u' && len(raw) >= 6 {
			if r := unescaped(raw[2:6]); r != 0 {
				b.WriteRune(r)
				raw = raw[6:]
				continue
			}
		}
		b.WriteString(raw[:2])
		raw = raw[2:]
	}
}

func unescaped(hex string) rune {
	switch strings.ToLower(hex) {
	case "003c":
		return '<'
	case "003e":
		return '>'
	case "0026":
		return '&'
	case "2028":
		return '\u2028'
	case "2029":
		return '\u2029'
	case "0000":
		return '\u2400'
	}
	return 0
}

// cutHead gives the first n bytes of s, ended at a rune border.
func cutHead(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutTail gives the last n bytes of s, begun at a rune border.
func cutTail(s string, n int) string {
	if n >= len(s) {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
