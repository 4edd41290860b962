package thought

import (
	"strings"
	"testing"
)

// FuzzSplitter cuts a reply anywhere: text and reasoning do not depend on where.
func FuzzSplitter(f *testing.F) {
	f.Add("<think>why</think>\nSo.", uint16(3), uint16(12))
	f.Add("  <think>never closed </thin", uint16(9), uint16(2))
	f.Add("plain <think>text</think>", uint16(1), uint16(1))
	f.Fuzz(func(t *testing.T, s string, a, b uint16) {
		i := int(a) % (len(s) + 1)
		k := i + int(b)%(len(s)-i+1)
		whole, wholeText := split(s)
		cut, cutText := split(s[:i], s[i:k], s[k:])
		if whole != cut || wholeText != cutText {
			t.Errorf("%q cut at %d and %d: %q and %q, whole %q and %q", s, i, k, cut, cutText, whole, wholeText)
		}
		if !strings.Contains(s, opening) && wholeText != s {
			t.Errorf("%q became %q", s, wholeText)
		}
	})
}

func split(pieces ...string) (reasoning, text string) {
	var s Splitter
	for _, p := range pieces {
		r, x := s.Add(p)
		reasoning, text = reasoning+r, text+x
	}
	r, x := s.Flush()
	return reasoning + r, text + x
}
