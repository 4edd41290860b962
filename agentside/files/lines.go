package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

const (
	maxLines     = 2000
	maxLinesText = 32 << 10
)

// Lines gives numbered lines: number, TAB, text, joined by newlines. A Limit out of 1..2000 is 2000, MaxBytes out of
// 1..32768 is 32768, an Offset below 1 is 1. What fits is given with NextOffset; the first line is always given, cut if it must.
func (f *Files) Lines(ctx context.Context, q chat.LinesQuery) (chat.Lines, error) {
	p, err := f.locate(q.Path)
	if err != nil {
		return chat.Lines{}, err
	}
	defer p.close()
	file, info, err := p.open()
	if err != nil {
		return chat.Lines{}, err
	}
	defer file.Close()
	if info.Size() > maxRaw {
		return chat.Lines{}, tooLarge(p.shown, info.Size(), maxRaw)
	}
	hash := sha256.New()
	// One byte more than allowed, so that a file that grows while it is read is found.
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(file, maxRaw+1), hash), 64<<10)
	head, err := in.Peek(sniffed + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return chat.Lines{}, osRefusal(p.shown, "read", err)
	}
	if !isText(head) {
		return chat.Lines{}, binary(p.shown, head, info.Size())
	}
	page := newPage(q)
	if err := page.fill(ctx, p.shown, in); err != nil {
		return chat.Lines{}, err
	}
	if page.size > maxRaw {
		return chat.Lines{}, tooLarge(p.shown, page.size, maxRaw)
	}
	if page.offset > max(page.total, 1) {
		return chat.Lines{}, refuse("invalid", p.shown, "Line %d is past the end: %s has %s.",
			page.offset, p.shown, count(page.total, "line", "lines"))
	}
	answer := chat.Lines{Path: p.name(), Content: page.text.String(), FileSize: page.size, TotalLines: page.total,
		LinesRead: page.taken, Hash: hex.EncodeToString(hash.Sum(nil))}
	if next := page.offset + page.taken; next <= page.total {
		answer.NextOffset = next
	}
	return answer, nil
}

// page collects the lines asked for while the whole file streams by to be counted and hashed.
type page struct {
	offset, limit, bytes int

	text  strings.Builder
	size  int64
	total int
	taken int
	full  bool
}

func newPage(q chat.LinesQuery) *page {
	p := &page{offset: max(q.Offset, 1), limit: q.Limit, bytes: q.MaxBytes}
	if p.limit < 1 || p.limit > maxLines {
		p.limit = maxLines
	}
	if p.bytes < 1 || p.bytes > maxLinesText {
		p.bytes = maxLinesText
	}
	return p
}

func (p *page) fill(ctx context.Context, path string, in *bufio.Reader) error {
	for {
		if p.total%1024 == 0 && ctx.Err() != nil {
			return interrupted(path)
		}
		line, length, err := readLine(in)
		p.size += int64(length)
		if length > 0 {
			p.total++
			p.add(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return osRefusal(path, "read", err)
		}
	}
}

// readLine gives the first bytes of the next line without its ending, and how long it is with it.
func readLine(in *bufio.Reader) (line []byte, length int, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		length += len(piece)
		// Enough of a long line to know that it must be cut, and to cut it.
		if room := lineBytes + 8 - len(line); room > 0 {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if length == len(line) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		return line, length, err
	}
}

func (p *page) add(line []byte) {
	if p.full || p.total < p.offset {
		return
	}
	if p.taken == p.limit {
		p.full = true
		return
	}
	start := strconv.Itoa(p.total) + "\t"
	if p.taken > 0 {
		start = "\n" + start
	}
	text := cutLine(clean(line), lineBytes)
	if p.text.Len()+len(start)+len(text) > p.bytes {
		p.full = true
		if p.taken > 0 {
			return
		}
		text = cutLine(text, max(p.bytes-len(start), len(lineCut)))
	}
	fmt.Fprint(&p.text, start, text)
	p.taken++
}
