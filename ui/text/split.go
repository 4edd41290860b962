package text

import "strings"

// maxBlock is where a block is closed although its text goes on: a larger one costs too much to morph on every update.
const maxBlock = 8 << 10

// span is one top-level block of Markdown: src[start:end] for prose, the body alone for fenced code.
type span struct {
	start, end int
	code       bool
	lang       string
	// open: more text may still belong to it.
	open bool
}

// splitter walks the lines of a reply. Blocks end at blank lines outside fences; a list or a quote keeps its indented paragraphs.
type splitter struct {
	src   string
	spans []span
	cur   span
	in    bool
	// fence is the marker that closes the current code block, with its indent inside a list; empty outside.
	fence string
	// inner is the fence opened inside a list or quote: blank lines in it end nothing.
	inner string
	list  bool
	blank bool
}

// split cuts src into blocks. As src grows, all blocks but the last stay as they are: a last line that has not ended decides nothing, and
// is left out where its rest could change what it is. done says that src does not grow any more.
func split(src string, done bool) []span {
	s := splitter{src: src}
	for pos := 0; pos < len(src); {
		end := len(src)
		if i := strings.IndexByte(src[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		s.line(pos, end, done || src[end-1] == '\n')
		pos = end
	}
	if s.in || s.fence != "" {
		s.cur.open = true
		s.spans = append(s.spans, s.cur)
	}
	return s.spans
}

func (s *splitter) line(start, end int, whole bool) {
	line := strings.TrimRight(s.src[start:end], "\n")
	if s.fence != "" {
		s.codeLine(line, start, end, whole)
		return
	}
	if s.inner == "" && strings.TrimSpace(line) == "" {
		if !whole {
			return
		}
		s.blank = true
		if s.in && !s.list {
			s.close()
		}
		return
	}
	if s.inner == "" && s.in && s.list && s.blank && !continuesList(line) {
		if !whole && mayContinueList(line) {
			return
		}
		s.close()
	}
	if !s.in || !s.list {
		if marker, lang, ok := openFence(line); ok {
			if !whole && s.in {
				return // a backtick further on would make it text of the paragraph
			}
			s.close()
			s.fence, s.blank = marker, false
			s.cur = span{start: end, end: end, code: true, lang: lang}
			return
		}
	}
	s.textLine(line, start, end)
}

func (s *splitter) textLine(line string, start, end int) {
	if s.in && end-s.cur.start > maxBlock && s.inner == "" {
		s.close()
	}
	if !s.in {
		s.in, s.list = true, startsList(line)
		s.cur = span{start: start}
	}
	s.list = s.list || startsList(line)
	s.blank = false
	s.cur.end = end
	if !s.list {
		return
	}
	trimmed := strings.TrimLeft(line, " \t>")
	if s.inner != "" {
		if closesFence(trimmed, s.inner) {
			s.inner = ""
		}
		return
	}
	if i := listMarker(trimmed); i > 0 {
		trimmed = strings.TrimLeft(trimmed[i:], " \t")
	}
	if marker, _, ok := openFence(trimmed); ok {
		s.inner = marker
	}
}

func (s *splitter) codeLine(line string, start, end int, whole bool) {
	closes := closesFence(strings.TrimLeft(line, " "), s.fence)
	// A line that may still become the closing fence is held back, or the block would show it for a moment.
	if !whole && (closes || strings.HasPrefix(s.fence, strings.TrimLeft(line, " "))) {
		return
	}
	if closes {
		s.spans = append(s.spans, s.cur)
		s.fence = ""
		s.blank = true
		return
	}
	if end-s.cur.start > maxBlock && start > s.cur.start {
		next := span{start: start, code: true, lang: s.cur.lang}
		s.spans = append(s.spans, s.cur)
		s.cur = next
	}
	s.cur.end = end
}

func (s *splitter) close() {
	if s.in {
		s.spans = append(s.spans, s.cur)
	}
	s.in, s.list, s.inner, s.blank = false, false, "", true
}

// openFence recognises ``` and ~~~ with up to three spaces before them.
func openFence(line string) (marker, lang string, ok bool) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || len(t) < 3 || (t[0] != '`' && t[0] != '~') {
		return "", "", false
	}
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	info := strings.TrimSpace(t[n:])
	if n < 3 || (t[0] == '`' && strings.Contains(info, "`")) {
		return "", "", false
	}
	if i := strings.IndexAny(info, " \t{,"); i >= 0 {
		info = info[:i]
	}
	return t[:n], info, true
}

func closesFence(line, marker string) bool {
	t := strings.TrimRight(line, " \t")
	return len(t) >= len(marker) && strings.Trim(t, marker[:1]) == ""
}

func startsList(line string) bool {
	t := strings.TrimLeft(line, " ")
	return len(line)-len(t) < 4 && (listMarker(t) > 0 || strings.HasPrefix(t, ">"))
}

// listMarker gives the length of a list marker with its space, 0 without one.
func listMarker(t string) int {
	if len(t) < 2 {
		return 0
	}
	if strings.IndexByte("-*+", t[0]) >= 0 && (t[1] == ' ' || t[1] == '\t') {
		return 2
	}
	i := 0
	for i < len(t) && i < 9 && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	if i > 0 && i+1 < len(t) && (t[i] == '.' || t[i] == ')') && (t[i+1] == ' ' || t[i+1] == '\t') {
		return i + 2
	}
	return 0
}

// continuesList says whether a line after a blank one still belongs to a list: it is indented or another item.
func continuesList(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") || startsList(line)
}

// mayContinueList says whether the beginning of a line can still become another item: "-", "1", "12.".
func mayContinueList(line string) bool {
	t := strings.TrimLeft(line, " ")
	if t == "-" || t == "*" || t == "+" {
		return true
	}
	digits := strings.TrimLeft(t, "0123456789")
	return len(t)-len(digits) <= 9 && (digits == "" || len(digits) < len(t) && (digits == "." || digits == ")"))
}
