package runlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// A line is the Run as JSON, a tab, and the Texts as JSON, compressed, in base64. It is written behind an empty line, so that one which a
// kill has cut spoils no other.

// packer makes lines. Its compressor, which is costly to make and takes more than a megabyte, and its buffer serve all that come in a row.
type packer struct {
	line bytes.Buffer
	gzip *gzip.Writer
}

// append writes an entry to the file of its day and says how many bytes that took.
func (l *Log) append(e *entry, p *packer) (int64, error) {
	run, texts := e.run, e.texts
	run.RequestBytes, run.AnswerBytes = len(e.body), len(texts.Text)+len(texts.Reasoning)
	texts.Request = l.o.Clean(string(e.body))
	texts.Text, texts.Reasoning = l.o.Clean(firstBytes(texts.Text, maxText)), l.o.Clean(firstBytes(texts.Reasoning, maxText))
	calls := make([]chat.Call, len(texts.Calls))
	for i, c := range texts.Calls {
		run.AnswerBytes += len(c.Args)
		// A secret in arguments stands in their JSON as in any text; without it they are JSON still.
		if clean := l.o.Clean(string(c.Args)); json.Valid([]byte(clean)) {
			c.Args = json.RawMessage(clean)
		} else {
			c.Args = nil
		}
		calls[i] = c
	}
	texts.Calls = calls
	if run.Error != nil {
		shown := *run.Error
		shown.Detail = l.o.Clean(shown.Detail)
		run.Error = &shown
	}
	line, err := p.encode(run, texts)
	if err != nil {
		return 0, err
	}
	path := l.file(run.StartedAt.Format(time.DateOnly), run.ChatID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(line)
	return int64(n), errors.Join(err, f.Close())
}

func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// encode gives a line, which is good until the next one.
func (p *packer) encode(run Run, texts Texts) ([]byte, error) {
	head, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	p.line.Reset()
	p.line.WriteByte('\n')
	p.line.Write(head)
	p.line.WriteByte('\t')
	coded := base64.NewEncoder(base64.StdEncoding, &p.line)
	if p.gzip == nil {
		if p.gzip, err = gzip.NewWriterLevel(coded, gzip.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		p.gzip.Reset(coded)
	}
	_, err = p.gzip.Write(body)
	if err = errors.Join(err, p.gzip.Close(), coded.Close()); err != nil {
		return nil, err
	}
	p.line.WriteByte('\n')
	return p.line.Bytes(), nil
}

func decodeTexts(packed []byte) (Texts, error) {
	var t Texts
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return t, fmt.Errorf("the texts of the call are damaged: %w", err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return t, fmt.Errorf("the texts of the call are damaged: %w", err)
	}
	return t, json.Unmarshal(body, &t)
}

// each calls fn for each entry of a Chat on a day, oldest first, until it says stop. Lines that cannot be read are counted.
func (l *Log) each(day string, id chat.ID, fn func(Run, []byte) (more bool)) (unreadable int, err error) {
	f, err := os.Open(l.file(day, id))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		whole := err == nil
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			head, packed, _ := bytes.Cut(line, []byte("\t"))
			var run Run
			if !whole || json.Unmarshal(head, &run) != nil || run.ChatID != id {
				unreadable++
			} else if !fn(run, packed) {
				return unreadable, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return unreadable, nil
		}
		if err != nil {
			return unreadable, err
		}
	}
}

// plainID keeps an id from being a path.
func plainID(id chat.ID) bool { return id != "" && !strings.ContainsAny(string(id), `/\.`) }
