package files

import (
	"fmt"
	"strings"

	"holdfast/engine/chat"
)

// miss says why an edit does not apply.
type miss struct {
	kind string
	text string
}

func (m *miss) refusal(path string, index, of int) *chat.FileError {
	which := ""
	if of > 1 {
		which = fmt.Sprintf("edit %d: ", index+1)
	}
	return refuse(m.kind, path, "%s: %s%s", path, which, m.text)
}

// apply replaces in text what the edit searches. The first level that matches decides: 0 is the exact text, 1 whole lines with
// trailing blanks ignored, 2 whole lines with leading and trailing blanks ignored.
func apply(text string, e chat.TextEdit) (string, int, *miss) {
	if e.Search == "" {
		return "", 0, &miss{"invalid", "the search text is empty. Give the text to replace; to make a new file, write it whole."}
	}
	if at := occurrences(text, e.Search, e.All); len(at) > 0 {
		after, m := replaceExact(text, e, at)
		return after, 0, m
	}
	if !changesEndings(e) {
		if after, found, m := replaceAnyEnding(text, e); found {
			return after, 0, m
		}
		for level := 1; level <= 2; level++ {
			if level == 2 && e.All {
				break
			}
			if after, found, m := replaceLines(text, e, level); found {
				return after, level, m
			}
		}
	}
	return "", 0, noMatch(text, e)
}

// occurrences gives where search begins in text: without overlaps to replace all, with them to judge whether there is but one.
func occurrences(text, search string, all bool) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(text[from:], search)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		if all {
			from += i + len(search)
			continue
		}
		if len(at) > maxListed {
			return at
		}
		from += i + 1
	}
}

// maxListed bounds the line numbers that an answer lists.
const maxListed = 10

func ambiguous(lines []int) *miss {
	text := fmt.Sprintf("the search text occurs %d times, at lines ", len(lines))
	if len(lines) > maxListed {
		text = fmt.Sprintf("the search text occurs more than %d times, at lines ", maxListed)
		lines = lines[:maxListed]
	}
	text += strings.Trim(strings.Join(strings.Fields(fmt.Sprint(lines)), ", "), "[]")
	return &miss{"no_match", text + ". Give more lines around it so that it occurs once, or replace all."}
}

