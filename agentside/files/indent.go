package files

import "strings"

// indentUnit is what a text indents one level with: a tab, the greatest common step of its spaces, or "" when it mixes both or
// indents nothing.
func indentUnit(lines []line) string {
	tabs, step := false, 0
	for _, l := range lines {
		lead := l.lead()
		// A line that goes on with a star is a comment that is aligned, not indented.
		if lead == "" || l.body() == "" || strings.HasPrefix(l.body(), "*") {
			continue
		}
		switch {
		case lead[0] == '\t':
			tabs = true
		case strings.Contains(lead, "\t"):
			return ""
		default:
			step = gcd(step, len(lead))
		}
	}
	switch {
	case tabs && step == 0:
		return "\t"
	// A step of one says only that something is aligned.
	case !tabs && step > 1:
		return strings.Repeat(" ", step)
	}
	return ""
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// givenWidth is how many spaces one level of the search and replacement has, 0 when it cannot be told. How far two lines stand
// apart in the search and in the file tells it best, because a search may leave out what all its lines have in common; then
// where one line stands, then the common step.
func givenWidth(searched, replaced, there []line, unit string) int {
	type known struct{ width, level int }
	var seen []known
	for i, s := range searched {
		lead, real := s.lead(), there[i].lead()
		if unit == "" || s.body() == "" || strings.Trim(lead, " ") != "" {
			continue
		}
		if levels := strings.Count(real, unit); real == strings.Repeat(unit, levels) {
			seen = append(seen, known{len(lead), levels})
		}
	}
	for _, from := range [][]known{seen, {{0, 0}}} {
		for _, a := range from {
			for _, b := range seen {
				if w, l := b.width-a.width, b.level-a.level; w > 0 && l > 0 && w%l == 0 {
					return w / l
				}
			}
		}
	}
	step := 0
	for _, lines := range [][]line{searched, replaced} {
		for _, l := range lines {
			if lead := l.lead(); l.body() != "" && strings.Trim(lead, " ") == "" {
				step = gcd(step, len(lead))
			}
		}
	}
	return step
}

// lead gives the leading blanks of a replacement line: given are those the replacement has, searched and there are those of the
// line that tells how the search is indented and how the file is.
func (s *splice) lead(given, searched, there string) string {
	if given == searched {
		return there
	}
	if searched == there && searched != "" {
		return given
	}
	if more, ok := strings.CutPrefix(given, searched); ok {
		return there + s.convert(more)
	}
	if less, ok := strings.CutPrefix(searched, given); ok {
		if shorter, ok := strings.CutSuffix(there, s.convert(less)); ok {
			return shorter
		}
	}
	return given
}

// convert writes blanks of the replacement in the file's unit.
func (s *splice) convert(more string) string {
	if s.unit == "" {
		return more
	}
	if strings.Trim(more, "\t") == "" {
		return strings.Repeat(s.unit, len(more))
	}
	if s.given == 0 || strings.Trim(more, " ") != "" {
		return more
	}
	return strings.Repeat(s.unit, len(more)/s.given) + strings.Repeat(" ", len(more)%s.given)
}
