package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Bounds of what a difference may hold.
const (
	maxFileDiff = 256 << 10
	maxDiff     = 1 << 20
)

// heads are the two lines over a difference; an empty name is no file.
func heads(from, to string) string {
	side := func(prefix, name string) string {
		if name == "" {
			return "/dev/null"
		}
		name = prefix + name
		if strings.ContainsAny(name, "\n\r\t\"\\") {
			return strconv.Quote(name)
		}
		return name
	}
	return "--- " + side("a/", from) + "\n+++ " + side("b/", to) + "\n"
}

// section is what a patch says of one file.
type section struct {
	hunks  string
	binary bool
	cut    bool
}

// patch reads a patch as it comes and keeps of each file at most 256 KiB, and of all at most max bytes. Its names stand between
// prefixes that nobody could guess, so that no name can pass for another one's.
type patch struct {
	// from and to are the prefixes, each ending with a slash.
	from, to string
	max      int
	files    map[string]*section

	kept    int
	current *section
	hunks   strings.Builder
	inHunks bool
}

// read takes the whole patch. When all it may keep is full it goes on to the end only to say which files were cut.
func (p *patch) read(r io.Reader) error {
	p.files = map[string]*section{}
	in := bufio.NewReaderSize(r, 64<<10)
	starts := true
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			p.take(piece, starts)
			starts = piece[len(piece)-1] == '\n'
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			p.finish()
			return nil
		case err != nil:
			return err
		}
	}
}

// take looks at a line, or at a further piece of a long one.
func (p *patch) take(piece []byte, starts bool) {
	if starts && bytes.HasPrefix(piece, []byte("diff --git ")) {
		p.finish()
		p.begin(strings.TrimSuffix(string(piece[len("diff --git "):]), "\n"))
		return
	}
	if p.current == nil {
		return
	}
	if starts && !p.inHunks {
		p.current.binary = p.current.binary || bytes.HasPrefix(piece, []byte("Binary files "))
		p.inHunks = bytes.HasPrefix(piece, []byte("@@ "))
	}
	if !p.inHunks || p.current.cut {
		return
	}
	if p.hunks.Len()+len(piece) > maxFileDiff || p.kept+p.hunks.Len()+len(piece) > p.max {
		p.current.cut = true
		return
	}
	p.hunks.Write(piece)
}

// begin starts the section of the file that a head names. A change of kind has two of one file.
func (p *patch) begin(names string) {
	p.current, p.inHunks = nil, false
	_, name, ok := strings.Cut(names, " "+p.to)
	if !ok {
		if _, name, ok = strings.Cut(names, ` "`+p.to); ok {
			name, ok = unquoted(name)
		}
	}
	if !ok {
		return
	}
	if p.files[name] == nil {
		p.files[name] = &section{}
	}
	p.current = p.files[name]
	p.hunks.Reset()
	p.hunks.WriteString(p.current.hunks)
	p.kept -= len(p.current.hunks)
}

func (p *patch) finish() {
	if p.current == nil {
		return
	}
	p.current.hunks = p.hunks.String()
	if i := strings.LastIndexByte(p.current.hunks, '\n'); p.current.cut && i+1 < len(p.current.hunks) {
		p.current.hunks = p.current.hunks[:i+1]
	}
	p.kept += len(p.current.hunks)
	p.current = nil
	p.hunks.Reset()
}

// unquoted reads a name as git writes one with special characters, up to its closing quote.
func unquoted(s string) (string, bool) {
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return string(out), i == len(s)-1
		case s[i] != '\\':
			out = append(out, s[i])
			continue
		}
		i++
		if i >= len(s) {
			return "", false
		}
		if at := strings.IndexByte(`abtnvfr"\`, s[i]); at >= 0 {
			out = append(out, "\a\b\t\n\v\f\r\"\\"[at])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i:i+3], 8, 8)
		if err != nil {
			return "", false
		}
		out = append(out, byte(n))
		i += 2
	}
	return "", false
}
