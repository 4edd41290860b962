package search

import (
	"unicode"
	"unicode/utf8"
)

// maxTerm is where a term ends, in bytes: hashes and encoded data are found by their beginnings.
const maxTerm = 64

// terms takes text apart. The zero value is ready; it keeps its buffer from text to text.
type terms struct {
	// emit gets each term and where in the text it begins and ends; the bytes are valid during the call only. head says that it is not
	// the rest of an identifier from one of its parts on, and not the single letter at the end of a run of a script without spaces.
	emit func(term []byte, start, end int, head bool)
	buf  []byte
	// parts are where the parts of an identifier begin, in buf and in the text.
	parts []part
}

type part struct{ term, text int }

// scan emits the terms of a text in their order.
func (t *terms) scan(s string) {
	for i := 0; i < len(s); {
		r, n := decode(s, i)
		switch {
		case isUnspaced(r):
			i = t.run(s, i)
		case isWord(r) && !unicode.IsMark(r):
			i = t.word(s, i)
		default:
			i += n
		}
	}
}

func decode(s string, i int) (rune, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s[i:])
}

// word emits the identifier that begins at i, whole and from each further part on, and gives its end.
func (t *terms) word(s string, i int) int {
	t.buf, t.parts = t.buf[:0], t.parts[:0]
	start, cut, solid := i, false, false
	var before, last rune
	lastAt := part{}
	for i < len(s) {
		r, n := decode(s, i)
		if !isWord(r) || isUnspaced(r) {
			break
		}
		at := part{len(t.buf), i}
		switch {
		case cut:
		case last == '_' && r != '_', unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)):
			t.parts = append(t.parts, at)
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			t.parts = append(t.parts, lastAt)
		}
		if !cut {
			t.buf = appendFolded(t.buf, r)
			if len(t.buf) > maxTerm {
				t.buf, cut = t.buf[:at.term], true
			}
		}
		solid = solid || r != '_'
		before, last, lastAt = last, r, at
		i += n
	}
	if !solid || len(t.buf) == 0 {
		return i
	}
	t.emit(t.buf, start, i, true)
	for _, p := range t.parts {
		if p.term > 0 && p.term < len(t.buf) {
			t.emit(t.buf[p.term:], p.text, i, false)
		}
	}
	return i
}

// run emits the pairs of letters of a run without spaces, and its last letter, and gives its end.
func (t *terms) run(s string, i int) int {
	t.buf = t.buf[:0]
	letters, last := 0, i
	for i < len(s) {
		r, n := decode(s, i)
		if !isUnspaced(r) {
			break
		}
		at := len(t.buf)
		t.buf = appendFolded(t.buf, r)
		if letters > 0 {
			t.emit(t.buf, last, i+n, true)
			t.buf = append(t.buf[:0], t.buf[at:]...)
		}
		letters, last = letters+1, i
		i += n
	}
	t.emit(t.buf, last, i, letters == 1)
	return i
}

// matchEnd gives where in s, from start on, the first size bytes of a term end.
func matchEnd(s string, start, end, size int) int {
	var folded []byte
	i := start
	for i < end {
		r, n := decode(s, i)
		// A mark belongs to the letter before it.
		if len(folded) >= size && !unicode.IsMark(r) {
			break
		}
		folded = appendFolded(folded, r)
		i += n
	}
	return i
}
