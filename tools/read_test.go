package tools_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/tools/shell"
)

type readAnswer struct {
	Content    string
	FileSize   int64 `json:"file_size"`
	TotalLines int   `json:"total_lines"`
	LinesRead  int   `json:"lines_read"`
	NextOffset int   `json:"next_offset"`
}

func TestReadFile(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a.txt", "one\ntwo\nthree\n")
	var got readAnswer
	r := f.do("read_file", `{"path":"a.txt"}`, &got)
	if want := (readAnswer{"1\tone\n2\ttwo\n3\tthree", 14, 3, 3, 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var d chat.ReadDetail
	decode(t, string(r.Detail), &d)
	if d != (chat.ReadDetail{Path: "a.txt", From: 1, To: 3, Total: 3}) {
		t.Errorf("detail %+v", d)
	}
	f.do("read_file", `{"path":"a.txt","offset":"2","limit":1}`, &got)
	if want := (readAnswer{"2\ttwo", 14, 3, 1, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = readAnswer{}
	f.do("read_file", `{"path":"a.txt","offset":-4,"limit":2}`, &got)
	if got.Content != "1\tone\n2\ttwo" || got.NextOffset != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestReadFileOfManyLines(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("many", strings.Repeat("ab\n", 5000))
	var got readAnswer
	f.do("read_file", `{"path":"many"}`, &got)
	if got.LinesRead != 2000 || got.NextOffset != 2001 || got.TotalLines != 5000 {
		t.Errorf("got %d lines, next %d of %d", got.LinesRead, got.NextOffset, got.TotalLines)
	}
	f.window = 8192
	f.do("read_file", `{"path":"many"}`, &got)
	if got.LinesRead != 400 || got.NextOffset != 401 {
		t.Errorf("in a small window got %d lines, next %d", got.LinesRead, got.NextOffset)
	}
	f.do("read_file", `{"path":"many","limit":1000}`, &got)
	if got.LinesRead != 1000 {
		t.Errorf("asked for 1000, got %d lines", got.LinesRead)
	}
	f.do("read_file", `{"path":"many","limit":100000}`, &got)
	if got.LinesRead != 2000 {
		t.Errorf("asked for too many, got %d lines", got.LinesRead)
	}
}

func TestReadFileOfAnEmptyFile(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("empty", "")
	var got readAnswer
	r := f.do("read_file", `{"path":"empty"}`, &got)
	if got != (readAnswer{}) {
		t.Errorf("got %+v", got)
	}
	var d chat.ReadDetail
	decode(t, string(r.Detail), &d)
	if d != (chat.ReadDetail{Path: "empty"}) {
		t.Errorf("detail %+v", d)
	}
}

func TestReadFileRefuses(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	f.put("short", "x\n")
	f.fails("read_file", `{"path":"a.png"}`, "image/png", "16 bytes", "attach_file")
	f.fails("read_file", `{"path":"none"}`, "none")
	f.fails("read_file", `{"path":"../x"}`, "outside the workspace")
	f.fails("read_file", `{"path":"/etc/passwd"}`, "outside the workspace")
	f.fails("read_file", `{"path":"."}`, "directory")
	f.fails("read_file", `{"path":"short","offset":9}`, "9", "1 line")
	f.fails("read_file", `{"offset":9}`, `invalid arguments for "read_file": "path" is missing. Expected: {"type":"object"`)
	if len(f.reads.seen) != 0 {
		t.Errorf("refused reads were noted: %v", f.reads.seen)
	}
}

// Whatever the window, reading on from next_offset gives the whole file, and no answer is cut by anybody else.
func TestReadFilePagesThroughEverything(t *testing.T) {
	f := open(t, shell.Options{})
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("%d \"quoted\" \\ é漢😀 \x01 %s", i, strings.Repeat("<tab>\t", i%20)))
	}
	f.put("hard", strings.Join(lines, "\n")+"\n")
	for _, most := range []int{512, 1024, 1500, 4096, 8192, 32768} {
		f.maxText = most
		var back []string
		for offset := 1; offset != 0; {
			var got readAnswer
			f.do("read_file", fmt.Sprintf(`{"path":"hard","offset":%d}`, offset), &got)
			page := strings.Split(got.Content, "\n")
			if len(page) != got.LinesRead || got.LinesRead == 0 {
				t.Fatalf("at %d bytes: %d lines are said to be %d", most, len(page), got.LinesRead)
			}
			for i, l := range page {
				number, text, _ := strings.Cut(l, "\t")
				if number != strconv.Itoa(offset+i) {
					t.Fatalf("line %d is numbered %s", offset+i, number)
				}
				back = append(back, text)
			}
			if got.NextOffset != 0 && got.NextOffset != offset+got.LinesRead {
				t.Fatalf("after %d lines from %d comes %d", got.LinesRead, offset, got.NextOffset)
			}
			offset = got.NextOffset
		}
		if len(back) != len(lines) {
			t.Fatalf("at %d bytes: %d lines of %d", most, len(back), len(lines))
		}
		for i := range back {
			if cut, ok := strings.CutSuffix(back[i], " [line cut]"); ok && most < 1024 {
				if !strings.HasPrefix(lines[i], cut) {
					t.Fatalf("at %d bytes line %d is %q", most, i, back[i])
				}
				continue
			}
			if back[i] != lines[i] {
				t.Fatalf("at %d bytes line %d is %q, want %q", most, i, back[i], lines[i])
			}
		}
	}
}

func TestReadFileNotesWhatWasSeen(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a/b.txt", "x\n")
	f.do("read_file", `{"path":"./a/../a/b.txt"}`, nil)
	if etag, ok := f.reads.Seen("a/b.txt"); !ok || len(etag) != 64 {
		t.Errorf("noted %v", f.reads.seen)
	}
}
