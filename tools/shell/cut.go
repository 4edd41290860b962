package shell

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// printed is the plain output of a process: the whole in head, or head and tail around what the Workspace did not keep.
type printed struct {
	head, tail string
	// omitted bytes lie between head and tail; total is all that the process printed.
	omitted, total int64
	log            string
}

// truncated says how much of an output a Result holds.
type truncated struct {
	OriginalBytes int64  `json:"original_bytes"`
	RetainedBytes int64  `json:"retained_bytes"`
	OmittedBytes  int64  `json:"omitted_bytes"`
	Strategy      string `json:"strategy"`
}

// gapLine is what the Workspace writes in place of what it did not keep.
var gapLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\[\.\.\. ([0-9]+) bytes omitted \.\.\.\]\n`) })

// newPrinted takes what the Workspace kept; since is where that begins. Bytes that are missing without a gap are ends of long
// lines, which the text shows itself.
func newPrinted(out chat.ProcessOutput, since int64) printed {
	p := printed{head: out.Output, total: max(out.NextOffset-since, 0), log: out.Log}
	if out.OmittedBytes > 0 {
		if at := gapLine().FindStringSubmatchIndex(out.Output); at != nil {
			n, err := strconv.ParseInt(out.Output[at[2]:at[3]], 10, 64)
			if err == nil && n <= out.OmittedBytes {
				p.omitted, p.head, p.tail = n, out.Output[:at[0]], out.Output[at[1]:]
			}
		}
	}
	// Apart, so that a sequence which the gap cut in two takes nothing of the other side with it.
	p.head, p.tail = plain(p.head), plain(p.tail)
	return p
}

// printed gives the output to show. Where the Workspace left something out it is read back from its file when it is not too long:
// what is progress bars and colours for the most part may then fit whole.
func (w watched) printed(ctx context.Context, out chat.ProcessOutput) printed {
	kept := newPrinted(out, w.since)
	if out.OmittedBytes == 0 || out.Log == "" || out.NextOffset > wholeBytes {
		return kept
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Snapshot)
	defer cancel()
	// The process may have printed on since; four times as much is too long all the same.
	raw, err := w.env.Workspace.Files().Raw(ctx, out.Log, 4*wholeBytes)
	if err != nil || int64(len(raw.Bytes)) < out.NextOffset || out.NextOffset < w.since {
		return kept
	}
	text := strings.ToValidUTF8(string(raw.Bytes[w.since:out.NextOffset]), "\uFFFD")
	return printed{head: plain(text), total: kept.total, log: kept.log}
}

// pageBytes bounds the output that is kept for the page beside a Result that had to be cut.
const pageBytes = 32 << 10

// page gives the output for the page.
func (p printed) page() string {
	if whole := p.text(); answer.Len(whole) <= pageBytes {
		return whole
	}
	text, _ := p.cut(pageBytes)
	return text
}

// text gives all of it, with a line that says what is missing.
func (p printed) text() string {
	if p.omitted == 0 {
		return p.head
	}
	return joinGap(p.head, p.tail, chat.TextGap(p.omitted, p.log))
}

func joinGap(head, tail, gap string) string {
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + gap + "\n" + tail
}

// into puts the output into a Result so that its JSON has at most maxText bytes: whole when it fits, else two thirds from the
// beginning and one third from the end. frame is the Result, output and cut are its fields. It says whether something is left out.
func (p printed) into(maxText int, frame any, output *string, cut **truncated) (content []byte, short bool, err error) {
	if p.omitted == 0 {
		*output = p.head
		content, err = answer.Encode(frame)
		if err != nil || len(content) <= maxText {
			return content, false, err
		}
	}
	*cut = &truncated{OriginalBytes: p.total, RetainedBytes: p.total, OmittedBytes: p.total, Strategy: "head_tail"}
	*output = ""
	empty, err := answer.Encode(frame)
	if err != nil {
		return nil, false, err
	}
	var left int64
	*output, left = p.cut(maxText - len(empty))
	(*cut).OmittedBytes, (*cut).RetainedBytes = left, p.total-left
	content, err = answer.Encode(frame)
	return content, true, err
}

// cut gives head and tail that take at most room bytes inside a JSON string, and how many bytes they leave out.
func (p printed) cut(room int) (text string, left int64) {
	head, tail := p.head, p.tail
	if p.omitted == 0 {
		tail = p.head
	}
	// The longest marker that can come out, and a newline on both sides of it.
	room -= answer.Len(joinGap("x", "", chat.TextGap(p.total+int64(len(head)), p.log)))
	if room <= 0 {
		return "", p.total
	}
	headRoom := room - min(room/3, answer.Len(tail))
	first := answer.Prefix(head, headRoom)
	if p.omitted == 0 {
		tail = head[len(first):]
	}
	last := answer.Suffix(tail, room-answer.Len(first))
	kept := int64(len(first) + len(last))
	left = p.omitted + int64(len(head)+len(tail)) - kept
	if p.omitted == 0 {
		left = int64(len(head)) - kept
	}
	return joinGap(first, last, chat.TextGap(left, p.log)), min(left, p.total)
}
