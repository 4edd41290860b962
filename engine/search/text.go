package search

import (
	"bytes"

	"holdfast/engine/chat"
)

// searched gives the texts of a Message that a person sees and may look for, nil for none.
func searched(m *chat.Message) []string {
	if m.Visibility == chat.VisibleModel || m.Deleted || m.Role != chat.RoleUser && m.Role != chat.RoleAssistant {
		return nil
	}
	var out []string
	for _, p := range m.Content {
		switch p.Type {
		case chat.PartText:
			out = append(out, p.Text)
		case chat.PartFileReference:
			out = append(out, p.FileName, p.Content)
		case chat.PartFile:
			out = append(out, p.Name)
		}
	}
	return out
}

// matcher finds which words begin a term of some text.
type matcher struct {
	words [][]byte
	found []bool
	left  int
	terms terms
}

func newMatcher(words []string) *matcher {
	m := &matcher{found: make([]bool, len(words)), left: len(words)}
	for _, w := range words {
		m.words = append(m.words, []byte(w))
	}
	m.terms.emit = func(term []byte, _, _ int, _ bool) {
		for i, w := range m.words {
			if !m.found[i] && bytes.HasPrefix(term, w) {
				m.found[i] = true
				m.left--
			}
		}
	}
	return m
}

func (m *matcher) reset() {
	clear(m.found)
	m.left = len(m.words)
}

// scan looks at more text; there is nothing to gain once no word is left.
func (m *matcher) scan(texts ...string) {
	for _, s := range texts {
		if m.left == 0 {
			return
		}
		m.terms.scan(s)
	}
}
