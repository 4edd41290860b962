package text

import (
	"strconv"
	"strings"
)

// RowKind says what a row of a difference is.
type RowKind int

const (
	RowSame RowKind = iota
	RowAdd
	RowDel
	RowHunk
	// RowNote is a remark such as a missing newline at the end.
	RowNote
)

// DiffRow is one line of a difference. Old and New are line numbers, 0 where the side has none.
type DiffRow struct {
	Kind     RowKind
	Old, New int
	HTML     HTML
}

// DiffFile is the difference of one file.
type DiffFile struct {
	Path       string
	Created    bool
	Deleted    bool
	Rows       []DiffRow
	Adds, Dels int
}

// Diff parses unified differences of one or more files. name is the path for a difference without file heads. What cannot be
// parsed becomes notes: nothing is lost.
func Diff(name, unified string) []DiffFile {
	p := differ{}
	if name != "" {
		p.files = append(p.files, DiffFile{Path: name})
	}
	unified = strings.TrimSuffix(clean(unified), "\n")
	if unified == "" {
		return p.files
	}
	for line := range strings.SplitSeq(unified, "\n") {
		p.line(line)
	}
	p.flush()
	return p.files
}

type differ struct {
	files []DiffFile
	// old and new are the next line numbers; oldLeft and newLeft what the hunk still announces.
	old, new, oldLeft, newLeft int
	from                       string
	hunk                       []rawRow
}

type rawRow struct {
	kind     RowKind
	old, new int
	text     string
}

func (p *differ) file() *DiffFile {
	if len(p.files) == 0 {
		p.files = append(p.files, DiffFile{})
	}
	return &p.files[len(p.files)-1]
}

func (p *differ) line(line string) {
	if p.oldLeft > 0 || p.newLeft > 0 {
		p.body(line)
		return
	}
	switch {
	case strings.HasPrefix(line, "--- "):
		p.flush()
		p.from = diffPath(line[4:])
	case strings.HasPrefix(line, "+++ "):
		p.head(diffPath(line[4:]))
	case strings.HasPrefix(line, "@@ "):
		p.flush()
		p.startHunk(line)
	case strings.HasPrefix(line, `\ `):
		p.hunk = append(p.hunk, rawRow{kind: RowNote, text: strings.TrimPrefix(line, `\ `)})
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "), strings.HasPrefix(line, "new file"), strings.HasPrefix(line, "deleted file"), line == "":
	default:
		p.hunk = append(p.hunk, rawRow{kind: RowNote, text: line})
	}
}

func (p *differ) head(to string) {
	path := to
	if to == "/dev/null" {
		path = p.from
	}
	if len(p.files) == 1 && len(p.files[0].Rows) == 0 && p.files[0].Path != "" {
		path = p.files[0].Path
		p.files = p.files[:0]
	}
	p.files = append(p.files, DiffFile{Path: path, Created: p.from == "/dev/null", Deleted: to == "/dev/null"})
}

func (p *differ) startHunk(line string) {
	old, oldN, new, newN, ok := hunkHead(line)
	if !ok {
		p.hunk = append(p.hunk, rawRow{kind: RowNote, text: line})
		return
	}
	p.old, p.new, p.oldLeft, p.newLeft = old, new, oldN, newN
	if old == 0 && oldN == 0 && new == 1 {
		p.file().Created = true
	}
	p.file().Rows = append(p.file().Rows, DiffRow{Kind: RowHunk, HTML: plainLines(line)[0]})
}

func (p *differ) body(line string) {
	sign, rest := byte(' '), ""
	if line != "" {
		sign, rest = line[0], line[1:]
	}
	switch sign {
	case '+':
		p.hunk = append(p.hunk, rawRow{kind: RowAdd, new: p.new, text: rest})
		p.new++
		p.newLeft--
	case '-':
		p.hunk = append(p.hunk, rawRow{kind: RowDel, old: p.old, text: rest})
		p.old++
		p.oldLeft--
	case '\\':
		p.hunk = append(p.hunk, rawRow{kind: RowNote, text: strings.TrimSpace(rest)})
	case ' ':
		p.hunk = append(p.hunk, rawRow{kind: RowSame, old: p.old, new: p.new, text: rest})
		p.old++
		p.new++
		p.oldLeft--
		p.newLeft--
	default:
		p.oldLeft, p.newLeft = 0, 0
		p.line(line)
	}
}

// flush highlights a hunk, each side as one text so that strings and comments over several lines keep their colour.
func (p *differ) flush() {
	if len(p.hunk) == 0 {
		return
	}
	f := p.file()
	var oldSide, newSide []string
	for _, r := range p.hunk {
		if r.kind == RowDel || r.kind == RowSame {
			oldSide = append(oldSide, r.text)
		}
		if r.kind == RowAdd || r.kind == RowSame {
			newSide = append(newSide, r.text)
		}
	}
	oldHTML := highlightLines(f.Path, strings.Join(oldSide, "\n"))
	newHTML := highlightLines(f.Path, strings.Join(newSide, "\n"))
	o, n := 0, 0
	for _, r := range p.hunk {
		row := DiffRow{Kind: r.kind, Old: r.old, New: r.new}
		switch r.kind {
		case RowDel:
			row.HTML = oldHTML[o]
			o++
			f.Dels++
		case RowAdd:
			row.HTML = newHTML[n]
			n++
			f.Adds++
		case RowSame:
			row.HTML = newHTML[n]
			o++
			n++
		default:
			row.HTML = plainLines(r.text)[0]
		}
		f.Rows = append(f.Rows, row)
	}
	p.hunk = p.hunk[:0]
}

// hunkHead reads "@@ -a,b +c,d @@".
func hunkHead(line string) (old, oldN, new, newN int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != "@@" || !strings.HasPrefix(fields[1], "-") || !strings.HasPrefix(fields[2], "+") {
		return 0, 0, 0, 0, false
	}
	old, oldN, ok1 := span2(fields[1][1:])
	new, newN, ok2 := span2(fields[2][1:])
	return old, oldN, new, newN, ok1 && ok2
}

func span2(s string) (start, n int, ok bool) {
	a, b, more := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	if !more {
		return start, 1, true
	}
	n, err = strconv.Atoi(b)
	return start, n, err == nil && n >= 0
}

func diffPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	if rest, ok := strings.CutPrefix(s, "a/"); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(s, "b/"); ok {
		return rest
	}
	return s
}

// SourceLine is one numbered line of a file.
type SourceLine struct {
	N    int
	HTML HTML
}

// Source highlights "number TAB text" lines, as the file tools give them; name chooses the language. Lines without a number
// are shown without one.
func Source(name, numbered string) []SourceLine {
	numbered = strings.TrimSuffix(clean(numbered), "\n")
	if numbered == "" {
		return nil
	}
	var ns []int
	var code []string
	for line := range strings.SplitSeq(numbered, "\n") {
		n, rest := 0, line
		if a, b, ok := strings.Cut(line, "\t"); ok {
			if v, err := strconv.Atoi(strings.TrimSpace(a)); err == nil {
				n, rest = v, b
			}
		}
		ns = append(ns, n)
		code = append(code, rest)
	}
	out := make([]SourceLine, len(ns))
	for i, h := range highlightLines(name, strings.Join(code, "\n")) {
		out[i] = SourceLine{N: ns[i], HTML: h}
	}
	return out
}
