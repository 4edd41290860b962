package ollama

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func readLines(r io.Reader, size int) (lines []string, err error) {
	l := &lineReader{r: bufio.NewReaderSize(r, size)}
	for {
		line, err := l.next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	lines, err := readLines(strings.NewReader("a\r\n\n"+long+"\nlast"), 16)
	if want := []string{"a", "", long, "last"}; !reflect.DeepEqual(lines, want) || err != io.EOF {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	just := strings.Repeat("y", maxLine-1)
	if lines, err := readLines(strings.NewReader(just+"\nz\n"), 4096); len(lines) != 2 || len(lines[0]) != maxLine-1 || err != io.EOF {
		t.Errorf("the longest line: %d lines, %v", len(lines), err)
	}
	if lines, err := readLines(strings.NewReader(just+"yy\nz\n"), 4096); len(lines) != 0 || !errors.Is(err, errLongLine) {
		t.Errorf("a longer one: %d lines, %v", len(lines), err)
	}
	broken := io.MultiReader(strings.NewReader("one\nhal"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if lines, err := readLines(broken, 4096); len(lines) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", lines, err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 3)
	f.Add([]byte("\r\n\n\r"), 1)
	f.Add(bytes.Repeat([]byte("long "), 30), 7)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		var want []string
		for _, l := range strings.Split(string(in), "\n") {
			want = append(want, strings.TrimRight(l, "\r\n"))
		}
		// What stands after the last newline counts only if it is not empty.
		if strings.HasSuffix(string(in), "\n") || len(in) == 0 {
			want = want[:len(want)-1]
		}
		got, err := readLines(&chunked{in, max(1, chunk%64)}, 16)
		if err != io.EOF || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	})
}

// chunked gives at most n bytes at once.
type chunked struct {
	left []byte
	n    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.left[:min(c.n, len(c.left))])
	c.left = c.left[n:]
	return n, nil
}

// FuzzFrame compares the decoder with encoding/json, and checks what a call is made of.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"message":{"role":"assistant","content":"hi","thinking":"hm"},"done":false}`,
		`{"message":{"tool_calls":[{"id":"c","function":{"index":0,"name":"x","arguments":{"a":[1,2]}}}]}}`,
		`{"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4,"total_duration":5}`,
		`{"error":"boom"}`, `{"error":{"message":"boom"}}`, `null`, `[]`, `{"message":null}`, "{\"message\":{\"content\":\"\xf0\x9f\"}}",
		"{\"message\":{\"content\":\"\\ud83d\\udc4d \\ud83d \\\"\\\\ \xff\"}}", `{"message":{"tool_calls":[{"function":{"arguments":"{}"}}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := decodeFrame(line)
		var want frame
		if wantErr := json.Unmarshal(line, &want); (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", line, err, wantErr)
		}
		if err != nil {
			return
		}
		// Bytes that are no runes are kept for the next frame; apart from that the two agree.
		if clean(got.Message.Content) != clean(want.Message.Content) || clean(got.Message.Thinking) != clean(want.Message.Thinking) {
			t.Errorf("%q: %q, want %q", line, got.Message, want.Message)
		}
		_ = errorText(got.Error)
		for _, c := range got.Message.ToolCalls {
			args := callArgs(c.Function.Arguments)
			if args != nil && (!json.Valid(args) || args[0] != '{' || !utf8.Valid(args)) {
				t.Errorf("%q: arguments %q", line, args)
			}
		}
	})
}

// clean drops what stands for broken bytes: the two decoders differ in how many marks they set.
func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), replacement, "") }

// FuzzJoiner cuts a text anywhere: the pieces give the same as the whole.
func FuzzJoiner(f *testing.F) {
	f.Add("ok 👍 ä\xff\xf0\x9f!", uint16(5), uint16(9))
	f.Add("\xf0\x9f\x91", uint16(1), uint16(2))
	f.Fuzz(func(t *testing.T, s string, a, b uint16) {
		i := int(a) % (len(s) + 1)
		k := i + int(b)%(len(s)-i+1)
		var j joiner
		got := j.add(s[:i]) + j.add(s[i:k]) + j.add(s[k:]) + j.flush()
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if clean(got) != clean(s) || utf8.ValidString(s) && got != s {
			t.Errorf("%q cut at %d and %d gives %q", s, i, k, got)
		}
	})
}
