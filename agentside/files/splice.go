package files

import "strings"

// splice lays replacement lines over the lines of a file that matched with blanks ignored: where search and replace agree the
// file's bytes win, else the replacement's.
type splice struct {
	searched, replaced []line
	// partner gives, for each replaced line, the searched line it stands for, or -1 for a new line.
	partner []int
	ending  string
	unit    string
	given   int
}

func newSplice(text string, lines, searched, replaced []line) *splice {
	s := &splice{searched: searched, replaced: replaced, partner: align(searched, replaced, line.body),
		ending: dominantEnding(text), unit: indentUnit(lines)}
	return s
}

// over gives the lines that take the place of there, which are as many as searched.
func (s *splice) over(there []line) []line {
	s.given = givenWidth(s.searched, s.replaced, there, s.unit)
	out := make([]line, 0, len(s.replaced))
	anchor := s.firstAnchor()
	for i, r := range s.replaced {
		j := s.partner[i]
		if j < 0 {
			out = append(out, s.fresh(r, anchor, there))
			continue
		}
		if s.searched[j].body() != "" {
			anchor = j
		}
		out = append(out, s.merged(r, s.searched[j], there[j]))
	}
	return out
}

// firstAnchor is the searched line whose indentation tells that of new lines before any other.
func (s *splice) firstAnchor() int {
	for _, j := range s.partner {
		if j >= 0 && s.searched[j].body() != "" {
			return j
		}
	}
	for j, l := range s.searched {
		if l.body() != "" {
			return j
		}
	}
	return 0
}

// merged is a replacement line that stands for a line of the file.
func (s *splice) merged(r, searched, there line) line {
	ending := there.ending
	if ending == "" {
		ending = s.ending
	}
	switch {
	case r.text == searched.text:
		return line{there.text, ending}
	case r.body() == "":
		return line{"", ending}
	}
	body, trail := r.body(), r.trail()
	if body == searched.body() {
		body = there.body()
	}
	if trail == searched.trail() {
		trail = there.trail()
	}
	return line{s.lead(r.lead(), searched.lead(), there.lead()) + body + trail, ending}
}

// fresh is a new line, indented as its anchor tells.
func (s *splice) fresh(r line, anchor int, there []line) line {
	if r.body() == "" {
		return line{"", s.ending}
	}
	lead := s.lead(r.lead(), s.searched[anchor].lead(), there[anchor].lead())
	return line{lead + strings.TrimLeft(r.text, blanks), s.ending}
}

// lastEnding keeps the end of the file as it was: no newline is added or lost there.
func (s *splice) lastEnding(after string, before []line) string {
	had := before[len(before)-1].ending
	if had != "" || after == "" {
		return after
	}
	if cut, ok := strings.CutSuffix(after, "\r\n"); ok {
		return cut
	}
	return strings.TrimSuffix(after, "\n")
}

// maxAlign bounds the table of align.
const maxAlign = 4 << 20

// align pairs the lines of replaced with those of searched: equal ones by the longest common subsequence, and between them in
// order as long as both have some. -1 is a line without partner.
func align(searched, replaced []line, key func(line) string) []int {
	a, b := keysOf(searched, key), keysOf(replaced, key)
	partner := make([]int, len(b))
	for i := range partner {
		partner[i] = -1
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		partner[start] = start
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		partner[endB] = endA
	}
	if rows, columns := endA-start, endB-start; rows*columns <= maxAlign {
		for _, pair := range common(a[start:endA], b[start:endB]) {
			partner[start+pair[1]] = start + pair[0]
		}
	}
	pairGaps(partner, len(a))
	return partner
}

func keysOf(lines []line, key func(line) string) []string {
	keys := make([]string, len(lines))
	for i, l := range lines {
		keys[i] = key(l)
	}
	return keys
}

// common gives the index pairs of a longest common subsequence.
func common(a, b []string) [][2]int {
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			at := i*width + j
			if a[i] == b[j] {
				table[at] = table[at+width+1] + 1
				continue
			}
			table[at] = max(table[at+width], table[at+1])
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch at := i*width + j; {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case table[at+width] >= table[at+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// pairGaps gives changed lines between two pairs the searched lines of the same gap, in order.
func pairGaps(partner []int, searched int) {
	next := 0
	for i := 0; i < len(partner); i++ {
		if partner[i] >= 0 {
			next = partner[i] + 1
			continue
		}
		limit := searched
		for _, j := range partner[i:] {
			if j >= 0 {
				limit = j
				break
			}
		}
		if next < limit {
			partner[i] = next
			next++
		}
	}
}
