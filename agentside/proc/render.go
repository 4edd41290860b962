package proc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const lineCut = " [line cut]"

// rendered is a view as text from an offset on. Bytes of text (without marker and cut suffixes) plus gap is next minus since.
type rendered struct {
	text string
	next int64
	gap  int64
}

// render gives what was written after since. An unfinished rune at the end of a process that runs is left for the next call.
func (v view) render(since int64) rendered {
	since = min(since, v.total)
	next := v.total
	if !v.ended {
		next -= int64(unfinished(v.last()))
		since = min(since, next)
	}
	tailAt := v.total - int64(len(v.tail))
	if tailAt <= int64(len(v.head)) {
		whole := append(v.head, v.tail...)[since:next]
		text, cut := cutLines(skipPartial(whole, since > 0))
		return rendered{text: text, next: next, gap: cut + int64(len(whole)-len(skipPartial(whole, since > 0)))}
	}
	var head []byte
	if since < int64(len(v.head)) {
		end := int64(len(v.head) - unfinished(v.head))
		head = skipPartial(v.head[min(since, end):end], since > 0)
	}
	from := max(since, tailAt)
	tail := skipPartial(v.tail[from-tailAt:next-tailAt], from > 0)
	lost := next - since - int64(len(head)) - int64(len(tail))
	headText, headCut := cutLines(head)
	tailText, tailCut := cutLines(tail)
	out := rendered{next: next, gap: lost + headCut + tailCut}
	if since >= tailAt {
		out.text = tailText
		return out
	}
	if headText != "" && !strings.HasSuffix(headText, "\n") {
		headText += "\n"
	}
	out.text = fmt.Sprintf("%s[... %d bytes omitted ...]\n%s", headText, lost, tailText)
	return out
}

// last gives the end of what was written.
func (v view) last() []byte {
	if len(v.tail) >= utf8.UTFMax {
		return v.tail
	}
	return append(v.head[:len(v.head):len(v.head)], v.tail...)
}

// unfinished is how many bytes at the end of b begin a rune that is not complete.
func unfinished(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}

// skipPartial drops the end of a rune whose beginning was cut away.
func skipPartial(b []byte, cut bool) []byte {
	if !cut {
		return b
	}
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return b[n:]
}

// cutLines shortens long lines and makes the text valid UTF-8; cut is how many bytes went.
func cutLines(b []byte) (text string, cut int64) {
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		l, rest, ended := bytes.Cut(b, []byte("\n"))
		b = rest
		kept := writeLine(&out, l)
		cut += int64(len(l) - kept)
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.String(), cut
}

// writeLine writes a line of at most maxLine bytes and gives how many bytes of l are in it.
func writeLine(out *strings.Builder, l []byte) int {
	if len(l) <= maxLine && utf8.Valid(l) {
		out.Write(l)
		return len(l)
	}
	// What is written may be longer than l: an invalid byte becomes three.
	text, fits, kept := make([]byte, 0, maxLine+utf8.UTFMax), 0, 0
	for i := 0; i < len(l); {
		r, n := utf8.DecodeRune(l[i:])
		text = utf8.AppendRune(text, r)
		i += n
		if len(text) > maxLine {
			out.Write(text[:fits])
			out.WriteString(lineCut)
			return kept
		}
		if len(text) <= maxLine-len(lineCut) {
			fits, kept = len(text), i
		}
	}
	out.Write(text)
	return len(l)
}
