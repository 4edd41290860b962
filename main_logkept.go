package main

import (
	"bytes"
	"sync"
)

const (
	// keepLines is how many lines of the log a support bundle has, keepLog how many bytes of them.
	keepLines = 1000
	keepLog   = 1 << 20
)

// logTail keeps the newest lines of a log. The zero value keeps none yet; it is safe for concurrent use.
type logTail struct {
	mu sync.Mutex // guards the rest
	// lines are at most keepLines and size bytes together, the oldest first.
	lines [][]byte
	size  int
}

// Write keeps a line; handlers write each in one call.
func (t *logTail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, bytes.Clone(line))
	t.size += len(line)
	gone := 0
	for gone < len(t.lines)-1 && (len(t.lines)-gone > keepLines || t.size > keepLog) {
		t.size -= len(t.lines[gone])
		t.lines[gone] = nil
		gone++
	}
	t.lines = t.lines[gone:]
	return len(line), nil
}

// text gives the lines.
func (t *logTail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Join(t.lines, nil)
}
