package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const matchBytes = 512

// grep is a content search's expression; literal is what every match begins with, to pass over most files quickly.
type grep struct {
	re      *regexp.Regexp
	literal []byte
	around  int
}

func newGrep(q chat.FindQuery) (*grep, error) {
	if q.Pattern == "" {
		return nil, errors.New("it is empty")
	}
	if len(q.Pattern) > maxPattern {
		return nil, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	pattern := q.Pattern
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	literal, _ := re.LiteralPrefix()
	return &grep{re: re, literal: []byte(literal), around: max(0, min(q.Context, 5))}, nil
}

// search adds the matching lines of a file.
func (w *walk) search(ctx context.Context, name string) error {
	info, err := w.place.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.left.unreadable++
		return nil
	}
	if info.Size() > maxFileGrep {
		w.left.large++
		return nil
	}
	p := &place{root: w.place.root, dir: w.place.dir, rel: filepath.FromSlash(name), shown: name, info: info, temp: w.place.temp,
		refused: w.place.refused}
	data, err := p.read(ctx, maxFileGrep)
	if err != nil {
		w.left.unreadable++
		return ctx.Err()
	}
	if !isText(data) {
		w.left.binary++
		return nil
	}
	if !bytes.Contains(data, w.grep.literal) {
		return nil
	}
	return w.matches(ctx, p.name(), data)
}

func (w *walk) matches(ctx context.Context, name string, data []byte) error {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	shown, inFile := 0, 0
	for i, l := range lines {
		if i%4096 == 4095 {
			if err := w.stop(ctx); err != nil {
				return err
			}
		}
		if len(data) == 0 {
			return nil
		}
		l = bytes.TrimSuffix(l, []byte("\r"))
		at := w.grep.re.FindIndex(l)
		if at == nil {
			continue
		}
		if w.limit == 0 {
			w.left.full = fmt.Sprintf("stopped after %d matches", w.total())
			return errStopped
		}
		if inFile == maxPerFile {
			w.left.many++
			return nil
		}
		inFile++
		w.limit--
		for j := max(shown, i-w.grep.around); j < i; j++ {
			w.add(name, j, lines[j], true, 0)
		}
		w.add(name, i, l, false, at[0])
		shown = i + 1
		// Lines after a match belong to it up to the next match, which then shows itself.
		for j := i + 1; j < len(lines) && j <= i+w.grep.around && !w.grep.re.Match(bytes.TrimSuffix(lines[j], []byte("\r"))); j++ {
			w.add(name, j, lines[j], true, 0)
			shown = j + 1
		}
	}
	return nil
}

func (w *walk) total() int {
	n := 0
	for _, m := range w.found.Matches {
		if !m.Context {
			n++
		}
	}
	return n
}

func (w *walk) add(name string, index int, l []byte, context bool, at int) {
	l = bytes.TrimSuffix(l, []byte("\r"))
	w.found.Matches = append(w.found.Matches,
		chat.LineMatch{Path: name, Line: index + 1, Text: window(l, at), Context: context})
}

// window cuts a long line so that the match, which begins at byte at, is seen.
func window(l []byte, at int) string {
	const before = 80
	if len(l) <= matchBytes || at+before < matchBytes {
		return cutLine(clean(l), matchBytes)
	}
	from := at - before
	for from < len(l) && !utf8.RuneStart(l[from]) {
		from++
	}
	return cutLine("[...] "+clean(l[from:]), matchBytes)
}
