package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// Snippet is a piece of a Message on one line, with what was found in it. It has at most 120 runes.
type Snippet struct {
	Text  string
	Marks []Span
}

const (
	snippetRunes = 120
	// snippetLead is how much stands before the first hit, at most.
	snippetLead = 30
)

// Marks gives where words begin terms of a text, in order and apart from each other.
func Marks(text string, words []string) []Span {
	var all []Span
	t := terms{emit: func(term []byte, start, end int, _ bool) {
		for _, w := range words {
			if bytes.HasPrefix(term, []byte(w)) {
				all = append(all, Span{start, matchEnd(text, start, end, len(w))})
			}
		}
	}}
	t.scan(text)
	slices.SortFunc(all, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out []Span
	for _, s := range all {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// snippetOf cuts the piece of a text that shows the most words, the first such one.
func snippetOf(text string, words []string) (s Snippet, shown int) {
	first, best := -1, 0
	var seen []hit
	t := terms{emit: func(term []byte, start, _ int, _ bool) {
		for i, w := range words {
			if !bytes.HasPrefix(term, []byte(w)) {
				continue
			}
			seen = append(seen, hit{start, i})
			// A rune has a byte at least, so this window is never too wide.
			for len(seen) > 0 && start-seen[0].at > snippetRunes-snippetLead-maxTerm/2 {
				seen = seen[1:]
			}
			if n := distinct(seen); n > best {
				first, best = seen[0].at, n
			}
		}
	}}
	t.scan(text)
	if first < 0 {
		return Snippet{}, 0
	}
	s.Text = piece(text, first)
	s.Marks = Marks(s.Text, words)
	return s, best
}

type hit struct{ at, word int }

func distinct(hits []hit) int {
	var words uint64
	for _, h := range hits {
		words |= 1 << h.word
	}
	n := 0
	for ; words != 0; words &= words - 1 {
		n++
	}
	return n
}

// piece cuts around a place: a little before it, from the beginning of a word on, white space as single spaces.
func piece(text string, at int) string {
	from := at
	for n := 0; from > 0 && n < snippetLead; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	if from > 0 {
		// Not from within a word; a lead without a space is cut where it is.
		if i := strings.IndexFunc(text[from:at], unicode.IsSpace); i >= 0 {
			from += i
		}
	}
	var b strings.Builder
	runes, space := 0, false
	if from > 0 {
		b.WriteString("…")
		runes++
	}
	end := len(text)
	for i, r := range text[from:] {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = runes > 0
			continue
		}
		need := 1
		if space {
			need = 2
		}
		// The last rune is kept for the mark of what was left out.
		if runes+need >= snippetRunes {
			end = from + i
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		runes += need
	}
	if strings.TrimSpace(text[end:]) != "" {
		b.WriteString("…")
	}
	return b.String()
}
