package ollama

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read; a call with large arguments comes in one line.
const maxLine = 8 << 20

var errLongLine = fmt.Errorf("a line of more than %d MiB", maxLine>>20)

// lineReader splits a stream into lines.
type lineReader struct {
	r    *bufio.Reader
	long []byte
}

// next gives the next line without its end, valid until the following call. The last line may lack its newline. The error
// is io.EOF after the last line, errLongLine, or the stream's own.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err == nil {
		return trimEnd(line), nil
	}
	l.long = l.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long)+len(line) > maxLine {
			return nil, errLongLine
		}
		l.long = append(l.long, line...)
		line, err = l.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(l.long)+len(line) > maxLine {
		return nil, errLongLine
	}
	l.long = append(l.long, line...)
	if err != nil && len(l.long) == 0 {
		return nil, io.EOF
	}
	return trimEnd(l.long), nil
}

func trimEnd(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }
