package prompt

import (
	"slices"
	"sync/atomic"
)

// Joiner joins the sections of system texts. Steps of a Turn, and mostly all Turns, have the same ones: those get the text that was made for
// the last, not a copy of it. It is safe for concurrent use; its zero value and nil work.
type Joiner struct{ last atomic.Pointer[joined] }

type joined struct {
	sections []string
	text     string
}

func (j *Joiner) join(sections []string) string {
	if j == nil {
		return joinBlank(sections)
	}
	last := j.last.Load()
	if last == nil || !slices.Equal(last.sections, sections) {
		last = &joined{sections: slices.Clone(sections), text: joinBlank(sections)}
		j.last.Store(last)
	}
	return last.text
}