func lineOf(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

func grows(text string, times int, replace string) *miss {
	if len(text)+times*len(replace) <= maxContent || times == 1 && len(replace) <= maxContent {
		return nil
	}
	return &miss{"too_large", fmt.Sprintf("replacing %d times would make the file larger than %d bytes.", times, maxContent)}
}

func replaceExact(text string, e chat.TextEdit, at []int) (string, *miss) {
	if len(at) > 1 && !e.All {
		var lines []int
		for _, offset := range at {
			lines = append(lines, lineOf(text, offset))
		}
		return "", ambiguous(lines)
	}
	replace := e.Replace
	// Models write LF. A search within a line says nothing about endings, so new lines take those of the file.
	if !strings.Contains(e.Search, "\n") && !strings.Contains(replace, "\r\n") && dominantEnding(text) == "\r\n" {
		replace = strings.ReplaceAll(replace, "\n", "\r\n")
	}
	if m := grows(text, len(at), replace); m != nil {
		return "", m
	}
	var out strings.Builder
	from := 0
	for _, offset := range at {
		out.WriteString(text[from:offset])
		out.WriteString(replace)
		from = offset + len(e.Search)
	}
	out.WriteString(text[from:])
	return out.String(), nil
}

// changesEndings: search and replace are each of one ending but not of the same, which is a wish to change endings.
func changesEndings(e chat.TextEdit) bool {
	a, b := onlyEnding(e.Search), onlyEnding(e.Replace)
	return a != "" && b != "" && a != b
}

// onlyEnding is the one line ending of s, "" when it has none or both.
func onlyEnding(s string) string {
	all, crlf := strings.Count(s, "\n"), strings.Count(s, "\r\n")
	switch {
	case all == 0:
		return ""
	case crlf == 0:
		return "\n"
	case crlf == all:
		return "\r\n"
	}
	return ""
}

// dominantEnding is CRLF only if more lines have it than have not.
func dominantEnding(text string) string {
	crlf := strings.Count(text, "\r\n")
	if crlf > strings.Count(text, "\n")-crlf {
		return "\r\n"
	}
	return "\n"
}

// replaceAnyEnding is level 0 with LF and CRLF taken for the same.
func replaceAnyEnding(text string, e chat.TextEdit) (after string, found bool, _ *miss) {
	if !strings.Contains(e.Search, "\n") {
		return "", false, nil
	}
	flat, search := toLF(text), toLF(e.Search)
	at := occurrences(flat, search, e.All)
	if len(at) == 0 {
		return "", false, nil
	}
	if len(at) > 1 && !e.All {
		var lines []int
		for _, offset := range at {
			lines = append(lines, lineOf(flat, offset))
		}
		return "", true, ambiguous(lines)
	}
	if m := grows(text, len(at), e.Replace); m != nil {
		return "", true, m
	}
	searched, replaced := splitLines(search), splitLines(toLF(e.Replace))
	partner := align(searched, replaced, func(l line) string { return l.text })
	dominant := dominantEnding(text)
	var out strings.Builder
	from, flatAt, textAt := 0, 0, 0
	for _, offset := range at {
		textAt = skipFlat(text, textAt, offset-flatAt)
		end := skipFlat(text, textAt, len(search))
		out.WriteString(text[from:textAt])
		there := splitLines(text[textAt:end])
		for i, l := range replaced {
			out.WriteString(l.text)
			switch j := partner[i]; {
			case l.ending == "":
			case j >= 0 && there[j].ending != "":
				out.WriteString(there[j].ending)
			default:
				out.WriteString(dominant)
			}
		}
		from, textAt, flatAt = end, end, offset+len(search)
	}
	out.WriteString(text[from:])
	return out.String(), true, nil
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// skipFlat walks n bytes of the LF form of text from offset and gives the offset in text itself.
func skipFlat(text string, offset, n int) int {
	for ; n > 0; n-- {
		if strings.HasPrefix(text[offset:], "\r\n") {
			offset++
		}
		offset++
	}
	return offset
}

// windows gives the lines of text where all of the searched lines follow each other.
func windows(text, searched []line, level int, all bool) []int {
	keys := make([]string, len(searched))
	empty := true
	for i, l := range searched {
		keys[i] = l.key(level)
		empty = empty && l.body() == ""
	}
	// Blank lines alone would match anywhere.
	if empty {
		return nil
	}
	var at []int
	for i := 0; i+len(keys) <= len(text); i++ {
		same := 0
		for same < len(keys) && text[i+same].key(level) == keys[same] {
			same++
		}
		if same < len(keys) {
			continue
		}
		at = append(at, i)
		if all {
			i += len(keys) - 1
		} else if len(at) > maxListed {
			return at
		}
	}
	return at
}

// replaceLines is levels 1 and 2.
func replaceLines(text string, e chat.TextEdit, level int) (after string, found bool, _ *miss) {
	lines, searched := splitLines(text), splitLines(e.Search)
	at := windows(lines, searched, level, e.All)
	if len(at) == 0 {
		return "", false, nil
	}
	if len(at) > 1 && !e.All {
		var numbers []int
		for _, i := range at {
			numbers = append(numbers, i+1)
		}
		return "", true, ambiguous(numbers)
	}
	if m := grows(text, len(at), e.Replace); m != nil {
		return "", true, m
	}
	s := newSplice(text, lines, searched, splitLines(e.Replace))
	var out strings.Builder
	from := 0
	for _, i := range at {
		write(&out, lines[from:i])
		write(&out, s.over(lines[i:i+len(searched)]))
		from = i + len(searched)
	}
	write(&out, lines[from:])
	return s.lastEnding(out.String(), lines), true, nil
}

func write(out *strings.Builder, lines []line) {
	for _, l := range lines {
		out.WriteString(l.text)
		out.WriteString(l.ending)
	}
}
