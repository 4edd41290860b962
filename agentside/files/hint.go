package files

import (
	"fmt"
	"strings"

	"holdfast/engine/chat"
)

const (
	maxHints      = 3
	maxHintText   = 1 << 20
	maxHintLines  = 200_000
	maxHintSearch = 50
)

// noMatch says that a search is not there, with at most three hints why.
func noMatch(text string, e chat.TextEdit) *miss {
	said := []string{"the search text was not found."}
	for _, hint := range []string{miscounted(text, e.Search), swapped(text, e), looser(text, e), nearest(text, e.Search)} {
		if hint != "" && len(said) <= maxHints {
			said = append(said, hint)
		}
	}
	if len(said) == 1 {
		said = append(said, "Read the file and copy the text exactly as it stands there.")
	}
	return &miss{"no_match", strings.Join(said, " ")}
}

// run is a rune and how often it is repeated.
type run struct {
	r rune
	n int
}

func runsOf(s string) (runes []rune, runs []run) {
	for _, r := range s {
		if last := len(runs) - 1; last >= 0 && runs[last].r == r {
			runs[last].n++
			continue
		}
		runs = append(runs, run{r, 1})
		runes = append(runes, r)
	}
	return runes, runs
}

// miscounted finds the search in text when repeated characters count once, and names the first whose number differs.
func miscounted(text, search string) string {
	if len(text) > maxHintText || len(search) > maxHintText {
		return ""
	}
	text, search = toLF(text), toLF(search)
	flatText, inText := runsOf(text)
	flatSearch, inSearch := runsOf(search)
	if len(inSearch) < 2 {
		return ""
	}
	at := strings.Index(string(flatText), string(flatSearch))
	if at < 0 {
		return ""
	}
	first := len([]rune(string(flatText)[:at]))
	line := 1
	for _, r := range inText[:first] {
		if r.r == '\n' {
			line += r.n
		}
	}
	for i, want := range inSearch {
		have := inText[first+i]
		// The search may begin and end within a run of the file.
		edge := i == 0 || i == len(inSearch)-1
		if have.n < want.n || have.n > want.n && !edge {
			return fmt.Sprintf("Near line %d the file has %s %s where the search has %d.", line, nameOf(have.r), times(have.n), want.n)
		}
		if have.r == '\n' {
			line += have.n
		}
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func nameOf(r rune) string {
	switch r {
	case ' ':
		return "a space"
	case '\t':
		return "a tab"
	case '\n':
		return "a line end"
	}
	return fmt.Sprintf("%q", string(r))
}

func swapped(text string, e chat.TextEdit) string {
	replace := strings.TrimSpace(toLF(e.Replace))
	if len(replace) < 3 {
		return ""
	}
	at := strings.Index(toLF(text), replace)
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("The replacement text is already there at line %d: search and replace may be swapped, or the edit was made before.",
		lineOf(toLF(text), at))
}

// looser tells what replace_all does not do.
func looser(text string, e chat.TextEdit) string {
	if !e.All {
		return ""
	}
	at := windows(splitLines(text), splitLines(e.Search), 2, true)
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("With other indentation it is at line %d, but replacing all needs the exact indentation.", at[0]+1)
}

// nearest finds the place where most of the searched lines are.
func nearest(text, search string) string {
	lines, searched := splitLines(text), splitLines(search)
	if len(searched) > maxHintSearch || len(lines) > maxHintLines || len(lines) == 0 {
		return ""
	}
	ids := map[string]int{}
	id := func(l line) int {
		body := l.body()
		if body == "" {
			return 0
		}
		if ids[body] == 0 {
			ids[body] = len(ids) + 1
		}
		return ids[body]
	}
	want := make([]int, len(searched))
	for i, l := range searched {
		want[i] = id(l)
	}
	have := make([]int, len(lines))
	for i, l := range lines {
		have[i] = id(l)
	}
	best, bestAt, solid := 0, 0, false
	for i := 1 - len(want); i < len(have); i++ {
		same, some := 0, false
		for j, w := range want {
			if i+j >= 0 && i+j < len(have) && have[i+j] == w {
				same++
				some = some || w != 0
			}
		}
		if some && same > best {
			best, bestAt, solid = same, i, true
		}
	}
	if !solid {
		return ""
	}
	return describe(lines, searched, want, have, best, bestAt)
}

func describe(lines, searched []line, want, have []int, best, at int) string {
	hint := fmt.Sprintf("%d of %d lines match at line %d.", best, len(searched), max(at, 0)+1)
	for j := range want {
		i := at + j
		if i < 0 || i >= len(have) || have[i] == want[j] {
			continue
		}
		return hint + fmt.Sprintf(" Line %d there is %q, in the search it is %q.", i+1,
			cutLine(strings.ToValidUTF8(lines[i].text, "\uFFFD"), 160), cutLine(searched[j].text, 160))
	}
	return hint
}
