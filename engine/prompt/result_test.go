package prompt

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

func TestResultCap(t *testing.T) {
	for _, c := range []struct{ window, results, want int }{
		{2048, 1, 4096}, {4096, 1, 4096}, {8192, 1, 8192}, {32768, 1, 32768}, {262144, 1, 32768},
		{32768, 0, 32768}, {32768, 2, 32768}, {32768, 3, 21845}, {32768, 8, 8192}, {8192, 4, 4096},
	} {
		if got := ResultCap(c.window, c.results); got != c.want {
			t.Errorf("ResultCap(%d, %d) = %d, want %d", c.window, c.results, got, c.want)
		}
	}
}

func TestCutResult(t *testing.T) {
	if cut, was, full := CutResult("short", 5, "p"); cut != "short" || was || full != 5 {
		t.Errorf("%q %v %d", cut, was, full)
	}
	cut, was, full := CutResult(strings.Repeat("h", 700)+strings.Repeat("t", 300), 302, "log.txt")
	want := strings.Repeat("h", 200) + "\n[... 700 bytes left out; the whole is in log.txt ...]\n" + strings.Repeat("t", 100)
	if cut != want || !was || full != 1000 {
		t.Errorf("%q %v %d", cut, was, full)
	}
	cut, _, _ = CutResult(strings.Repeat("€", 100), 100, "")
	if !utf8.ValidString(cut) || !strings.Contains(cut, "bytes left out ...]") {
		t.Errorf("%q", cut)
	}
}

func TestEncodeResult(t *testing.T) {
	for _, c := range []struct {
		name      string
		in        chat.Result
		want      string
		truncated bool
		full      int64
	}{
		{"text", chat.Result{Content: "a <b>\n\"c\""}, `{"output": "a <b>\n\"c\""}`, false, 0},
		{"empty", chat.Result{}, `{"output": ""}`, false, 0},
		{"JSON as it is", chat.Result{Content: ` {"a": [1,2] } ` + "\n"}, `{"a": [1,2] }`, false, 0},
		{"almost JSON", chat.Result{Content: `{"a":1} {`}, `{"output": "{\"a\":1} {"}`, false, 0},
		{"failure", chat.Result{Content: "no such file", IsError: true}, `{"error": "no such file"}`, false, 0},
		{"failure that is JSON without an error", chat.Result{Content: `{"a":1}`, IsError: true}, `{"error": "{\"a\":1}"}`, false, 0},
		{"failure with more than a text", chat.Result{Content: `{"error":"x","code":1}`, IsError: true}, `{"error":"x","code":1}`, false, 0},
		{"bad bytes", chat.Result{Content: "a\xffb"}, "{\"output\": \"a\ufffdb\"}", false, 0},
		{"cut by the Tool", chat.Result{Content: "x", FullBytes: 99}, `{"output": "x"}`, true, 99},
	} {
		p := EncodeResult(c.in, 4096)
		if string(p.Result) != c.want || p.Truncated != c.truncated || p.FullBytes != c.full || p.IsError != c.in.IsError ||
			p.Type != chat.PartToolResult {
			t.Errorf("%s: %s %+v", c.name, p.Result, p)
		}
	}
}

// case 29: a Result of a megabyte.
func TestMegabyteResult(t *testing.T) {
	for _, content := range []string{strings.Repeat("x", 1_000_000), strings.Repeat("\n", 1_000_000), strings.Repeat("é\"", 333_333) + "x",
		`{"output":"` + strings.Repeat("y", 999_987) + `"}`} {
		limit := ResultCap(32768, 1)
		p := EncodeResult(chat.Result{Content: content}, limit)
		var got struct{ Output string }
		if err := json.Unmarshal(p.Result, &got); err != nil {
			t.Fatal(err)
		}
		gapAt := strings.Index(got.Output, "\n[... ")
		tailAt := strings.LastIndex(got.Output, " ...]\n")
		if gapAt < 0 || tailAt < 0 || !p.Truncated || p.FullBytes != int64(len(content)) {
			t.Fatalf("gap %d %d truncated %v full %d", gapAt, tailAt, p.Truncated, p.FullBytes)
		}
		gap := len(got.Output[gapAt+1 : tailAt+5])
		if len(p.Result) > limit+gap || len(p.Result) < limit*9/10 {
			t.Errorf("%q...: %d bytes of %d plus gap %d", content[:10], len(p.Result), limit, gap)
		}
		head, tail := gapAt, len(got.Output)-tailAt-6
		if head < tail*2-4 || head > tail*2+4 {
			t.Errorf("head %d tail %d", head, tail)
		}
	}
}

func FuzzEncodeResult(f *testing.F) {
	f.Add("plain", 100, false)
	f.Add(strings.Repeat("\x00\xff€", 50), 64, true)
	f.Add(`{"error":"`+strings.Repeat("x", 90)+`"}`, 40, true)
	f.Fuzz(func(t *testing.T, content string, limit int, isError bool) {
		limit = 64 + abs(limit)%8192
		p := EncodeResult(chat.Result{Content: content, IsError: isError}, limit)
		if !json.Valid(p.Result) || !utf8.Valid(p.Result) {
			t.Fatalf("not JSON: %q", p.Result)
		}
		// Each bad byte becomes three.
		if len(p.Result) > limit+len(chat.TextGap(int64(3*len(content)), "")) {
			t.Fatalf("%d bytes with a limit of %d", len(p.Result), limit)
		}
		if again := EncodeResult(chat.Result{Content: content, IsError: isError}, limit); string(again.Result) != string(p.Result) {
			t.Fatal("not the same twice")
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
